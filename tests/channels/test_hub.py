import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from bot.errors import StoreError
from bot.messages import (
    Address,
    AgentEnd,
    AgentStart,
    Button,
    Chunk,
    End,
    InboundMessage,
    RunId,
    SessionKey,
    SessionSwitched,
    StoredMessage,
    Trigger,
)
from channels.frames import (
    MAX_TEXT,
    PAGE,
    Accepted,
    Draft,
    Fault,
    Grow,
    Happened,
    Hello,
    History,
    Older,
    Over,
    Refused,
    Said,
    Send,
    Welcome,
)
from tests.channels.conftest import Parts, Reader
from tests.channels.echo import MemoryStore

ADDRESS = Address(channel="web", chat="main")
SESSION = ADDRESS.session()
RUN = RunId("0199-run")


def chunk(text: str, *, attempt: int = 1, seq: int = 1, replaces: bool = False) -> Chunk:
    return Chunk(
        run=RUN,
        session=SESSION,
        address=ADDRESS,
        attempt=attempt,
        seq=seq,
        text=text,
        replaces=replaces,
    )


def end(text: str) -> End:
    return End(run=RUN, session=SESSION, address=ADDRESS, attempt=1, seq=99, reason="done", text=text)


async def test_a_message_is_accepted_shown_and_answered(parts: Parts) -> None:
    window = await parts.open()

    await window.link.receive(Send(id="m1", text="good day"))
    over = await window.until(Over)

    accepted = window.of(Accepted)[0]
    assert accepted.id == "m1"
    assert window.of(Said)[0].message.platform_id == "m1"
    assert over == Over(run=RunId(accepted.run or ""), reason="done", text="good day ")


async def test_every_window_of_a_chat_is_in_step_and_no_other_sees_a_thing(parts: Parts) -> None:
    first, second, stranger = await parts.open(), await parts.open(), await parts.open("elsewhere")

    await first.link.receive(Send(id="m1", text="one two"))
    overs = [await first.until(Over), await second.until(Over)]
    await stranger.link.receive(Older(before=1))
    await stranger.until(History)

    assert overs[0] == overs[1]
    assert first.of(Said) == second.of(Said)
    assert [type(frame) for frame in stranger.seen] == [Welcome, History]


async def test_a_message_sent_twice_is_accepted_twice_under_one_run_and_answered_once(parts: Parts) -> None:
    window = await parts.open()
    await window.link.receive(Send(id="m1", text="hi"))
    await window.until(Over)

    await window.link.receive(Send(id="m1", text="hi"))
    again = await window.until(Accepted)

    assert window.of(Accepted)[0] == again
    assert len(window.of(Over)) == 1


async def test_a_duplicate_that_waits_gets_its_run_and_an_old_one_none(parts: Parts) -> None:
    async def never(text: str) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield text

    parts.bot.reply = never
    window = await parts.open()
    await window.link.receive(Send(id="m1", text="first"))
    await window.link.receive(Send(id="m2", text="waits"))
    await window.until(Accepted, lambda frame: frame.id == "m2")

    await window.link.receive(Send(id="m2", text="waits"))
    again = await window.until(Accepted)
    parts.store.seen.add("web\x1fdefault\x1fm0")
    await window.link.receive(Send(id="m0", text="long ago"))
    old = await window.until(Accepted, lambda frame: frame.id == "m0")

    assert again == next(frame for frame in window.of(Accepted) if frame.id == "m2")
    assert old.run is None


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "empty"), (" \n ", "empty"), ("x" * (MAX_TEXT + 1), "100,000")],
    ids=["nothing", "blank", "too long"],
)
async def test_what_is_no_message_is_refused_with_a_reason(parts: Parts, text: str, why: str) -> None:
    window = await parts.open()

    await window.link.receive(Send(id="m1", text=text))

    assert why in (await window.until(Refused)).text


async def test_a_full_queue_and_a_broken_store_refuse_and_the_chat_goes_on(parts: Parts) -> None:
    window = await parts.open()
    parts.bot.refuses = True
    await window.link.receive(Send(id="m1", text="hi"))
    full = await window.until(Refused)
    parts.bot.refuses = False
    parts.store.fault = StoreError("the disk is full")
    await window.link.receive(Send(id="m2", text="hi"))
    broken = await window.until(Refused)
    await window.link.receive(Older(before=5))
    fault = await window.until(Fault)
    parts.store.fault = None

    await window.link.receive(Send(id="m2", text="hi"))

    assert "waiting" in full.text
    assert broken.text == fault.text == "the disk is full"
    assert (await window.until(Accepted)).id == "m2"


