"""What of a prompt is folded, and what is cut: order, pairs and the newest question stay."""

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.estimate import estimate_message, estimate_prompt
from bot.agent.folding import (
    MIN_RESULT,
    clip,
    cut_middle,
    cut_results,
    drop_older_pictures,
    split_for_folding,
)
from bot.agent.history import estimate_tokens, sanitise
from bot.models.base import FunctionCall, Picture, PromptMessage, ToolCall
from bot.models.pictures import NO_ROOM, show_results


def says(role: Literal["system", "user", "assistant"], content: str = "text") -> PromptMessage:
    return PromptMessage(role=role, content=content)


def calls(*ids: str, arguments: str = "{}") -> PromptMessage:
    made = tuple(ToolCall(id=id_, function=FunctionCall(name="f", arguments=arguments)) for id_ in ids)
    return PromptMessage(role="assistant", content="", tool_calls=made)


def result(id_: str, content: str = "ok") -> PromptMessage:
    return PromptMessage(role="tool", content=content, tool_call_id=id_)


def is_accepted(messages: Sequence[PromptMessage]) -> bool:
    """Whether the strictest server takes it: results stand right behind their call, and nowhere else."""
    awaited: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not awaited or message.tool_call_id != awaited.pop(0):
                return False
        elif awaited:
            return False
        else:
            awaited = [call.id for call in message.tool_calls]
    return not awaited


def is_within(part: Sequence[PromptMessage], whole: Sequence[PromptMessage]) -> bool:
    """Whether a part is in the whole, in its order."""
    rest = iter(whole)
    return all(any(message is other for other in rest) for message in part)


TEXTS = st.integers(0, 300).map(lambda length: "x" * length) | st.text(max_size=40)
IDS = st.sampled_from(["a", "b", "c"])
SAID = st.builds(says, st.sampled_from(["system", "user", "assistant"]), TEXTS)
CHOSEN = st.lists(IDS, min_size=1, max_size=3, unique=True)
STEPS = CHOSEN.flatmap(
    lambda chosen: st.tuples(
        st.just(calls(*chosen)), *(st.builds(result, st.just(id_), TEXTS) for id_ in chosen)
    )
)
BROKEN = st.lists(
    st.one_of(SAID, CHOSEN.map(lambda chosen: calls(*chosen)), st.builds(result, IDS, TEXTS)), max_size=16
)
SOUND = st.lists(SAID.map(lambda one: (one,)) | STEPS, max_size=10).map(
    lambda blocks: [message for block in blocks for message in block]
)


@given(messages=BROKEN | SOUND, keep=st.integers(-50, 400))
def test_nothing_is_lost_or_moved_and_all_parts_are_accepted(
    messages: list[PromptMessage], keep: int
) -> None:
    head, old, recent = split_for_folding(messages, keep)
    whole = sanitise(messages)

    assert len(head) + len(old) + len(recent) == len(whole)
    assert is_within((*head, *old), whole)
    assert is_within((*head, *recent), whole)
    assert is_accepted(old)
    assert is_accepted((*head, says("user"), *recent))
    assert {message.role for message in head} <= {"system"}


@given(messages=SOUND, keep=st.integers(-50, 400))
def test_what_stays_fits_or_is_what_can_not_be_left_out(messages: list[PromptMessage], keep: int) -> None:
    _, _, recent = split_for_folding(messages, keep)
    _, _, needed = split_for_folding(messages, -1)

    assert is_within(needed, recent)
    assert estimate_prompt(recent) <= keep or recent == needed


@given(messages=SOUND)
def test_the_newest_question_always_stays(messages: list[PromptMessage]) -> None:
    _, _, recent = split_for_folding(messages, 0)
    questions = [message for message in messages if message.role == "user"]

    assert not questions or any(message is questions[-1] for message in recent)


@given(messages=SOUND)
def test_all_stays_where_all_fits(messages: list[PromptMessage]) -> None:
    head, old, recent = split_for_folding(messages, 10_000)

    assert old == ()
    assert [*head, *recent] == messages


def test_the_question_stays_with_its_facts_when_the_steps_behind_it_are_folded() -> None:
    system, facts, question = says("system"), says("system", "the time"), says("user", "what is it?")
    first = (calls("a"), result("a", "x" * 900))
    last = (calls("b"), result("b", "y" * 40))
    messages = [system, says("user"), says("assistant"), facts, question, *first, *last]
    head, old, recent = split_for_folding(messages, 100)

    assert head == (system,)
    assert old == (says("user"), says("assistant"), *first)
    assert recent == (facts, question, *last)


def test_calls_that_the_model_has_not_answered_stay_behind_a_newer_message() -> None:
    step = (calls("a"), result("a", "x" * 900))
    messages = [says("user", "go"), *step, says("user", "hurry")]
    _, old, recent = split_for_folding(messages, 10)

    assert old == (says("user", "go"),)
    assert recent == (*step, says("user", "hurry"))


