"""What happens, for all pages: one reader of the feed while a page is open, and none when none is."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from bot.messages import Missed, RunId, SessionKey
from bot.web.api.feed import Feed, Follower, Item
from bot.web.dashboard.growing import Growing

log = logging.getLogger(__name__)

PAUSE: Final = 0.1  # seconds between two updates of a page


class Change:
    """What has changed since a page was last brought up to date.

    Attributes:
        sessions: Where something was said, begun or ended.
        runs: What grows.
        is_all: Something was missed, or an operator did something: look at everything anew.
    """

    def __init__(self) -> None:
        self.sessions: set[SessionKey] = set()
        self.runs: set[RunId] = set()
        self.is_all = False

    def __bool__(self) -> bool:
        return bool(self.sessions or self.runs or self.is_all)


class Viewer:
    """One page; told of changes, not more often than every `PAUSE` seconds."""

    def __init__(self) -> None:
        self._change = Change()
        self._news = asyncio.Event()

    def note(self, session: SessionKey | None, run: RunId | None, *, is_growth: bool) -> None:
        """Something has happened."""
        if session is None:
            self._change.is_all = True
        elif is_growth and run is not None:
            self._change.runs.add(run)
        else:
            self._change.sessions.add(session)
        self._news.set()

    async def next(self) -> Change:
        """Wait for a change; what happens until it is taken up is in it."""
        await self._news.wait()
        await asyncio.sleep(PAUSE)
        self._news.clear()
        change, self._change = self._change, Change()
        return change


class Watched(Protocol):
    """Tells of what operators do."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]: ...


class Live:
    """Reads the feed as long as somebody looks; whoever made it closes it."""

    def __init__(self, feed: Feed, desk: Watched) -> None:
        self._feed = feed
        self._desk = desk
        self._unwatch: Callable[[], None] = _nothing
        self._viewers: set[Viewer] = set()
        self._task: asyncio.Task[None] | None = None
        self.growing = Growing()

    def join(self, viewer: Viewer) -> Callable[[], None]:
        """Tell a page of changes, until what this gives is called."""
        self._viewers.add(viewer)
        if self._task is None:
            self._feed.open()
            follower = self._feed.follow(after=self._feed.oldest - 1)
            self._task = asyncio.create_task(self._read(follower), name="inbox pages")
            self._unwatch = self._desk.watch(self.touch)

        def leave() -> None:
            self._viewers.discard(viewer)
            if not self._viewers and self._task is not None:
                self._task.cancel()
                self._task = None
                self._unwatch()
                self._unwatch = _nothing
                self.growing = Growing()

        return leave

    def touch(self) -> None:
        """An operator has done something that no event tells of."""
        for viewer in self._viewers:
            viewer.note(None, None, is_growth=False)

    async def aclose(self) -> None:
        """Read no more."""
        self._viewers.clear()
        self._unwatch()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def _read(self, follower: Follower) -> None:
        try:
            with follower:
                async for entry in follower:
                    self._take(entry.item)
        except Exception:  # a page that shows nothing new must not look as if nothing happened
            log.exception("inbox pages stand still")
            raise

    def _take(self, item: Item) -> None:
        if isinstance(item, Missed):
            self.touch()
            return
        is_growth = self.growing.take(item)
        for viewer in self._viewers:
            viewer.note(item.session, item.run, is_growth=is_growth)


def _nothing() -> None:
    """What is called where nobody watches yet."""
