"""Looks for people who have waited too long for an answer; only where the settings want it."""

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, Self

from bot.errors import StoreError
from bot.inbox.base import Conversation, Filter, InboxBook, Place

log = logging.getLogger(__name__)

EVERY: Final = 30.0  # seconds between two looks
PAGE: Final = 100  # conversations that are read at once
LOOKED_AT: Final = 1_000  # the newest conversations
NAMED: Final = 10  # in one notice
WAITING: Final = Filter(states=("open", "waiting"))
ONE: Final = "`{chat}` has waited for {minutes} min for an answer."
MANY: Final = "These have waited for an answer for more than {minutes} min: {chats}{more}."


class State(Protocol):
    """Keeps small texts by name."""

    async def get(self, name: str) -> str | None: ...

    async def put(self, name: str, value: str) -> None: ...


class WaitingWatch:
    """Tells admins of who waits, once for each wait, from `__aenter__` to `__aexit__`.

    Args:
        state: Keeps of which waits they were told, over a restart.
        minutes: How long somebody may wait; with 0, nothing is looked for.
        tell: Tells the admins.
    """

    def __init__(
        self,
        book: InboxBook,
        state: State,
        *,
        minutes: int,
        tell: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._book = book
        self._state = state
        self._minutes = minutes
        self._tell = tell
        self._now = now
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._minutes > 0:
            self._task = asyncio.create_task(self._watch(), name="watch who waits")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("who waits is not known", extra={"cause": str(error)})
            except Exception:  # one bad look must not end them all
                log.exception("looking for who waits failed")
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Tell of those who have waited too long since the last look."""
        latest = self._now() - self._minutes * 60
        late = [one for one in await self._conversations() if (one.waiting_since or latest) < latest]
        new = [one for one in late if await self._is_new(one)]
        if not new:
            return
        if len(new) == 1 and new[0].waiting_since is not None:
            minutes = int((self._now() - new[0].waiting_since) // 60)
            self._tell(ONE.format(chat=new[0].chat, minutes=minutes))
            return
        chats = ", ".join(f"`{one.chat}`" for one in new[:NAMED])
        more = f" and {len(new) - NAMED} more" if len(new) > NAMED else ""
        self._tell(MANY.format(minutes=self._minutes, chats=chats, more=more))

    async def _conversations(self) -> list[Conversation]:
        found: list[Conversation] = []
        after: Place | None = None
        while len(found) < LOOKED_AT:
            page = await self._book.find(WAITING, after=after, limit=PAGE)
            found += page
            if len(page) < PAGE:
                break
            after = Place(updated_at=page[-1].updated_at, chat=page[-1].chat)
        return found

    async def _is_new(self, one: Conversation) -> bool:
        """Whether nobody was told of this wait; from now on, somebody was."""
        wait = str(one.waiting_since)
        if await self._state.get(one.chat) == wait:
            return False
        await self._state.put(one.chat, wait)
        return True
