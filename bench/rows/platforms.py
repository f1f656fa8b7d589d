"""Four platforms at once, with many chats that stream on each: how well the allowed pace is used.

The bot is a process on one core; the simulators, which refuse what goes over a documented rate, and the model
run on the other. Text comes all the time, so that there is always something new to show.
"""

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from bench.launch import started_bot
from bench.machine import pin
from bench.place import Effort, Place
from bench.results import Result, percentile, row
from memory.database import DATABASE
from tests.contract.house import PLATFORMS, new_simulator
from tests.simulators.model import ModelServer, Reply, Request
from tests.simulators.platform import Call, Simulator

CHATS: dict[Effort, int] = {"full": 100, "quick": 20, "tiny": 2}
TOKENS: dict[Effort, int] = {"full": 50, "quick": 30, "tiny": 6}
DELAY = 0.5  # seconds between two tokens
SPREAD: dict[Effort, float] = {"full": 5.0, "quick": 5.0, "tiny": 0.2}  # seconds over which people ask
LAST_WORDS = 150.0  # seconds until the last answer must stand there whole
CONNECT_SECONDS = 15.0
TINY = ("slack",)
UNSHOWN = ("typing", "action", "setstatus", "reaction", "command")  # calls that show no text


@dataclass(frozen=True, slots=True)
class Allowance:
    """The tightest documented rates for showing text, as a pace that can be kept up.

    Attributes:
        chat: Calls in so many seconds in one chat; `account`, in all chats.
        method: What the methods are called that these are about.
    """

    chat: tuple[int, float]
    account: tuple[tuple[int, float], ...]
    method: str = ""

    def calls(self, chats: int, seconds: float) -> float:
        """What is allowed to so many chats that have something to show for so long; not more than is new."""
        a_chat = min(self.chat[0] / self.chat[1], 1 / DELAY)
        in_all = (calls / window for calls, window in self.account)
        return seconds * min(chats * a_chat, *in_all)


ALLOWED = {
    "telegram": Allowance(chat=(1, 1.0), account=((30, 1.0),)),
    "discord": Allowance(chat=(5, 5.0), account=((50, 1.0),)),
    "slack": Allowance(chat=(1, 1.0), account=((50, 60.0),), method="update"),  # outside of threads
    "feishu": Allowance(chat=(5, 1.0), account=((50, 1.0), (1000, 60.0))),
}


@dataclass(slots=True)
class Seen:
    """What one platform saw; times on the clock of `time.monotonic`."""

    simulator: Simulator
    asked: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.simulator.name

    def shown(self, chat: str | None = None) -> list[Call]:
        """The calls that showed text and were obeyed."""
        return [
            call
            for call in self.simulator.calls
            if call.status == 200 and _shows_text(call) and (chat is None or call.chat == chat)
        ]


async def measure(place: Place) -> list[Result]:
    """All platforms at once, in one bot."""
    names = TINY if place.effort == "tiny" else PLATFORMS
    pin("server")
    async with AsyncExitStack() as stack:
        seen = [Seen(await stack.enter_async_context(new_simulator(name))) for name in names]
        model = await stack.enter_async_context(ModelServer(respond=_reply_of(TOKENS[place.effort])))
        home = place.path / "home"
        async with _bot(home, model.url, seen) as process:
            before = process.cpu_times()
            await _talk(seen, CHATS[place.effort], SPREAD[place.effort])
            after = process.cpu_times()
        _read_ends(home, seen)
    turns = len(seen) * CHATS[place.effort]
    spent = (after.user + after.system - before.user - before.system) / turns
    rows = [result for one in seen for result in _rows(one, TOKENS[place.effort] * DELAY)]
    return [*rows, row(f"CPU a turn of {TOKENS[place.effort]} tokens, on platforms", spent * 1000, "ms")]


def _reply_of(tokens: int) -> Callable[[Request], Reply]:
    def respond(request: Request) -> Reply:
        words = tuple(f"{request.last_user_text.strip()}-t{count} " for count in range(tokens))
        return Reply(tokens=words, delay=DELAY)

    return respond


