"""A small bot behind the bus: keeps its messages in memory, answers by a script, obeys `/kill`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self, TypeAlias

from bot.bus import LocalBus, Receipt
from bot.errors import StoreError
from bot.messages import (
    AgentEnd,
    AgentStart,
    Chunk,
    End,
    EndReason,
    InboundMessage,
    InboxUpdate,
    MessageId,
    RunId,
    SessionKey,
    StoredMessage,
    new_id,
    utc_now,
)

Reply: TypeAlias = Callable[[str], AsyncIterator[str]]


class Broken(Exception):
    """What a scripted reply raises to end in an error."""


class MemoryStore:
    """Histories that outlive a bot, as a database does; a `Transcript`."""

    def __init__(self) -> None:
        self.lines: dict[SessionKey, list[StoredMessage]] = {}
        self.open: dict[str, InboundMessage] = {}
        self.seen: set[str] = set()
        self.aliases: dict[SessionKey, SessionKey] = {}
        self.fault: StoreError | None = None

    async def resolve(self, session: SessionKey) -> SessionKey:
        return self.aliases.get(session, session)

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = 50
    ) -> list[StoredMessage]:
        if self.fault is not None:
            raise self.fault
        lines = self.lines.get(session, [])
        return [line for line in lines if before is None or line.number < before][-limit:]

    async def waiting(self, session: SessionKey) -> list[InboundMessage]:
        begun = {line.run for line in self.lines.get(session, [])}
        return [one for one in self.open.values() if one.session == session and one.run not in begun]

    def add(
        self,
        session: SessionKey,
        run: RunId,
        text: str,
        *,
        platform_id: str | None = None,
        reason: EndReason | None = None,
    ) -> None:
        """Append a line: the user's where it has no reason, else the bot's."""
        lines = self.lines.setdefault(session, [])
        if any(line.run == run and line.reason == reason for line in lines):
            return
        lines.append(
            StoredMessage(
                number=len(lines) + 1,
                id=MessageId(new_id()),
                run=run,
                role="user" if reason is None else "assistant",
                speaker="Owner" if reason is None else "Echo",
                text=text,
                at=utc_now(),
                platform_id=platform_id,
                reason=reason,
            )
        )


async def echo(text: str) -> AsyncIterator[str]:
    """Say the same again, a word at a time."""
    for word in text.split(" "):
        yield f"{word} "


class EchoBot:
    """Serves a bus; a turn that was not over is done again by the next bot on the same store."""

    def __init__(self, bus: LocalBus, store: MemoryStore, reply: Reply = echo) -> None:
        self.bus = bus
        self.store = store
        self.reply = reply
        self.refuses = False
        self._turns: dict[RunId, asyncio.Task[None]] = {}
        self._lanes: dict[SessionKey, asyncio.Lock] = {}
        self._killed: set[RunId] = set()

    async def __aenter__(self) -> Self:
        self.bus.serve(self.accept)
        for message in self.store.open.values():
            self._start(message)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._turns.values():
            task.cancel()
        await asyncio.gather(*self._turns.values(), return_exceptions=True)

    async def accept(self, message: InboundMessage) -> Receipt:
        if self.store.fault is not None:
            raise self.store.fault
        if self.refuses:
            return Receipt.REFUSED
        if message.dedupe_key in self.store.seen:
            return Receipt.DUPLICATE
        self.store.seen.add(message.dedupe_key)
        self.bus.emit(_update(message))
        if message.text == "/kill":
            self._kill(message)
        else:
            self.store.open[message.id] = message
            self._start(message)
        return Receipt.ACCEPTED

    def _start(self, message: InboundMessage) -> None:
        task = asyncio.create_task(self._turn(message))
        self._turns[message.run] = task
        task.add_done_callback(lambda _: self._turns.pop(message.run, None))

    def _kill(self, message: InboundMessage) -> None:
        self._killed |= set(self._turns)
        for task in self._turns.values():
            task.cancel()
        self.store.add(message.session, message.run, message.text, platform_id=message.platform_id)
        self._end(message, "Stopped." if self._killed else "Nothing runs.", "done")

    async def _turn(self, message: InboundMessage) -> None:
        said: list[str] = []
        try:
            async with self._lanes.setdefault(message.session, asyncio.Lock()):
                await self._answer(message, said)
        except asyncio.CancelledError:
            if message.run not in self._killed:
                raise
            self._end(message, "".join(said), "killed")

    async def _answer(self, message: InboundMessage, said: list[str]) -> None:
        session, run = message.session, message.run
        self.store.add(session, run, message.text, platform_id=message.platform_id)
        self.bus.emit(AgentStart(session=session, run=run, attempt=1))
        try:
            async for piece in self.reply(message.text):
                said.append(piece)
                self.bus.send(
                    Chunk(
                        run=run,
                        session=session,
                        address=message.address,
                        attempt=1,
                        seq=len(said),
                        text=piece,
                    )
                )
        except Broken as error:
            self._end(message, str(error), "error")
        else:
            self._end(message, "".join(said), "done")
        self.bus.emit(AgentEnd(session=session, run=run, reason="done", seconds=0.1))

    def _end(self, message: InboundMessage, text: str, reason: EndReason) -> None:
        self.store.open.pop(message.id, None)
        self.store.add(message.session, message.run, text, reason=reason)
        self.bus.send(
            End(
                run=message.run,
                session=message.session,
                address=message.address,
                attempt=1,
                seq=1_000_000,
                reason=reason,
                text=text,
                reference="ref-4711" if reason == "error" else None,
            )
        )


def _update(message: InboundMessage) -> InboxUpdate:
    return InboxUpdate(
        session=message.session,
        run=message.run,
        id=message.id,
        direction="in",
        address=message.address,
        speaker=message.sender.name,
        text=message.text,
        at=message.received_at,
        platform_id=message.platform_id,
    )
