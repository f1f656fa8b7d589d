"""What pages hear of, and what it costs when nobody looks."""

import asyncio
from collections.abc import Callable
from typing import Final

from bot.bus import LocalBus
from bot.messages import (
    Address,
    AgentEnd,
    Chunk,
    End,
    EndReason,
    InboxUpdate,
    RunId,
    SessionKey,
    Thinking,
    ToolResult,
    ToolStart,
    utc_now,
)
from bot.web.api.feed import Feed
from bot.web.dashboard.growing import MAX_RUNS, MAX_TEXT, Growing
from bot.web.dashboard.live import Live, Viewer

HERE: Final = Address(channel="board", chat="kim")
CHAT: Final = HERE.session()
RUN: Final = RunId("r1")


def chunk(text: str, *, run: RunId = RUN, attempt: int = 1, replaces: bool = False) -> Chunk:
    return Chunk(run=run, session=CHAT, address=HERE, attempt=attempt, seq=1, text=text, replaces=replaces)


def end(reason: EndReason = "done") -> End:
    return End(run=RUN, session=CHAT, address=HERE, attempt=1, seq=9, reason=reason, text="all")


class Watched:
    """Fulfils what `Live` needs of a desk."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[], None]] = []

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.watchers.append(changed)
        return lambda: self.watchers.remove(changed)


def test_an_answer_grows_until_it_ends() -> None:
    growing = Growing()

    assert all(growing.take(chunk(text)) for text in ("one ", "two "))
    assert growing.of(CHAT)[RUN].text == "one two "
    assert growing.of(SessionKey("another")) == {}
    assert not growing.take(end())
    assert growing.get(RUN) is None


def test_another_attempt_begins_anew_and_what_is_late_is_left_out() -> None:
    growing = Growing()
    growing.take(chunk("first try"))
    growing.take(chunk("second", attempt=2))
    growing.take(chunk(" late", attempt=1))
    before = growing.of(CHAT)[RUN].text
    growing.take(chunk("new", attempt=2, replaces=True))

    assert before == "second"
    assert growing.of(CHAT)[RUN].text == "new"


def test_tools_and_thoughts_are_seen_while_they_last() -> None:
    growing = Growing()
    growing.take(Thinking(session=CHAT, run=RUN, text="hm"))
    thinking = growing.of(CHAT)[RUN].is_thinking
    growing.take(ToolStart(session=CHAT, run=RUN, call_id="1", name="search", arguments="{}"))
    tool = growing.of(CHAT)[RUN].tool
    growing.take(ToolResult(session=CHAT, run=RUN, call_id="1", name="search", status="ok", preview=""))
    growing.take(chunk("found"))
    after = growing.of(CHAT)[RUN]
    growing.take(AgentEnd(session=CHAT, run=RUN, reason="done", seconds=1.0))

    assert (thinking, tool, after.tool, after.is_thinking) == (True, "search", None, False)
    assert growing.of(CHAT) == {}


def test_what_grows_is_bounded() -> None:
    growing = Growing()
    for number in range(MAX_RUNS + 10):
        growing.take(chunk("x", run=RunId(f"run {number}")))
    for _ in range(3):
        growing.take(chunk("x" * MAX_TEXT))

    assert len(growing.of(CHAT)) == MAX_RUNS
    assert len(growing.of(CHAT)[RUN].text) == MAX_TEXT


async def test_the_bus_is_read_once_for_all_pages_and_not_at_all_without_one() -> None:
    bus, desk = LocalBus(), Watched()
    feed = Feed(bus, linger=0.0)
    live = Live(feed, desk)
    before = feed.is_reading
    first, second = Viewer(), Viewer()
    leave_first, leave_second = live.join(first), live.join(second)
    watching = len(desk.watchers)
    said = InboxUpdate(
        session=CHAT, id="1", direction="in", address=HERE, speaker="Kim", text="hi", at=utc_now()
    )
    bus.emit(said)
    changes = [await asyncio.wait_for(viewer.next(), 5) for viewer in (first, second)]
    desk.watchers[0]()
    touched = await asyncio.wait_for(first.next(), 5)
    leave_first()
    still = feed.is_reading
    leave_second()
    await asyncio.sleep(0.01)
    after = (feed.is_reading, desk.watchers)
    await live.aclose()
    await feed.aclose()

    assert (before, still, after) == (False, True, (False, []))
    assert [change.sessions for change in changes] == [{CHAT}, {CHAT}]
    assert (watching, touched.is_all) == (1, True)


async def test_a_flood_is_one_change() -> None:
    viewer = Viewer()
    for number in range(10_000):
        viewer.note(CHAT, RunId(f"{number % 3}"), is_growth=True)

    change = await asyncio.wait_for(viewer.next(), 5)

    assert change.runs == {"0", "1", "2"}
    assert not change.sessions