def test_calls_that_were_answered_are_folded_together_with_their_results() -> None:
    step = (calls("a", "b"), result("a", "x" * 900), result("b"))
    messages = [says("user"), *step, says("assistant", "done"), says("user", "and?")]
    _, old, recent = split_for_folding(messages, 30)

    assert old == (says("user"), *step)
    assert recent == (says("assistant", "done"), says("user", "and?"))


@given(messages=SOUND, most=st.integers(0, 600))
def test_cutting_touches_nothing_but_long_results(messages: list[PromptMessage], most: int) -> None:
    cut = cut_results(messages, most)

    assert [(part.role, part.tool_call_id, part.tool_calls) for part in cut] == [
        (part.role, part.tool_call_id, part.tool_calls) for part in messages
    ]
    for before, after in zip(messages, cut, strict=True):
        assert after == before or (before.role == "tool" and estimate_message(before) > MIN_RESULT)
        assert estimate_message(after) <= estimate_message(before)
    can_shrink = any(part.role == "tool" and estimate_message(part) > MIN_RESULT for part in cut)
    assert estimate_prompt(cut) <= most or not can_shrink


def test_a_giant_result_is_cut_and_a_small_one_beside_it_is_not() -> None:
    messages = (says("user"), calls("a", "b"), result("a", "x" * 100_000), result("b", "small"))
    cut = cut_results(messages, 500)

    assert 450 < estimate_prompt(cut) <= 500
    assert cut[3].content == "small"


def test_a_cut_text_keeps_its_beginning_and_its_end_and_says_what_is_missing() -> None:
    text = "begin " + "z" * 10_000 + " end"
    cut = cut_middle(text, 100)

    assert cut.startswith("begin ")
    assert cut.endswith(" end")
    assert f"[… {10_000 - cut.count('z'):,} characters left out …]" in cut


@given(
    text=st.text(max_size=2_000) | st.integers(0, 3_000).map(lambda length: "漢" * length),
    most=st.integers(20, 300),
)
def test_a_cut_text_fits(text: str, most: int) -> None:
    begin = clip(text, most)

    assert estimate_tokens(cut_middle(text, most)) <= most
    assert estimate_tokens(begin) <= most
    assert text.startswith(begin)


@pytest.mark.parametrize("most", [-3, 0, 1])
def test_a_piece_is_never_empty(most: int) -> None:
    assert clip("hello", most).startswith("h")


PICTURE = Picture(mime="image/png", data=b"", width=1024, height=1024)  # 765 tokens


def shows(content: str, count: int = 1) -> PromptMessage:
    return PromptMessage(role="user", content=content, pictures=(PICTURE,) * count)


def of_tool(count: int = 1) -> PromptMessage:
    shown = show_results([("read", (PICTURE,) * count)])
    assert shown is not None
    return shown


def pictures_of(messages: Sequence[PromptMessage]) -> list[int]:
    return [len(message.pictures) for message in messages]


def test_the_oldest_pictures_go_first_and_only_as_many_as_must() -> None:
    messages = (shows("a"), says("assistant"), shows("b"), shows("c"))

    assert pictures_of(drop_older_pictures(messages, 10_000)) == [1, 0, 1, 1]
    lighter = drop_older_pictures(messages, 1_700)
    assert pictures_of(lighter) == [0, 0, 1, 1]
    assert lighter[0].content == f"a\n[picture left out: {NO_ROOM}]"
    assert pictures_of(drop_older_pictures(messages, 10)) == [0, 0, 0, 1]


def test_results_are_cut_only_when_the_older_pictures_are_gone() -> None:
    messages = (shows("a"), calls("c"), result("c", "x" * 4_000), shows("b"))

    assert cut_results(messages, 2_000)[2] == messages[2]
    cut = cut_results(messages, 1_200)
    assert pictures_of(cut) == [0, 0, 0, 1]
    assert "left out" in cut[2].content
    assert estimate_prompt(cut) <= 1_200
    assert pictures_of(cut_results(messages, 300)) == [0, 0, 0, 0], "at last, the newest as well"


@given(counts=st.lists(st.integers(0, 3), max_size=8), most=st.integers(0, 6_000))
def test_without_older_pictures_a_prompt_fits_or_has_nothing_left_to_drop(
    counts: list[int], most: int
) -> None:
    messages = [shows(f"{number}", count) for number, count in enumerate(counts)]
    lighter = drop_older_pictures(messages, most)
    left = pictures_of(lighter)

    first = next((index for index, count in enumerate(left) if count), len(left))
    assert left[first:] == counts[first:]
    assert estimate_prompt(lighter) <= most or sum(map(bool, left)) <= 1


def test_pictures_of_results_stay_with_them_and_are_nobody_s_question() -> None:
    question, step = says("user", "what is it?"), (calls("a"), result("a"), of_tool())
    messages = [says("user"), says("assistant", "x" * 900), question, *step]
    _, old, recent = split_for_folding(messages, 0)

    assert old == (says("user"), says("assistant", "x" * 900))
    assert recent == (question, *step)


def test_a_picture_message_whose_results_are_gone_stands_for_itself() -> None:
    head, old, recent = split_for_folding([of_tool(), says("user", "go")], 10_000)

    assert (head, old, recent) == ((), (), (of_tool(), says("user", "go")))
