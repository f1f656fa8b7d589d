"""The built-in backend: steps, tools, new tries and ends, with a model that plays a script."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    Tools,
    ToolUseEvent,
    TurnInput,
)
from bot.backends.native import MIN_OUTPUT, TOO_LONG, NativeBackend
from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.messages import RunId, SessionKey
from bot.models.base import (
    CompleteToolCall,
    Finish,
    FunctionCall,
    ModelEvent,
    ModelProfile,
    ModelRequest,
    PromptMessage,
    ReasoningDelta,
    RefusalDelta,
    Restart,
    TextDelta,
    ToolCall,
    ToolSchema,
    Usage,
)

Play = tuple[ModelEvent | Exception, ...]
STOP = Finish(reason="stop")
AGAIN = Restart(model="m", attempt=2, wait=0.5, cause="busy")


def text(words: str) -> TextDelta:
    return TextDelta(text=words)


def wants(name: str, id: str = "c1", arguments: str = "{}") -> CompleteToolCall:
    return CompleteToolCall(call=ToolCall(id=id, function=FunctionCall(name=name, arguments=arguments)))


class ScriptedModel:
    """Plays one entry a call; the last one again and again."""

    def __init__(self, *plays: Play, window: int = 10_000) -> None:
        self.plays = list(plays)
        self.requests: list[ModelRequest] = []
        self.is_closed = False
        self.profile = ModelProfile(window=window, max_output=500)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        for item in self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]:
            if isinstance(item, Exception):
                raise item
            yield item

    async def aclose(self) -> None:
        self.is_closed = True


class MeetingTools:
    """Tools that each wait until so many run at once, and then answer with their name."""

    def __init__(self, parties: int) -> None:
        self._barrier = asyncio.Barrier(parties)
        self.schemas = (ToolSchema(name="a", description="", parameters=b"{}"),)

    async def call(self, call: ToolCall) -> ToolResultEvent:
        await self._barrier.wait()
        return ToolResultEvent(call=call, content=f"did {call.function.name}")

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        return list(await asyncio.gather(*map(self.call, calls)))


async def run(
    model: ScriptedModel, tools: Tools | None = None, *, max_steps: int = 50, tokens: int = 5
) -> list[AgentEvent]:
    backend = NativeBackend(model, model="m", max_steps=max_steps, clock=lambda: 100.0)
    turn = TurnInput(
        session=SessionKey("s"),
        run=RunId("r"),
        messages=(PromptMessage(role="user", content="hi"),),
        prompt_tokens=tokens,
        tools=tools or NoTools(),
    )
    return [event async for event in backend.run(turn)]


def shown(events: list[AgentEvent]) -> str:
    """What stands on the screen at the end."""
    text = ""
    for event in events:
        if isinstance(event, MessageEvent):
            text = event.content if event.replaces else text + event.content
    return text


async def test_an_answer_is_passed_on_piece_by_piece() -> None:
    usage = Usage(model="m", prompt=3, completion=2, cached=1)
    events = await run(ScriptedModel((ReasoningDelta(text="hm"), text("a"), text("b"), usage, STOP)))

    assert events == [
        ThinkingEvent(content="hm"),
        MessageEvent(content="a"),
        MessageEvent(content="b"),
        TokenUsageEvent(model="m", prompt=3, completion=2, cached=1),
        DoneEvent(reason="stop"),
    ]


async def test_a_refusal_is_shown_as_the_answer() -> None:
    assert await run(ScriptedModel((RefusalDelta(text="I won't."), STOP))) == [
        MessageEvent(content="I won't."),
        DoneEvent(),
    ]


async def test_tools_of_a_step_run_together_and_answer_in_order() -> None:
    first = wants("a", "c1"), wants("b", "c2", '{"cut')
    model = ScriptedModel((text("Let me see."), *first, Finish(reason="tool_calls")), (text("Done."), STOP))
    events = await run(model, MeetingTools(2))

    assert [type(event) for event in events] == [
        MessageEvent,
        ToolUseEvent,
        ToolUseEvent,
        ToolResultEvent,
        ToolResultEvent,
        MessageEvent,
        DoneEvent,
    ]
    assert [event.content for event in events if isinstance(event, ToolResultEvent)] == ["did a", "did b"]
    assert shown(events) == "Let me see.\n\nDone."
    sound = ToolCall(id="c2", function=FunctionCall(name="b", arguments="{}"))
    assert model.requests[1].messages[1:] == (
        PromptMessage(role="assistant", content="Let me see.", tool_calls=(first[0].call, sound)),
        PromptMessage(role="tool", content="did a", tool_call_id="c1"),
        PromptMessage(role="tool", content="did b", tool_call_id="c2"),
    )


async def test_ids_that_come_again_in_a_later_step_are_made_unique() -> None:
    model = ScriptedModel((wants("a", "0"), STOP), (wants("a", "0"), STOP), (text("ok"), STOP))
    events = await run(model, MeetingTools(1))

    ids = [event.call.id for event in events if isinstance(event, ToolUseEvent)]
    assert ids[0] == "0"
    assert len(set(ids)) == 2


async def test_a_new_try_replaces_what_the_failed_one_had_shown() -> None:
    events = await run(ScriptedModel((text("wro"), AGAIN, text("ri"), text("ght"), STOP)))

    assert events[1] == RetryEvent(model="m", attempt=2, wait=0.5, cause="busy")
    assert events[2] == MessageEvent(content="ri", replaces=True)
    assert shown(events) == "right"


async def test_a_new_try_keeps_the_text_of_earlier_steps() -> None:
    model = ScriptedModel((text("First."), wants("a"), STOP), (text("wro"), AGAIN, text("Second."), STOP))

    assert shown(await run(model, MeetingTools(1))) == "First.\n\nSecond."


async def test_a_new_try_without_text_takes_the_void_text_away() -> None:
    model = ScriptedModel((text("wro"), wants("x"), AGAIN, wants("a"), STOP), (text("Right."), STOP))
    events = await run(model, MeetingTools(1))

    assert MessageEvent(content="", replaces=True) in events
    assert [event.call.function.name for event in events if isinstance(event, ToolUseEvent)] == ["a"]
    assert shown(events) == "Right."


async def test_the_loop_ends_after_its_steps() -> None:
    model = ScriptedModel((wants("a"), STOP))
    events = await run(model, max_steps=3)

    assert len(model.requests) == 3
    assert isinstance(events[-1], ErrorEvent)
    assert "3 steps" in events[-1].content


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelUnavailable("The model server is busy."), "is busy. Please try again"),
        (ModelError("check BOT_OPENAI__API_KEY"), "check BOT_OPENAI__API_KEY"),
        (ContextOverflow("8,000 tokens"), TOO_LONG),
    ],
)
async def test_a_failure_is_the_last_event(error: ModelError, words: str) -> None:
    events = await run(ScriptedModel((text("par"), error)))

    assert events[0] == MessageEvent(content="par")
    assert isinstance(events[-1], ErrorEvent)
    assert words in events[-1].content


async def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await run(ScriptedModel((ZeroDivisionError(),)))


async def test_an_empty_answer_counts_the_tools_that_failed() -> None:
    model = ScriptedModel((wants("a", "1"), wants("b", "2"), STOP), (text(" \n"), STOP))
    events = await run(model)

    assert isinstance(events[-1], ErrorEvent)
    assert "2 of 2 tool calls failed" in events[-1].content


@pytest.mark.parametrize(("reason", "words"), [("length", "MAX_OUTPUT"), ("content_filter", "filter")])
async def test_an_empty_answer_says_why(reason: str, words: str) -> None:
    (event,) = await run(ScriptedModel((Finish(reason=reason),)))

    assert isinstance(event, ErrorEvent)
    assert words in event.content


async def test_the_answer_gets_what_the_window_leaves() -> None:
    for tokens, room in ((0, 500), (9_800, 200), (20_000, MIN_OUTPUT)):
        model = ScriptedModel((text("a"), STOP))
        await run(model, tokens=tokens)
        assert model.requests[0].max_completion_tokens == room


async def test_later_steps_count_what_the_server_counted() -> None:
    usage = Usage(model="m", prompt=9_700, completion=100)
    model = ScriptedModel((usage, wants("a"), STOP), (text("a"), STOP))
    await run(model, MeetingTools(1))

    assert MIN_OUTPUT < model.requests[1].max_completion_tokens < 200


async def test_a_turn_without_a_deadline_gets_one() -> None:
    model = ScriptedModel((text("a"), STOP))
    await run(model)

    assert model.requests[0].deadline == 700.0


async def test_closing_and_warming_reach_the_client() -> None:
    model = ScriptedModel((text("a"), STOP))
    backend = NativeBackend(model, model="m")
    await backend.warm(())
    await backend.aclose()

    assert model.is_closed
    assert backend.profile is model.profile


def test_a_loop_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="max_steps"):
        NativeBackend(ScriptedModel((STOP,)), model="m", max_steps=0)


STEPS = st.lists(
    st.lists(st.lists(st.sampled_from(["a", "bc", "d "]), max_size=3), min_size=1, max_size=3), max_size=4
)


@given(steps=STEPS)
def test_whatever_fails_on_the_way_the_screen_shows_the_good_tries_once(steps: list[list[list[str]]]) -> None:
    plays: list[Play] = []
    for number, tries in enumerate(steps):
        *failed, good = [[text(word) for word in words] for words in tries]
        void: list[ModelEvent] = []
        for words in failed:
            void += [*words, AGAIN]
        plays.append((*void, *good, wants("a", f"c{number}"), STOP))
    events = asyncio.run(run(ScriptedModel(*plays, (text("End."), STOP))))

    paragraphs = ["".join(tries[-1]) for tries in steps if tries[-1]]
    assert shown(events) == "\n\n".join([*paragraphs, "End."])
    assert events[-1] == DoneEvent()