async def test_a_window_that_cannot_be_filled_is_closed(parts: Parts) -> None:
    parts.store.fault = StoreError("the disk is gone")
    reader = Reader(parts.hub.connect())

    await reader.link.receive(Hello())

    assert [frame async for frame in reader.link] == []
    assert reader.link.is_closed


async def test_text_that_begins_with_a_slash_is_a_command(parts: Parts) -> None:
    taken: list[InboundMessage] = []
    accept = parts.bot.accept

    async def keep(message: InboundMessage) -> object:
        taken.append(message)
        return await accept(message)

    parts.bus.serve(keep)  # type: ignore[arg-type]  # gives on what the bot's handler gives
    window = await parts.open()
    for number, text in enumerate(("/kill", "!kill", "hello")):
        await window.link.receive(Send(id=f"m{number}", text=text))

    assert [one.trigger for one in taken] == [Trigger.COMMAND, Trigger.COMMAND, Trigger.MESSAGE]
    assert {one.session for one in taken} == {SESSION}


async def test_frames_before_hello_and_a_second_hello_are_faults(parts: Parts) -> None:
    with parts.hub.connect() as link:
        await link.receive(Send(id="m1", text="hi"))
        await link.receive(Older(before=3))
        await link.receive(Hello())
        await link.receive(Hello())
        link.close()

        assert [type(frame) async for frame in link] == [Welcome, Fault, Fault, Fault]


async def test_history_comes_in_pages_without_gaps(parts: Parts) -> None:
    for number in range(PAGE + 20):
        parts.store.add(SESSION, RunId(f"run-{number:04}"), f"line {number}")
    window = await parts.open()
    welcome = window.of(Welcome)[0]

    await window.link.receive(Older(before=welcome.messages[0].number))
    page = await window.until(History)

    numbers = [line.number for line in (*page.messages, *welcome.messages)]
    assert (welcome.more, page.more) == (True, False)
    assert numbers == list(range(1, PAGE + 21))


async def test_a_window_opened_in_the_middle_of_an_answer_shows_all_of_it_once(parts: Parts) -> None:
    first = await parts.open()
    parts.bus.emit(AgentStart(session=SESSION, run=RUN, attempt=1))
    parts.bus.send(chunk("Once "))
    await first.until(Grow)

    second = await parts.open()
    parts.bus.send(chunk("upon", seq=2))
    grow = await second.until(Grow)

    assert second.of(Welcome)[0].running == (Draft(run=RUN, text="Once "),)
    assert grow == Grow(run=RUN, text="upon")


async def test_a_turn_that_has_said_nothing_yet_is_running(parts: Parts) -> None:
    first = await parts.open()
    parts.bus.emit(AgentStart(session=SESSION, run=RUN, attempt=1))
    await first.until(Happened)
    running = (await parts.open()).of(Welcome)[0].running

    parts.bus.emit(AgentEnd(session=SESSION, run=RUN, reason="silent", seconds=1))
    await first.until(Happened)

    assert running == (Draft(run=RUN, text=""),)
    assert (await parts.open()).of(Welcome)[0].running == ()


async def test_a_new_attempt_replaces_what_the_last_one_showed(parts: Parts) -> None:
    window = await parts.open()
    parts.bus.send(chunk("first try"))
    await window.until(Grow)

    parts.bus.send(chunk("second", attempt=2))
    grow = await window.until(Grow)
    parts.bus.send(chunk("late", attempt=1))
    parts.bus.send(end("second"))
    await window.until(Over)

    assert grow == Grow(run=RUN, text="second", replaces=True)
    assert len(window.of(Grow)) == 2


