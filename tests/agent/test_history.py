"""Which part of a history goes into a prompt, and in what shape."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.history import estimate_tokens, has_several_speakers, sanitise, select, to_prompt
from bot.messages import MessageId, RunId, StoredMessage
from bot.models.base import FunctionCall, PromptMessage, ToolCall

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def line(number: int, text: str = "text", *, id_: str | None = None, speaker: str = "Ann") -> StoredMessage:
    return StoredMessage(
        number=number,
        id=MessageId(id_ or f"m{number}"),
        run=RunId(f"r{number}"),
        role="user" if number % 2 else "assistant",
        speaker=speaker if number % 2 else "Bot",
        text=text,
        at=AT,
    )


def calls(*ids: str) -> PromptMessage:
    return PromptMessage(
        role="assistant",
        content="",
        tool_calls=tuple(ToolCall(id=id_, function=FunctionCall(name="f", arguments="{}")) for id_ in ids),
    )


def result(id_: str, content: str = "ok") -> PromptMessage:
    return PromptMessage(role="tool", content=content, tool_call_id=id_)


USER = PromptMessage(role="user", content="hello")
ids = st.sampled_from(["a", "b", "c"])
messages = st.lists(
    st.one_of(
        st.just(USER),
        st.just(PromptMessage(role="assistant", content="answer")),
        st.lists(ids, min_size=1, max_size=3, unique=True).map(lambda chosen: calls(*chosen)),
        st.builds(result, ids, st.text(max_size=2)),
    ),
    max_size=15,
)


@given(
    lines=st.lists(st.builds(line, st.integers(1, 30), st.text(max_size=60)), max_size=30),
    top_k=st.integers(0, 15),
    max_tokens=st.integers(0, 100),
)
def test_a_choice_is_never_longer_than_allowed_and_always_the_newest(
    lines: list[StoredMessage], top_k: int, max_tokens: int
) -> None:
    chosen, tokens = select(lines, top_k=top_k, max_tokens=max_tokens)

    assert len(chosen) <= top_k
    assert sum(estimate_tokens(kept.text) for kept in chosen) == tokens <= max_tokens
    assert len({kept.id for kept in chosen}) == len(chosen)
    newest = list({kept.id: None for kept in reversed(lines)})
    assert [kept.id for kept in reversed(chosen)] == newest[: len(chosen)]


def test_all_lines_are_chosen_when_they_fit() -> None:
    lines = [line(number) for number in range(1, 6)]

    assert select(lines, top_k=5, max_tokens=1000)[0] == lines


def test_of_two_lines_with_one_id_the_newer_is_chosen() -> None:
    lines = [line(1, "old", id_="x"), line(2), line(3, "new", id_="x")]

    assert [kept.text for kept in select(lines, top_k=9, max_tokens=1000)[0]] == ["text", "new"]


@given(messages=messages)
def test_every_result_stands_right_behind_its_call_and_every_call_has_its_results(
    messages: list[PromptMessage],
) -> None:
    kept = sanitise(messages)

    awaited: list[str] = []
    for message in kept:
        if message.role == "tool":
            assert message.tool_call_id == awaited.pop(0)
        else:
            assert awaited == []
            awaited = [call.id for call in message.tool_calls]
    assert awaited == []


@given(messages=messages)
def test_sanitising_loses_nothing_but_tool_calls_and_results(messages: list[PromptMessage]) -> None:
    def plain(parts: list[PromptMessage]) -> list[PromptMessage]:
        return [part for part in parts if part.role != "tool" and not part.tool_calls]

    assert plain(sanitise(messages)) == plain(messages)


@given(messages=messages)
def test_sanitising_again_changes_nothing(messages: list[PromptMessage]) -> None:
    once = sanitise(messages)

    assert sanitise(once) == once


def test_a_result_whose_call_is_gone_is_dropped() -> None:
    assert sanitise([result("a"), USER]) == [USER]


def test_a_call_that_lacks_a_result_goes_with_those_it_has() -> None:
    assert sanitise([USER, calls("a", "b"), result("a")]) == [USER]


def test_results_are_moved_behind_their_call_in_its_order() -> None:
    first, second = result("a"), result("b")

    assert sanitise([calls("a", "b"), USER, second, first]) == [calls("a", "b"), first, second, USER]


def test_calls_that_share_an_id_keep_each_its_own_result() -> None:
    history = [calls("call_0"), result("call_0", "first"), calls("call_0"), result("call_0", "second")]

    assert sanitise(history) == history


def test_a_second_result_of_a_call_is_dropped() -> None:
    assert sanitise([calls("a"), result("a", "1"), result("a", "2")]) == [calls("a"), result("a", "1")]


def test_lines_are_labelled_where_several_people_speak() -> None:
    (shown,) = to_prompt([line(1, "hi", speaker="Bo")], is_labelled=True)

    assert shown == PromptMessage(role="user", content="[2026-03-04 05:06] Bo: hi")


def test_the_bots_own_lines_are_never_labelled() -> None:
    assert to_prompt([line(2, "hi")], is_labelled=True) == [PromptMessage(role="assistant", content="hi")]


def test_the_bot_does_not_count_as_another_speaker() -> None:
    assert not has_several_speakers([line(1), line(2)], "Ann")
    assert has_several_speakers([line(1), line(2)], "Bo")


@given(text=st.text(), more=st.text())
def test_a_longer_text_is_never_guessed_to_be_shorter(text: str, more: str) -> None:
    assert estimate_tokens(text) >= 1
    assert estimate_tokens(text + more) + 1 >= estimate_tokens(text)


def test_other_scripts_are_guessed_at_about_a_token_a_character() -> None:
    assert estimate_tokens("a" * 400) == 101
    assert 80 <= estimate_tokens("漢" * 100) <= 100
