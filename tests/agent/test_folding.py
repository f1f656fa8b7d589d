"""What of a prompt is folded, and what is cut: order, pairs and the newest question stay."""

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.estimate import estimate_message, estimate_prompt
from bot.agent.folding import MIN_RESULT, clip, cut_middle, cut_results, split_for_folding
from bot.agent.history import estimate_tokens, sanitise
from bot.models.base import FunctionCall, PromptMessage, ToolCall


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
