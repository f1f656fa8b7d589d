"""Answers in threads grow as Slack's own streams, and end up right whatever happens to these."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import OutcomeUnknown
from bot.messages import Address, Button
from channels.slack.adapter import SlackAdapter
from channels.slack.streams import AT_ONCE, stable_part
from tests.channels.slack.conftest import Bench, final, growing
from tests.simulators.platform import Fault, Shown

TEXT = "First **things** first:\n\n- one\n- two\n\n```py\nx = 1\n\ny = 2\n```\n\nAnd so on."
READS = "First things first:\n\n- one\n- two\n\nx = 1\n\ny = 2\n\nAnd so on."


async def asked(bench: Bench, *, direct: bool = True) -> tuple[SlackAdapter, Address, str]:
    """Let somebody ask in a thread."""
    adapter = await bench.running()
    chat = "ann" if direct else "team"
    await bench.slack.user_says(chat, "go", direct=direct, thread="t", mentions_bot=not direct)
    question = await bench.ear.heard("go")
    return adapter, question.address, question.platform_id


def methods(bench: Bench) -> list[str]:
    return [call.method for call in bench.slack.calls]


def shown(bench: Bench) -> list[Shown]:
    return [one for one in bench.slack.messages.values() if one.author == "bot"]


@pytest.mark.parametrize("direct", [True, False])
async def test_an_answer_in_a_thread_is_streamed(bench: Bench, direct: bool) -> None:
    adapter, place, question = await asked(bench, direct=direct)
    posted = await adapter.post(place, growing(TEXT[:9], answers=question), key="k1")
    for end in range(10, len(TEXT), 12):
        await adapter.edit(place, posted, growing(TEXT[:end], answers=question))
    button = Button(label="More", value="m")
    await adapter.edit(place, posted, final(TEXT, answers=question, buttons=(button,)))

    message = shown(bench)[0]
    assert message.text == READS
    assert message.raw == TEXT
    assert message.buttons == ["More"]
    assert set(methods(bench)) == {"chat.startStream", "chat.appendStream", "chat.stopStream"}
    assert await adapter.find(place, key="k1") == posted


async def test_an_answer_outside_of_threads_is_posted_and_updated(bench: Bench) -> None:
    adapter = await bench.running()
    await bench.slack.user_says("ann", "go")
    question = await bench.ear.heard("go")
    posted = await adapter.post(question.address, growing("One"), key="k1")
    await adapter.edit(question.address, posted, final("One two"))

    assert methods(bench) == ["chat.postMessage", "chat.update"]
    assert bench.slack.texts("ann") == ["One two"]


async def test_a_text_that_changes_its_beginning_is_put_right_at_the_end(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    posted = await adapter.post(place, growing("I think that", answers=question), key="k1")
    await adapter.edit(place, posted, growing("No: rather"))
    await adapter.edit(place, posted, final("No: rather this."))

    assert [one.text for one in shown(bench)] == ["No: rather this."]
    assert await adapter.find(place, key="k1") == posted


async def test_a_stream_that_slack_has_closed_goes_on_by_updates(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    posted = await adapter.post(place, growing("One", answers=question), key="k1")
    bench.slack.world.posts[posted].is_streaming = False
    await adapter.edit(place, posted, growing("One two"))
    await adapter.edit(place, posted, final("One two three"))

    assert [one.text for one in shown(bench)] == ["One two three"]
    assert await adapter.find(place, key="k1") == posted


@pytest.mark.parametrize("method", ["chat.appendStream", "chat.stopStream"])
@pytest.mark.parametrize("kind", ["lose", "cut"])
async def test_an_append_whose_outcome_is_lost_doubles_no_text(bench: Bench, method: str, kind: str) -> None:
    adapter, place, question = await asked(bench)
    posted = await adapter.post(place, growing("One two", answers=question), key="k1")
    bench.slack.fail(Fault(kind="lose" if kind == "lose" else "cut", method=method))
    content = growing("One two three") if method == "chat.appendStream" else final("One two three")
    with pytest.raises(OutcomeUnknown):
        await adapter.edit(place, posted, content)

    await adapter.edit(place, posted, final("One two three"))

    assert [one.text for one in shown(bench)] == ["One two three"]


async def test_an_append_that_was_cut_short_doubles_no_text(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    posted = await adapter.post(place, growing("One two", answers=question), key="k1")
    bench.slack.fail(Fault(kind="hang", method="chat.appendStream", seconds=0.3))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await adapter.edit(place, posted, growing("One two three"))
    await bench.slack.until(lambda: any(call.status == 0 for call in bench.slack.calls))
    await adapter.edit(place, posted, growing("One two three four"))
    await adapter.edit(place, posted, final("One two three four five"))

    assert [one.text for one in shown(bench)] == ["One two three four five"]


async def test_growth_in_threads_never_takes_the_calls_of_last_words(bench: Bench) -> None:
    adapter = await bench.running()
    texts = ["word " * number for number in range(1, 50)]
    for number in range(8):
        await bench.slack.user_says(f"user{number}", f"go {number}", thread="t")
        question = await bench.ear.heard(f"go {number}")
        first = growing("word", answers=question.platform_id)
        posted = await adapter.post(question.address, first, key="k")
        for text in texts:
            await adapter.edit(question.address, posted, growing(text))
        await adapter.edit(question.address, posted, final(texts[-1]))

    assert [one.text for one in shown(bench)] == [texts[-1].strip()] * 8
    assert all(call.status == 200 for call in bench.slack.calls)


async def test_a_start_whose_answer_is_lost_is_found_and_finished(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    older = await adapter.post(place, growing("Another one", answers=question), key="k0")
    bench.slack.fail(Fault(kind="lose", method="chat.startStream"))
    with pytest.raises(OutcomeUnknown):
        await adapter.post(place, growing("One two", answers=question), key="k1")

    found = await adapter.find(place, key="k1")
    assert found is not None
    assert found != older
    await adapter.edit(place, found, final("One two three"))
    await adapter.edit(place, older, final("Another one."))

    assert [one.text for one in shown(bench)] == ["Another one.", "One two three"]
    assert await adapter.find(place, key="k2") is None


async def test_a_stream_that_outlived_the_process_is_found_and_finished(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    posted = await adapter.post(place, growing("One two", answers=question), key="k1")
    await bench.stop()
    adapter = bench.adapter()

    assert await adapter.find(place, key="never tried") is None
    await bench.running()
    adapter = bench.adapters[-1]
    assert await adapter.find(place, key="k1") == posted
    await adapter.edit(place, posted, growing("One two thr"))
    await adapter.edit(place, posted, final("One two three"))

    assert [one.text for one in shown(bench)] == ["One two three"]


async def test_an_open_stream_can_be_deleted_also_after_a_restart(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    first = await adapter.post(place, growing("One", answers=question), key="k1")
    second = await adapter.post(place, growing("Two", answers=question), key="k2")
    await adapter.delete(place, first)
    await bench.adapter().delete(place, second)

    assert shown(bench) == []


async def test_more_streams_than_slack_allows_become_posts(bench: Bench) -> None:
    adapter = await bench.running()
    for number in range(25):
        await bench.slack.user_says(f"user{number}", f"go {number}", thread="t", user=f"user{number}")
        question = await bench.ear.heard(f"go {number}")
        posted = await adapter.post(question.address, growing("One", answers=question.platform_id), key="k")
        await adapter.edit(question.address, posted, final("One two"))

    assert methods(bench).count("chat.startStream") == AT_ONCE
    assert all(call.status == 200 for call in bench.slack.calls)
    assert [one.text for one in shown(bench)] == ["One two"] * 25


async def test_where_streams_are_refused_the_answer_is_posted(bench: Bench) -> None:
    adapter, place, question = await asked(bench)
    bench.slack.api.refused["chat.startStream"] = "channel_type_not_supported"
    for number in range(2):
        posted = await adapter.post(place, growing("One", answers=question), key=f"k{number}")
        await adapter.edit(place, posted, final("One two"))

    assert methods(bench).count("chat.startStream") == 1
    assert [one.text for one in shown(bench)] == ["One two", "One two"]


@given(st.text(alphabet="ab \n`", max_size=60), st.lists(st.integers(0, 60)))
def test_no_appended_piece_begins_with_white_space(text: str, ends: list[int]) -> None:
    sent = ""
    for end in sorted(ends):
        part = stable_part(text[:end])
        if part.startswith(sent) and part != sent:
            piece, sent = part[len(sent) :], part
            assert not sent or not piece[0].isspace() or piece == part
    assert text.startswith(sent)
    rest = text[len(sent) :]
    assert not sent or not rest or not rest[0].isspace()
