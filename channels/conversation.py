"""A client's side of the frames: what was sent and is not answered, and what has been seen already."""

import asyncio
from collections import deque
from typing import Final, Protocol, TypeAlias

from bot.messages import Missed, RunId, StoredMessage, SystemEvent, new_id
from channels.connections import Connection, Incoming, Lost
from channels.frames import (
    Accepted,
    Fault,
    Grow,
    Happened,
    History,
    Over,
    Refused,
    Said,
    Send,
    Welcome,
)

MAX_SEEN: Final = 1000  # messages that are recognised when a `welcome` shows them again

Outcome: TypeAlias = Over | Refused


class Screen(Protocol):
    """What shows a conversation."""

    def greet(self, welcome: Welcome) -> None:
        """Show the beginning of a conversation; called once."""

    def say(self, text: str) -> None:
        """Show what was said in another window."""

    def grow(self, run: RunId, text: str, *, replaces: bool) -> None:
        """Show more of an answer."""

    def end(self, over: Over) -> None:
        """Show the last word of an answer."""

    def happen(self, event: SystemEvent | Missed) -> None:
        """Show what the bot does meanwhile."""

    def warn(self, text: str) -> None:
        """Show a trouble with a message or the connection."""


class Conversation:
    """Sends until accepted, follows until answered, and shows each thing once over all reconnections."""

    def __init__(self, connection: Connection, screen: Screen) -> None:
        self._connection = connection
        self._screen = screen
        self._unsent: dict[str, Send] = {}
        self._outcomes: dict[str, asyncio.Future[Outcome]] = {}
        self._ids: dict[RunId, str] = {}
        self._running: set[RunId] = set()
        self._seen: deque[tuple[RunId, str]] = deque(maxlen=MAX_SEEN)
        self._is_greeted = False

    @property
    def is_busy(self) -> bool:
        """Whether an answer is under way, or asked for."""
        return bool(self._running or self._outcomes)

    async def say(self, text: str) -> asyncio.Future[Outcome]:
        """Send a message; the future tells how its answer ended."""
        send = Send(id=new_id(), text=text)
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._unsent[send.id] = send
        self._outcomes[send.id] = outcome
        if self._is_greeted:
            await self._connection.send(send)
        return outcome

    async def follow(self) -> None:
        """Take what comes until the connection ends for good."""
        async for frame in self._connection:
            await self._take(frame)

    async def _take(self, frame: Incoming) -> None:
        match frame:
            case Welcome():
                await self._begin(frame)
            case Accepted(id=id, run=run):
                self._accept(id, run)
            case Refused(id=id):
                self._unsent.pop(id, None)
                self._screen.warn(frame.text)
                self._settle(id, frame)
            case Said(message=message):
                self._read(message)
            case Grow(run=run, text=text, replaces=replaces):
                self._running.add(run)
                self._screen.grow(run, text, replaces=replaces)
            case Over():
                self._end(frame)
            case Happened(event=event):
                self._screen.happen(event)
            case Lost():
                self._screen.warn("The connection is lost; trying again.")
            case Fault(text=text):
                self._screen.warn(text)
            case History():
                pass  # never asked for here

    async def _begin(self, welcome: Welcome) -> None:
        if not self._is_greeted:
            self._screen.greet(welcome)
            self._seen.extend((line.run, line.role) for line in welcome.messages)
            self._is_greeted = True
        self._running = {draft.run for draft in welcome.running}
        for line in (*welcome.messages, *welcome.waiting):
            self._read(line)
        for draft in welcome.running:
            if draft.text:
                self._screen.grow(draft.run, draft.text, replaces=True)
        for send in list(self._unsent.values()):
            await self._connection.send(send)

    def _read(self, line: StoredMessage) -> None:
        """Take in a message that is in the history, or on its way there."""
        if line.role == "assistant":
            self._end(Over(run=line.run, reason=line.reason or "done", text=line.text))
        elif line.platform_id in self._outcomes:
            self._accept(line.platform_id, line.run)
            self._seen.append((line.run, line.role))
        elif self._is_new(line.run, line.role):
            self._screen.say(line.text)

    def _accept(self, id: str, run: RunId | None) -> None:
        self._unsent.pop(id, None)
        if run is not None and id in self._outcomes:
            self._ids[run] = id
        elif run is None:  # sent again, and answered too long ago for the newest page
            self._settle(id, Refused(id=id, text="This message was answered before; see the history."))

    def _end(self, over: Over) -> None:
        self._running.discard(over.run)
        if self._is_new(over.run, "assistant"):
            self._screen.end(over)
        id = self._ids.pop(over.run, None)
        if id is not None:
            self._settle(id, over)

    def _settle(self, id: str, outcome: Outcome) -> None:
        future = self._outcomes.pop(id, None)
        if future is not None and not future.done():
            future.set_result(outcome)

    def _is_new(self, run: RunId, role: str) -> bool:
        if (run, role) in self._seen:
            return False
        self._seen.append((run, role))
        return True
