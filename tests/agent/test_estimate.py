"""What a prompt is guessed to take, and how the guess is corrected by what servers count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.estimate import (
    FRAME_TOKENS,
    MAX_MODELS,
    Breakdown,
    Calibration,
    Meter,
    estimate_message,
    estimate_picture,
    estimate_prompt,
    estimate_schema,
)
from bot.agent.history import estimate_tokens
from bot.models.base import FunctionCall, Picture, PromptMessage, ToolCall, ToolSchema

TOOL = ToolSchema(name="search", description="Find pages.", parameters=b'{"type":"object"}')
LONG = PromptMessage(role="user", content="a" * 4_000)


class CountedText(str):
    """A text that notes how often it is looked at."""

    looks = 0

    def isascii(self) -> bool:
        self.looks += 1
        return super().isascii()


def test_tool_calls_count_with_their_names_and_arguments() -> None:
    call = ToolCall(id="a", function=FunctionCall(name="search", arguments="x" * 400))
    message = PromptMessage(role="assistant", content="", tool_calls=(call, call))

    assert estimate_message(message) > 2 * estimate_tokens("x" * 400)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1024, 1024, 765), (2048, 4096, 1105), (100, 100, 255), (100_000, 1, 765), (0, 0, 765), (-5, 9, 765)],
)
def test_pictures_count_by_their_size(width: int, height: int, tokens: int) -> None:
    assert estimate_picture(width, height) == tokens


def test_a_message_counts_its_pictures() -> None:
    pictures = tuple(Picture(mime="image/png", data=b"", width=width, height=100) for width in (0, 100))
    bare = PromptMessage(role="user", content="look")
    message = PromptMessage(role="user", content="look", pictures=pictures)

    assert estimate_message(message) == estimate_message(bare) + 765 + 255


def test_a_prompt_is_broken_down_by_who_said_what() -> None:
    call = ToolCall(id="a", function=FunctionCall(name="f", arguments="{}"))
    messages = (
        PromptMessage(role="system", content="s" * 40),
        PromptMessage(role="user", content="u" * 80),
        PromptMessage(role="assistant", content="", tool_calls=(call,)),
        PromptMessage(role="tool", content="t" * 160, tool_call_id="a"),
    )
    found = Meter().measure(messages, (TOOL,), window=1_000)

    assert (found.system, found.user, found.tool_results) == (11 + 4, 21 + 4, 41 + 4)
    assert found.assistant == estimate_message(messages[2])
    assert found.tools == estimate_schema(TOOL) > FRAME_TOKENS
    assert found.total == estimate_prompt(messages) + found.tools
    assert found.share == found.total / 1_000


@pytest.mark.parametrize(
    ("tokens", "level"), [(79, "ok"), (80, "warning"), (94, "warning"), (95, "danger"), (120, "danger")]
)
def test_a_window_that_fills_is_a_warning_and_then_a_danger(tokens: int, level: str) -> None:
    assert Breakdown(window=100, user=tokens).level == level


def test_what_the_model_counts_more_is_shown_as_more() -> None:
    found = Meter().measure((LONG,), window=9_000, factor=1.5)

    assert found.user == round(1.5 * estimate_message(LONG))


def test_a_growing_prompt_is_measured_once_a_message() -> None:
    text, meter = CountedText("hello"), Meter()
    messages: tuple[PromptMessage, ...] = (PromptMessage(role="user", content=text),)
    for _ in range(10):
        meter.measure(messages, window=100)
        messages = (*messages, PromptMessage(role="assistant", content="more"))

    assert text.looks == 1


@given(lengths=st.lists(st.lists(st.integers(0, 500), max_size=6), max_size=8))
def test_measuring_again_never_gives_what_another_prompt_took(lengths: list[list[int]]) -> None:
    meter = Meter()
    for prompt in lengths:  # the objects of the last one are gone, and their identities free
        messages = tuple(PromptMessage(role="user", content="x" * length) for length in prompt)

        assert meter.measure(messages, window=100).user == estimate_prompt(messages)


@given(ratio=st.floats(0.7, 1.42), tokens=st.integers(1_000, 200_000))
def test_a_prompt_within_the_budget_fits_though_nothing_is_known_of_the_model(
    ratio: float, tokens: int
) -> None:
    assert Calibration().budget("m", tokens) * ratio <= tokens


@given(
    ratio=st.floats(0.5, 2.0),
    tokens=st.integers(1_000, 200_000),
    samples=st.integers(1, 5),
    drift=st.floats(1.0, 1.1),
)
def test_a_prompt_within_the_budget_fits_once_the_model_is_known(
    ratio: float, tokens: int, samples: int, drift: float
) -> None:
    calibration = Calibration()
    for _ in range(samples):
        calibration.note("m", 10_000, int(10_000 * ratio))

    assert calibration.budget("m", tokens) * ratio * drift <= tokens


def test_the_factor_rises_fast_and_falls_slowly() -> None:
    calibration = Calibration()
    calibration.note("m", 1_000, 1_400)
    risen = calibration.factor("m")
    calibration.note("m", 1_000, 600)

    assert risen == pytest.approx(1.4)
    assert 1.2 < calibration.factor("m") < risen
    assert calibration.factor("other") == 1.0


@given(counts=st.lists(st.tuples(st.integers(-5, 10**6), st.integers(-5, 10**9)), max_size=20))
def test_no_count_makes_the_factor_absurd(counts: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in counts:
        calibration.note("m", estimated, reported)

    assert 0.5 <= calibration.factor("m") <= 2.0


def test_short_prompts_and_counts_without_what_was_cached_teach_nothing() -> None:
    calibration = Calibration()
    calibration.note("m", 5_000, 300)
    calibration.note("m", 20, 60)
    calibration.note("m", 5_000, 0)

    assert calibration.factor("m") == 1.0
    assert calibration.budget("m", 1_000) == calibration.budget("m", 1_000, least=0.1) == 700


def test_a_refused_prompt_leaves_less_room_for_the_next() -> None:
    calibration = Calibration()
    calibration.note("m", 600, 1_000)

    assert calibration.budget("m", 1_000) <= 600 * 0.85


def test_what_the_server_counts_of_a_prompt_goes_before_what_is_known_of_its_model() -> None:
    assert Calibration().budget("m", 1_000, least=1.7) == 500
    assert Calibration().budget("m", 1_000, least=0.5) == 850


def test_only_so_many_models_are_remembered() -> None:
    calibration = Calibration()
    for number in range(MAX_MODELS + 1):
        calibration.note(f"m{number}", 1_000, 1_500)

    assert calibration.factor("m0") == 1.0
    assert calibration.factor("m1") == calibration.factor(f"m{MAX_MODELS}") == 1.5