class SlowStore(MemoryStore):
    """Waits in `recent` until told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = 50
    ) -> list[StoredMessage]:
        lines = await super().recent(session, before=before, limit=limit)
        self.reached.set()
        await self.go.wait()
        return lines


async def test_what_ends_while_a_window_opens_is_not_lost(parts: Parts) -> None:
    store = SlowStore()
    parts.hub.transcript = store
    other = Reader(parts.hub.connect())
    reader = Reader(parts.hub.connect())
    opening = asyncio.create_task(reader.link.receive(Hello()))
    await store.reached.wait()
    parts.bus.send(chunk("all of "))
    parts.bus.send(end("all of it"))
    parts.hub.transcript = MemoryStore()
    await other.link.receive(Hello())
    await other.until(Welcome)
    store.go.set()
    await opening

    await reader.until(Over)

    assert [type(frame) for frame in reader.seen] == [Welcome, Over]


async def test_a_slow_window_is_cut_off_and_the_others_are_served(parts: Parts) -> None:
    slow, quick = await parts.open(), await parts.open()
    for number in range(1100):
        run = RunId(f"run-{number}")
        parts.bus.send(
            End(run=run, session=SESSION, address=ADDRESS, attempt=1, seq=1, reason="done", text="x")
        )
        await quick.until(Over)

    assert slow.link.is_closed
    assert not quick.link.is_closed
    assert [frame async for frame in slow.link] == []


async def test_windows_are_closed_when_the_hub_itself_misses_messages(parts: Parts) -> None:
    window = await parts.open()
    for number in range(10_001):
        parts.bus.emit(AgentStart(session=SESSION, run=RUN, attempt=number))

    async with asyncio.timeout(5):
        async for _ in window.link:
            continue

    assert window.link.is_closed


async def test_a_closed_window_takes_no_part(parts: Parts) -> None:
    closed, window = await parts.open(), await parts.open()
    closed.link.close()

    parts.bus.send(end("hello"))
    await window.until(Over)

    assert [frame async for frame in closed.link] == []


# --- buttons, and chats that go on in another session


async def test_the_buttons_of_an_answer_come_with_its_end(parts: Parts) -> None:
    window = await parts.open()
    buttons = (Button(label="Yes", value="/yes"), Button(label="Docs", url="https://example.org"))
    parts.bus.send(replace(end("Sure?"), buttons=buttons))
    over = await window.until(Over)

    assert over.buttons == buttons


NEW = SessionKey("web:default:main-2")


def switch(parts: Parts, session: SessionKey = NEW) -> None:
    """Let the chat go on in another session."""
    parts.store.aliases[SESSION] = session
    parts.bus.emit(SessionSwitched(session=session, chat=SESSION))


async def test_every_window_of_a_chat_follows_it_into_another_session(parts: Parts) -> None:
    windows = [await parts.open() for _ in range(2)]
    stranger = await parts.open("other")
    parts.store.add(NEW, RunId("old"), "said there before")
    switch(parts)
    welcomes = [await window.until(Welcome) for window in windows]
    parts.bus.send(replace(end("in the new one"), session=NEW))
    overs = [await window.until(Over) for window in windows]

    for welcome, over in zip(welcomes, overs, strict=True):
        assert (welcome.is_fresh, welcome.session, welcome.chat) == (True, NEW, "main")
        assert [line.text for line in welcome.messages] == ["said there before"]
        assert over.text == "in the new one"
    assert len(stranger.of(Welcome)) == 1


async def test_the_first_welcome_takes_nothing_away(parts: Parts) -> None:
    window = await parts.open()

    assert window.of(Welcome)[0].is_fresh is False


async def test_what_happens_in_the_session_that_was_left_is_shown_no_more(parts: Parts) -> None:
    window = await parts.open()
    switch(parts)
    await window.until(Welcome)
    parts.bus.send(end("too late"))
    parts.bus.send(replace(end("here"), session=NEW, run=RunId("other")))
    over = await window.until(Over)

    assert over.text == "here"


async def test_a_window_that_shows_the_session_already_sees_it_anew(parts: Parts) -> None:
    elsewhere = await parts.open("main-2")
    switch(parts)
    welcome = await elsewhere.until(Welcome)

    assert (welcome.is_fresh, welcome.chat) == (True, "main-2")


async def test_an_answer_that_grows_in_the_other_session_is_shown_from_its_beginning(parts: Parts) -> None:
    window = await parts.open()
    parts.bus.send(replace(chunk("so far"), session=NEW))
    await asyncio.sleep(0)
    switch(parts)
    welcome = await window.until(Welcome)

    assert [draft.text for draft in welcome.running] == ["so far"]


async def test_a_chat_that_comes_back_shows_its_first_session_again(parts: Parts) -> None:
    window = await parts.open()
    switch(parts)
    await window.until(Welcome)
    switch(parts, SESSION)
    welcome = await window.until(Welcome)

    assert (welcome.session, welcome.is_fresh) == (SESSION, True)


async def test_a_switch_that_can_not_be_shown_closes_the_window(parts: Parts) -> None:
    window = await parts.open()
    parts.store.fault = StoreError("the disk is gone")
    switch(parts)
    async with asyncio.timeout(5):
        async for _ in window.link:
            continue

    assert window.link.is_closed


async def test_closed_windows_follow_nothing(parts: Parts) -> None:
    window = await parts.open()
    window.link.close()
    switch(parts)
    await asyncio.sleep(0)

    assert not list(parts.hub.drafts(NEW))
    assert window.of(Welcome)[0].session == SESSION
