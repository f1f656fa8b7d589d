"""What delivery needs of the store."""

from typing import Final, Protocol

from bot.agent.store import Posted
from bot.messages import End, RunId

MAX_TRIES: Final = 10  # then an answer waits for the next start, or for somebody who has it tried again


class Outbox(Protocol):
    """Answers that a platform has not confirmed, and what of them it already shows."""

    async def pending(self, channel: str, account: str) -> list[End]:
        """Answers that are not confirmed, oldest first."""

    async def posted(self, run: RunId) -> list[Posted]:
        """The messages that show a run, by part."""

    async def record(self, run: RunId, posted: Posted) -> None:
        """Write down which message shows a part."""

    async def forget(self, run: RunId, part: int) -> None:
        """A part is shown no more."""

    async def confirm(self, run: RunId) -> None:
        """The platform shows the whole answer."""

    async def give_up(self, run: RunId) -> None:
        """The platform will never take this answer."""

    async def count_try(self, run: RunId) -> int:
        """One more try has failed; gives how many that makes."""
