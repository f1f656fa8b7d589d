"""What people say to a turn while it runs: who may, and how the model reads it."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from bot.agent.history import label
from bot.agent.pictures import look, with_pictures
from bot.agent.prompt import describe
from bot.agent.run import Run
from bot.agent.store import Pending
from bot.messages import InboundMessage, Role
from bot.models.base import PromptMessage
from bot.models.picture_files import MAX_PICTURES

ADDED = "[Added while you were working; take it into account]"
RANKS = (Role.GUEST, Role.MEMBER, Role.ADMIN, Role.OWNER)


class Waiting(Protocol):
    """The messages that wait behind the turn."""

    def eligible(self, fits: Callable[[Pending], bool]) -> list[Pending]:
        """Those that fit, in order."""

    def remove(self, pending: Pending) -> None:
        """They wait no longer."""


class LaneSteering:
    """Fulfils `bot.backends.base.Steering` on the lane of a session.

    Args:
        keeps: What is taken up waits on, for a turn of its own.
        fetch: Gets the files of a message.
        passes: Whether a message may be taken up; one that may not gets a turn of its own.
    """

    def __init__(
        self,
        run: Run,
        lane: Waiting,
        *,
        keeps: bool,
        may_steer: Callable[[InboundMessage, InboundMessage], bool],
        fetch: Callable[[InboundMessage], Awaitable[InboundMessage]],
        passes: Callable[[InboundMessage], Awaitable[bool]],
    ) -> None:
        self._run = run
        self._lane = lane
        self._keeps = keeps
        self._may_steer = may_steer
        self._fetch = fetch
        self._passes = passes
        self._read: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """See the protocol."""
        return bool(self._lane.eligible(self._fits))

    async def take(self) -> tuple[PromptMessage, ...]:
        """See the protocol."""
        taken = []
        for pending in self._lane.eligible(self._fits):
            self._read.add(pending.message.run)
            if await self._passes(pending.message):
                taken.append(pending)
        for pending in taken:
            if not self._keeps:
                self._lane.remove(pending)
                self._run.absorb(pending)
        room, said = MAX_PICTURES, []
        for pending in taken:
            said.append(await self._render(pending.message, room))
            room -= len(said[-1].pictures)
        return tuple(said)

    def _fits(self, pending: Pending) -> bool:
        message = pending.message
        return (
            pending.begun is None
            and message.run not in self._read
            and message.address == self._run.message.address
            and self._may_steer(message, self._run.message)
        )

    async def _render(self, message: InboundMessage, most_pictures: int) -> PromptMessage:
        if message.attachments:
            message = await self._fetch(message)
        text = "\n".join(part for part in (message.text, *map(describe, message.attachments)) if part)
        if message.sender.id != self._run.message.sender.id:
            text = label(text, message.sender.name or message.sender.id, message.received_at)
        said = PromptMessage(role="user", content=f"{ADDED}\n{text}")
        return with_pictures(said, await look(message.attachments, most=most_pictures))


def rank(message: InboundMessage, *, is_admin: bool) -> int:
    """What the sender of a message may do, as a number that grows with it."""
    return max(RANKS.index(message.sender.role), RANKS.index(Role.ADMIN) if is_admin else 0)
