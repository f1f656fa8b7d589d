import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import AgentStart, Missed, RunId, SessionKey
from channels.backlog import Backlog
from channels.frames import Fault, Grow, Happened, Over, ServerFrame, Welcome

SESSION = SessionKey("web:default:main")


def event(number: int) -> Happened:
    return Happened(event=AgentStart(session=SESSION, run=RunId("r"), attempt=number))


def drain(backlog: Backlog) -> list[ServerFrame]:
    async def read() -> list[ServerFrame]:
        backlog.close()
        return [frame async for frame in backlog]

    return asyncio.run(read())


def test_a_reader_that_keeps_up_gets_each_chunk() -> None:
    async def read() -> list[ServerFrame]:
        backlog = Backlog()
        seen: list[ServerFrame] = []
        for text in "abc":
            backlog.put(Grow(run=RunId("r"), text=text))
            seen.append(await anext(backlog))
        return seen

    assert [frame.text for frame in asyncio.run(read()) if isinstance(frame, Grow)] == ["a", "b", "c"]


@given(pieces=st.lists(st.tuples(st.text(), st.booleans()), min_size=1))
def test_chunks_that_wait_become_one_that_shows_the_same(pieces: list[tuple[str, bool]]) -> None:
    backlog = Backlog()
    shown = ""
    for text, replaces in pieces:
        backlog.put(Grow(run=RunId("r"), text=text, replaces=replaces))
        shown = text if replaces else shown + text

    frames = drain(backlog)

    assert frames == [Grow(run=RunId("r"), text=shown, replaces=any(replaces for _, replaces in pieces))]


def test_an_end_takes_the_place_of_the_chunks_that_wait() -> None:
    backlog = Backlog()
    backlog.put(Grow(run=RunId("r"), text="half"))
    over = Over(run=RunId("r"), reason="done", text="half and half")
    backlog.put(over)

    assert drain(backlog) == [over]


def test_of_too_many_events_the_newest_stay_and_the_reader_is_told_how_many_went() -> None:
    backlog = Backlog(max_events=3)
    for number in range(10):
        backlog.put(event(number))

    frames = drain(backlog)

    assert frames == [Happened(event=Missed(count=7)), event(7), event(8), event(9)]


def test_a_reader_that_is_hopelessly_behind_is_cut_off() -> None:
    backlog = Backlog(max_frames=5)
    for _ in range(6):
        backlog.put(Fault(text="x"))

    assert backlog.is_closed
    assert len(backlog) == 0


@given(count=st.integers(0, 40))
def test_messages_and_ends_are_never_dropped_below_the_limit(count: int) -> None:
    backlog = Backlog(max_frames=100, max_events=2)
    overs = [Over(run=RunId(f"r{number}"), reason="done", text="x") for number in range(count)]
    for over in overs:
        backlog.put(event(0))
        backlog.put(Grow(run=over.run, text="x"))
        backlog.put(over)

    assert [frame for frame in drain(backlog) if isinstance(frame, Over)] == overs


async def test_what_comes_while_held_stands_behind_the_welcome_without_the_chunks_in_it() -> None:
    backlog = Backlog()
    backlog.hold()
    backlog.put(Grow(run=RunId("r"), text="in the welcome"))
    over = Over(run=RunId("other"), reason="done", text="x")
    backlog.put(over)
    welcome = Welcome(bot="b", chat="main", messages=(), more=False, running=(), waiting=(), commands=())

    backlog.release(welcome)

    assert [await anext(backlog), await anext(backlog)] == [welcome, over]
    assert len(backlog) == 0


async def test_closing_ends_a_reader_that_waits() -> None:
    backlog = Backlog()
    reader = asyncio.ensure_future(anext(backlog))
    asyncio.get_running_loop().call_soon(backlog.close)

    with pytest.raises(StopAsyncIteration):
        await reader
