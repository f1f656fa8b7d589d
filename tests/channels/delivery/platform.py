"""A small platform that a test plays, on a clock that it turns."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace
from starlette.routing import BaseRoute

from bot.agent.store import TurnRecord
from bot.bus import LocalBus
from bot.errors import MessageGone, OutcomeUnknown
from bot.messages import Address, Attachment, End, InboundMessage, RunId
from bot.settings import ChannelSettings
from channels.base import Capabilities, Content, Liveness, Rate
from channels.delivery.delivery import Delivery
from channels.delivery.outbox import Outbox
from channels.delivery.pace import Pace
from channels.delivery.reports import Reports
from memory.store import Store
from tests.factories import chunk_of, end_of, inbound

ONE_A_SECOND = Rate(calls=1, seconds=1.0)
EDITING = Capabilities(
    max_size=20, rates=(ONE_A_SECOND,), edits=True, idempotent=True, max_upload=1_000, max_buttons=5
)
POSTING = Capabilities(max_size=20, rates=(), edits=False)

TICK = 1e-6  # seconds; so that no wait is too short by what floats lose


class Clock:
    """A clock that goes on by itself when somebody waits on it, or else when the test turns it."""

    def __init__(self, *, is_turned: bool = False) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self._is_turned = is_turned
        self._news = asyncio.Condition()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait on this clock."""
        until = self.now + seconds
        async with self._news:
            self.waits.append(seconds)
            self._news.notify_all()
            if not self._is_turned:
                self.now = max(self.now, until + TICK)
            await self._news.wait_for(lambda: self.now >= until)

    async def waited(self, count: int) -> None:
        """Until so many waits have begun."""
        async with asyncio.timeout(5), self._news:
            await self._news.wait_for(lambda: len(self.waits) >= count)

    async def turn(self, seconds: float) -> None:
        """Let time pass."""
        async with self._news:
            self.now += seconds
            self._news.notify_all()


@dataclass(slots=True)
class Posted:
    """A message that stands on the platform."""

    chat: str
    text: str
    key: str
    content: Content | None = None
    file: str | None = None


