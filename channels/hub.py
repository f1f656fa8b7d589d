"""The bot's side of the frames that chat page and terminal speak, whatever carries them."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self, TypeVar, assert_never

from bot.bus import Bus, Subscription
from bot.messages import (
    AgentEnd,
    AgentStart,
    Chunk,
    End,
    InboxUpdate,
    MessageId,
    Missed,
    OutboundMessage,
    RunId,
    SessionKey,
    SessionSwitched,
    StoredMessage,
    SystemEvent,
)
from channels.frames import CommandHint, Draft, Grow, Happened, Over, Said, ServerFrame, Transcript
from channels.link import Link

log = logging.getLogger(__name__)

MAX_EVENTS = 10_000  # of all sessions together; a hub this far behind has its windows start afresh
LASTING = (AgentStart, AgentEnd, SessionSwitched)  # events that concern a session that nobody looks at

Item = TypeVar("Item")


class _Running:
    """The text so far of an answer that grows."""

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.pieces: list[str] = []

    def take(self, chunk: Chunk) -> bool:
        """Add a chunk; true where it stands in place of all that was shown."""
        replaces = chunk.replaces or chunk.attempt > self.attempt
        if replaces:
            self.pieces.clear()
        self.attempt = chunk.attempt
        self.pieces.append(chunk.text)
        return replaces


class ChatHub:
    """Shows the sessions of one channel to everybody who looks at them.

    What it costs to show a piece of an answer depends on the windows of that session, not on all of them.
    """

    def __init__(
        self,
        name: str,
        bus: Bus,
        *,
        transcript: Transcript,
        bot_name: str,
        commands: tuple[CommandHint, ...] = (),
    ) -> None:
        self.name = name
        self.bus = bus
        self.transcript = transcript
        self.bot_name = bot_name
        self.commands = commands
        self._prefix = f"{name}:"
        self._links: dict[SessionKey, list[Link]] = {}
        self._running: dict[SessionKey, dict[RunId, _Running]] = {}
        self._stack = AsyncExitStack()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        group = await self._stack.enter_async_context(self._group)
        self._stack.callback(self._close_links)
        outbound = self._stack.enter_context(self.bus.outbound(channel=self.name))
        events = self._stack.enter_context(self.bus.events(limit=MAX_EVENTS, wants=self._is_of_use))
        group.create_task(_read(outbound, self._show_answer), name=f"{self.name} answers")
        group.create_task(_read(events, self._show_event), name=f"{self.name} events")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def connect(self) -> Link:
        """Open a window; whoever opens it closes it."""
        return Link(self)

    def join(self, session: SessionKey, link: Link) -> None:
        """Let a link see what happens in a session from now on."""
        self._links.setdefault(session, []).append(link)

    def leave(self, session: SessionKey, link: Link) -> None:
        """Undo `join`."""
        links = self._links.get(session, [])
        if link in links:
            links.remove(link)
        if not links:
            self._links.pop(session, None)

    def drafts(self, session: SessionKey) -> Iterator[Draft]:
        """The answers of a session that grow at this moment."""
        for run, running in self._running.get(session, {}).items():
            yield Draft(run=run, text="".join(running.pieces))

    def _close_links(self) -> None:
        for links in list(self._links.values()):
            for link in list(links):
                link.close()

    def _show_answer(self, message: OutboundMessage) -> None:
        match message:
            case Chunk():
                running = self._begin(message.session, message.run, message.attempt)
                if message.attempt < running.attempt:
                    return
                replaces = running.take(message)
                frame: ServerFrame = Grow(run=message.run, text=message.text, replaces=replaces)
            case End():
                self._forget(message.session, message.run)
                is_told = message.reference is not None and message.reference in message.text
                reference = None if is_told else message.reference
                frame = Over(
                    run=message.run,
                    reason=message.reason,
                    text=message.text,
                    reference=reference,
                    buttons=tuple(button for button in message.buttons if button.form is None),
                )
            case _:
                assert_never(message)
        self._show(message.session, frame)

    def _is_of_use(self, kind: type[SystemEvent], session: SessionKey) -> bool:
        """Whether somebody here sees it, or may see an answer grow later that begins or ends with it."""
        return session.startswith(self._prefix) and (session in self._links or kind in LASTING)

    def _show_event(self, event: SystemEvent | Missed) -> None:
        if isinstance(event, Missed):  # among them may be messages, which no window must lack
            log.warning("events missed", extra={"channel": self.name, "count": event.count})
            self._close_links()
            return
        match event:
            case AgentStart(run=run) if run is not None:
                self._begin(event.session, run, event.attempt)
            case AgentEnd(run=run) if run is not None:
                self._forget(event.session, run)
            case InboxUpdate():
                self._show_update(event)
                return
            case SessionSwitched():
                self._move(event)
                return
        self._show(event.session, Happened(event=event))

    def _move(self, switch: SessionSwitched) -> None:
        """Let the windows of a chat follow it into another session, or see the one they show anew."""
        moved = {link for links in self._links.values() for link in links if link.is_of(switch.chat)}
        for link in moved | set(self._links.get(switch.session, ())):
            self._group.create_task(link.look(is_fresh=True), name=f"switch {switch.chat}")

    def _show_update(self, update: InboxUpdate) -> None:
        if update.direction == "in":
            self._show(update.session, Said(message=_stored(update)))

    def _show(self, session: SessionKey, frame: ServerFrame) -> None:
        for link in tuple(self._links.get(session, ())):  # one that is too slow leaves meanwhile
            link.show(frame)

    def _begin(self, session: SessionKey, run: RunId, attempt: int) -> _Running:
        runs = self._running.setdefault(session, {})
        running = runs.get(run)
        if running is None:
            running = runs[run] = _Running(attempt)
        return running

    def _forget(self, session: SessionKey, run: RunId) -> None:
        runs = self._running.get(session, {})
        runs.pop(run, None)
        if not runs:
            self._running.pop(session, None)


def _stored(update: InboxUpdate) -> StoredMessage:
    return StoredMessage(
        number=0,
        id=MessageId(update.id),
        run=update.run or RunId(update.id),
        role="user",
        speaker=update.speaker,
        text=update.text,
        at=update.at,
        platform_id=update.platform_id,
    )


async def _read(subscription: Subscription[Item], show: Callable[[Item], None]) -> None:
    async for item in subscription:
        try:
            show(item)
        except Exception:
            log.exception("showing an item failed", extra={"kind": type(item).__name__})
