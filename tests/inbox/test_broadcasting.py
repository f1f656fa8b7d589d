"""One text for many chats: looked at, sent at a rate, stopped, and cut short by the end of the bot."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.inbox.base import InboxError
from bot.inbox.broadcasting import MAX_GOING, MAX_PREVIEWS, MAX_TEXT, Broadcasts
from bot.messages import Address
from tests.inbox.office import ANN, BOSS, GUEST, Office, office

CHATS = [
    Address(channel=channel, chat=chat) for channel, chat in (("board", "a"), ("board", "b"), ("slate", "c"))
]
TERMINAL = Address(channel="terminal", chat="main")


async def known(bot: Office) -> None:
    """Every chat has written."""
    for address in (*CHATS, TERMINAL):
        await bot.says("hello", address=address)


class Mail:
    """Whoever is written to, and what admins are told; a gate may hold the writing up."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.told: list[str] = []
        self.gate = asyncio.Event()
        self.fault: StoreError | None = None
        self.gate.set()

    async def send(self, text: str, addresses: Sequence[Address]) -> None:
        await self.gate.wait()
        if self.fault is not None and self.sent:
            raise self.fault
        self.sent += [address.chat for address in addresses]

    async def addresses(self) -> Sequence[Address]:
        return CHATS


@asynccontextmanager
async def broadcasts(mail: Mail) -> AsyncIterator[Broadcasts]:
    made = Broadcasts(
        mail,
        mail.send,
        is_open=lambda address: True,
        undelivered=(),
        alarm=mail.told.append,
        end_seconds=0.05,
    )
    yield made
    await made.aclose()


async def settled(made: Broadcasts) -> None:
    """Wait until none goes on."""
    async with asyncio.timeout(5):
        await made.settled()


async def test_a_preview_counts_and_sends_nothing_and_a_broadcast_reaches_all(home: Path) -> None:
    async with office(home) as bot:
        await known(bot)
        preview = await bot.desk.preview("We close at **five**", ANN, per_minute=600)
        posts = [text for board in bot.boards.values() for _, text in board.posts]
        await bot.desk.broadcast(preview.ticket, ANN)
        for channel in ("board", "slate"):
            await bot.posted("close at", channel)
        await bot.until(
            lambda: len([post for post in bot.boards["board"].posts if "close at" in post[1]]) == 2
        )

    assert preview.chats == {"board": 2, "slate": 1}
    assert preview.seconds == pytest.approx(0.2)
    assert not any("close" in text for text in posts)
    assert bot.audited("broadcast") == ["web:ann"]


async def test_only_some_channels_can_be_meant(home: Path) -> None:
    async with office(home) as bot:
        await known(bot)
        preview = await bot.desk.preview("Hello", ANN, channels=("slate",))
        with pytest.raises(InboxError, match="no chat to write to"):
            await bot.desk.preview("Hello", ANN, channels=("nowhere",))

    assert preview.chats == {"slate": 1}


async def test_a_broadcast_that_the_end_of_the_bot_cuts_short_is_told_to_the_admins(home: Path) -> None:
    admin = Address(channel="board", chat="boss")
    async with office(home) as bot:
        await bot.says("hello", BOSS, admin)
        await known(bot)
        preview = await bot.desk.preview("We close at five", ANN, per_minute=1)
        await bot.desk.broadcast(preview.ticket, ANN)
        await bot.until(lambda: any("close at five" in end.text for end in bot.ends))
    async with office(home) as bot:
        await bot.posted("1 of 4 chats got it")

    assert (
        "boss",
        "A broadcast was cut short: 1 of 4 chats got it. I was shut down meanwhile.",
    ) in bot.boards["board"].posts


async def test_a_broadcast_is_stopped() -> None:
    mail = Mail()
    async with broadcasts(mail) as made:
        preview = await made.preview("Hello", channels=(), per_minute=1)
        made.begin(preview.ticket)
        await asyncio.sleep(0)
        is_stopped, again = made.stop(preview.ticket), made.stop(preview.ticket)
        await settled(made)
        (shown,) = made.all()

    assert (is_stopped, again) == (True, False)
    assert (shown.sent, shown.total, shown.is_over, shown.is_stopped) == (1, 3, True, True)
    assert (mail.sent, mail.told) == (["a"], [])


async def test_a_ticket_sends_once() -> None:
    mail = Mail()
    async with broadcasts(mail) as made:
        preview = await made.preview("Hello", channels=(), per_minute=600)
        made.begin(preview.ticket)
        with pytest.raises(InboxError, match="not kept any longer"):
            made.begin(preview.ticket)
        await settled(made)

    assert mail.sent == ["a", "b", "c"]


async def test_a_store_that_fails_ends_it_and_is_told() -> None:
    mail = Mail()
    mail.fault = StoreError("disk full")
    async with broadcasts(mail) as made:
        preview = await made.preview("Hello", channels=(), per_minute=600)
        made.begin(preview.ticket)
        await settled(made)

    assert mail.told == ["A broadcast was cut short: 1 of 3 chats got it. It could not be kept: disk full"]


async def test_the_end_of_the_bot_waits_for_no_message_that_hangs() -> None:
    mail = Mail()
    mail.gate.clear()
    async with broadcasts(mail) as made:
        made.begin((await made.preview("Hello", channels=(), per_minute=600)).ticket)
        await asyncio.sleep(0)

    assert mail.told == ["A broadcast was cut short: 0 of 3 chats got it. I was shut down meanwhile."]


async def test_nothing_grows_without_end() -> None:
    mail = Mail()
    mail.gate.clear()
    async with broadcasts(mail) as made:
        tickets = [
            (await made.preview("Hello", channels=(), per_minute=600)).ticket for _ in range(MAX_PREVIEWS + 1)
        ]
        with pytest.raises(InboxError, match="not kept any longer"):
            made.begin(tickets[0])
        for ticket in tickets[1 : MAX_GOING + 1]:
            made.begin(ticket)
        with pytest.raises(InboxError, match="going out already"):
            made.begin(tickets[-1])
        mail.gate.set()


@pytest.mark.parametrize(
    ("text", "per_minute", "fault"),
    [
        ("", 60, "1 to 4,000 characters"),
        ("x" * (MAX_TEXT + 1), 60, "1 to 4,000 characters"),
        ("hello", 0, "1 to 600 chats a minute"),
        ("hello", 601, "1 to 600 chats a minute"),
    ],
)
async def test_what_can_not_be_sent_is_refused(text: str, per_minute: int, fault: str) -> None:
    async with broadcasts(Mail()) as made:
        with pytest.raises(InboxError, match=fault):
            await made.preview(text, channels=(), per_minute=per_minute)


async def test_who_only_looks_sends_nothing(home: Path) -> None:
    async with office(home) as bot:
        await known(bot)
        with pytest.raises(InboxError, match="Only owners and admins"):
            await bot.desk.preview("Hello", GUEST)
        preview = await bot.desk.preview("Hello", ANN)
        with pytest.raises(InboxError, match="Only owners and admins"):
            await bot.desk.broadcast(preview.ticket, GUEST)
        assert bot.desk.broadcasts() == []


async def test_what_is_stopped_before_it_has_begun_reaches_nobody() -> None:
    mail = Mail()
    async with broadcasts(mail) as made:
        preview = await made.preview("Hello", channels=(), per_minute=600)
        made.begin(preview.ticket)
        is_stopped = made.stop(preview.ticket)
        await settled(made)

    assert is_stopped
    assert (mail.sent, mail.told) == ([], [])