@dataclass(slots=True)
class Platform:
    """What survives the bot: the messages that people see, and the rules of the house."""

    clock: Clock
    capabilities: Capabilities = EDITING
    messages: dict[str, Posted] = field(default_factory=dict)
    calls: list[tuple[float, str, str]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    previews: list[str] = field(default_factory=list)
    is_losing_answers: bool = False
    gone: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    last_call: dict[str, float] = field(default_factory=dict)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    number: int = 0

    async def post(self, chat: str, content: Content, key: str) -> str:
        await self.answer(chat, "post", content.text)
        known = self.find(key) if self.capabilities.idempotent else None
        return known or await self.add(Posted(chat, content.text, key, content))

    async def add(self, posted: Posted) -> str:
        self.number += 1
        id_ = f"m{self.number}"
        self.messages[id_] = posted
        await self._tell()
        return id_

    def find(self, key: str) -> str | None:
        return next((id_ for id_, message in self.messages.items() if message.key == key), None)

    async def edit(self, chat: str, id_: str, content: Content) -> None:
        assert self.capabilities.edits, "this platform changes no messages"
        await self.answer(chat, "edit", content.text)
        if id_ in self.gone or id_ not in self.messages:
            raise MessageGone("too old")
        self.messages[id_].text, self.messages[id_].content = content.text, content
        await self._tell()

    async def answer(self, chat: str, kind: str, text: str) -> None:
        assert kind == "delete" or 0 < len(text) <= self.capabilities.max_size, "this takes no such text"
        self.calls.append((round(self.clock.now, 3), kind, text))
        for rate in self.capabilities.rates:
            since = self.clock.now - self.last_call.get(chat, float("-inf"))
            assert since >= rate.seconds / rate.calls - TICK, "this platform is not asked that often"
        self.last_call[chat] = self.clock.now
        await self._tell()
        while chat in self.hanging:
            async with self.news:
                await self.news.wait()
        if self.failures:
            raise self.failures.pop(0)

    async def _tell(self) -> None:
        async with self.news:
            self.news.notify_all()

    async def let_go(self, chat: str) -> None:
        self.hanging.discard(chat)
        await self._tell()

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(5), self.news:
            await self.news.wait_for(claim)

    def texts(self, chat: str = "main") -> list[str]:
        return [message.text for message in self.messages.values() if message.chat == chat]


class PlatformAdapter:
    """Speaks to the platform of the tests; made anew by every process of the bot."""

    name = "other"
    account = "default"
    liveness = Liveness(is_connected=True)
    routes: Sequence[BaseRoute] = ()

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def capabilities_in(self, address: Address) -> Capabilities:
        return self._platform.capabilities

    def measure(self, text: str) -> int:
        return len(text)

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        id_ = await self._platform.post(address.chat, content, key)
        if self._platform.is_losing_answers:
            raise OutcomeUnknown("the connection broke before the answer came")
        return id_

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        await self._platform.edit(address.chat, platform_id, content)

    async def delete(self, address: Address, platform_id: str) -> None:
        await self._platform.answer(address.chat, "delete", "")
        self._platform.messages.pop(platform_id, None)

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        await self._platform.answer(address.chat, "preview", content.text)
        self._platform.previews.append(content.text)

    async def find(self, address: Address, *, key: str) -> str | None:
        return self._platform.find(key)

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        await self._platform.answer(address.chat, "upload", attachment.name)
        assert attachment.path is not None
        data = await asyncio.to_thread(Path(attachment.path).read_text)
        return await self._platform.add(Posted(address.chat, attachment.name, key, file=data))

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        raise NotImplementedError

    async def type(self, address: Address) -> None:
        await self._platform.answer(address.chat, "typing", "…")

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        await self._platform.answer(address.chat, "react", emoji or "-")

    async def set_presence(self, status: str, activity: str | None) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is open."""


class DeafOutbox:
    """The outbox of the store, but a process dies before it can confirm anything."""

    def __init__(self, store: Store) -> None:
        outbox = store.outbox
        self.pending, self.posted = outbox.pending, outbox.posted
        self.record, self.forget = outbox.record, outbox.forget
        self.give_up, self.count_try = outbox.give_up, outbox.count_try

    async def confirm(self, run: RunId) -> None:
        """Nobody hears it."""


@dataclass(slots=True)
class Setup:
    """A platform, a store, and whatever process of the bot delivers at the moment."""

    store: Store
    clock: Clock
    platform: Platform
    bus: LocalBus = field(default_factory=LocalBus)
    dead: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def delivering(
        self, *, call_seconds: float = 5.0, outbox: Outbox | None = None, **settings: object
    ) -> AsyncIterator[None]:
        """The delivery of one process, which starts a minute after the one before."""
        self.clock.now += 60.0
        async with Delivery(
            PlatformAdapter(self.platform),
            ChannelSettings.model_validate(settings),
            reports=Reports(on_dead=lambda address, cause: self.dead.append(cause)),
            bus=self.bus,
            outbox=outbox or self.store.outbox,
            pace=Pace(clock=self.clock, sleep=self.clock.sleep),
            sleep=self.clock.sleep,
            call_seconds=call_seconds,
        ):
            yield

    async def asked(self, chat: str = "main", *, is_direct: bool = True) -> InboundMessage:
        """A message whose turn has begun."""
        message = inbound(session=f"other:default:{chat}", is_direct=is_direct)
        await self.store.journal.accept(message, history=0)
        return message

    async def saved(self, message: InboundMessage, text: str, *, attempt: int = 1, **changes: object) -> End:
        """The saved end of a turn."""
        end = replace(end_of(message, text, attempt=attempt), **changes)
        record = TurnRecord(started_at=1.0, ended_at=2.0)
        await self.store.journal.finish(end, record, speaker="Bot", has_outbox=True)
        return end

    def say(self, message: InboundMessage, *texts: str) -> None:
        for seq, text in enumerate(texts):
            self.bus.send(chunk_of(message, text, seq=seq))

    async def waiting(self) -> list[str]:
        return [end.text for end in await self.store.outbox.pending("other")]