@asynccontextmanager
async def _bot(home: Path, model_url: str, seen: list[Seen]) -> AsyncIterator[psutil.Process]:
    """A bot on all platforms, connected, on a core of its own."""
    channels = {"BOT_MODEL": "paced", "BOT_MAX_CONCURRENT_TURNS": "1000"}
    for one in seen:
        channels |= one.simulator.settings
    started = started_bot(home, model_url, channels)
    bot = await asyncio.to_thread(started.__enter__)
    try:
        process = psutil.Process(bot.pid)
        if len(process.cpu_affinity()) and (psutil.cpu_count() or 1) > 1:
            process.cpu_affinity([0])
        for one in seen:
            await _warm_up(one)
        yield process
    finally:
        await asyncio.to_thread(started.__exit__, None, None, None)


async def _warm_up(one: Seen) -> None:
    """Say something until it is heard: what was said before a bot's first connection is not meant for it."""
    async with asyncio.timeout(CONNECT_SECONDS):
        while True:
            await one.simulator.user_says("warm-up", "0")
            with suppress(TimeoutError):
                await one.simulator.until(lambda: bool(one.shown("warm-up")), seconds=1.0)
                return


async def _talk(seen: list[Seen], chats: int, spread: float) -> None:
    """Everybody asks once, and waits for the whole answer."""
    chance = random.Random(chats)

    async def ask(one: Seen, number: int) -> None:
        await asyncio.sleep(chance.uniform(0, spread))
        chat = f"chat{number}"
        one.asked[chat] = time.monotonic()
        await one.simulator.user_says(chat, f"{number}")

    async with asyncio.TaskGroup() as group:
        for one in seen:
            for number in range(chats):
                group.create_task(ask(one, number))
    for one in seen:
        await one.simulator.until(partial(_is_whole, one), seconds=LAST_WORDS)


def _is_whole(one: Seen) -> bool:
    for chat in one.asked:
        messages = one.simulator.chat(chat)
        number = chat.removeprefix("chat")
        if not messages or messages[-1].is_preview or f"{number}-" not in messages[-1].text:
            return False
        last = messages[-1].text.split()[-1]
        if not last.startswith(f"{number}-") or one.simulator.calls[-1].at - one.asked[chat] < 1:
            return False
        if int(last.partition("-t")[2]) + 1 not in TOKENS.values():
            return False
    return True


def _read_ends(home: Path, seen: list[Seen]) -> None:
    """When each answer was whole, from the bot's own store."""
    offset = time.monotonic() - time.time()
    with closing(sqlite3.connect(home / DATABASE)) as database:
        rows = database.execute(
            "SELECT m.session, m.text, t.ended_at FROM messages m JOIN turns t ON t.run = m.run"
            " WHERE m.role = 'user'"
        ).fetchall()
    for session, text, ended_at in rows:
        for one in seen:
            if session.startswith(f"{one.name}:"):
                one.ended[f"chat{text.strip()}"] = ended_at + offset


def _rows(one: Seen, streaming: float) -> list[Result]:
    allowed = ALLOWED[one.name]
    begin = max(one.asked.values())  # from here on, everybody's text is coming
    end = min(one.ended[chat] for chat in one.asked)
    sent = sum(begin <= call.at <= end and allowed.method in call.method for call in one.shown())
    share = sent / allowed.calls(len(one.asked), end - begin) if end > begin else 0.0
    refused = sum(call.status == 429 for call in one.simulator.calls)
    late = [_delay(one, chat, allowed) for chat in one.asked]
    return [
        row(f"{one.name}: edits sent of those allowed", 100 * share, "%", at_least=80),
        row(f"{one.name}: refused for being asked too often", refused, "calls", at_most=1),
        row(
            f"{one.name}: last word after it was allowed, p95", percentile(late, 95) * 1000, "ms", at_most=250
        ),
    ]


def _delay(one: Seen, chat: str, allowed: Allowance) -> float:
    """Seconds from when the last word was there, and chat and account allowed it, until it was shown."""
    calls = one.shown(chat)
    last = calls[-1]
    spacing = allowed.chat[1] / allowed.chat[0]
    earliest = max([one.ended[chat], *(call.at + spacing for call in calls[-2:-1])])
    before = [call.at for call in one.shown() if call.at < last.at and allowed.method in call.method]
    for count, window in allowed.account:
        if len(before) >= count:
            earliest = max(earliest, before[-count] + window)
    return max(0.0, last.at - earliest)


def _shows_text(call: Call) -> bool:
    return bool(call.chat) and not any(part in call.method.lower() for part in UNSHOWN)
