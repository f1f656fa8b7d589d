"""What a person gets to see of a model's answer, of new tries and of failures, whichever backend is asked."""

import asyncio

import pytest
from msgspec.structs import replace

from bot.backends.base import (
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoOversight,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    ToolUseEvent,
)
from bot.backends.steps import MIN_OUTPUT, TOO_LONG
from bot.models.base import FunctionCall, ModelRequest, PromptMessage, ToolCall
from tests.backends.conformance.rig import PlayedTools, Stage, joined, shown, turn_of
from tests.simulators.model import Call, Reply, call, fail, say

BROKEN = Reply(tokens=("wro",), cut_after=1)


async def test_an_answer_comes_with_thoughts_usage_and_one_end(stage: Stage) -> None:
    events = await stage.run(Reply(reasoning=("hm",), tokens=("a", "b")))

    assert joined(events) == [
        ThinkingEvent(content="hm"),
        MessageEvent(content="ab"),
        TokenUsageEvent(model="sim-1", prompt=11, completion=7, cached=5),
        DoneEvent(reason="stop"),
    ]


async def test_the_first_words_come_before_the_last_are_there(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.server.script(Reply(tokens=("a", "b"), gate=gate))

    events = []
    async with asyncio.timeout(10):
        async for event in stage.backend().run(turn_of(tools=PlayedTools())):
            events.append(event)
            gate.set()

    assert events[:2] == [MessageEvent(content="a"), MessageEvent(content="b")]


async def test_a_refusal_is_shown_as_the_answer(stage: Stage) -> None:
    events = await stage.run(Reply(refusal="I won't.", has_usage=False))

    assert events == [MessageEvent(content="I won't."), DoneEvent()]


async def test_earlier_turns_are_sent_as_they_were(stage: Stage) -> None:
    made = ToolCall(id="c1", function=FunctionCall(name="a", arguments='{"n":1}'))
    history = (
        PromptMessage(role="system", content="Be brief."),
        PromptMessage(role="user", content="one"),
        PromptMessage(role="assistant", content="", tool_calls=(made,)),
        PromptMessage(role="tool", content="did a", tool_call_id="c1"),
        PromptMessage(role="assistant", content="two"),
        PromptMessage(role="user", content="three"),
    )
    await stage.run(say("four"), messages=history)

    sent = stage.bodies[0]["messages"]
    assert [(part["role"], part["content"]) for part in sent] == [(m.role, m.content) for m in history]
    assert sent[2]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"n":1}'}}
    ]
    assert sent[3]["tool_call_id"] == "c1"


async def test_a_new_try_replaces_what_the_failed_one_had_shown(stage: Stage) -> None:
    events = await stage.run(BROKEN, Reply(tokens=("ri", "ght")))

    first, retry, *rest = events
    assert first == MessageEvent(content="wro")
    assert isinstance(retry, RetryEvent)
    assert replace(retry, wait=0.0, cause="") == RetryEvent(model="sim-1", attempt=2, wait=0.0, cause="")
    assert "broke" in retry.cause
    assert joined(rest)[0] == MessageEvent(content="right", replaces=True)


async def test_a_new_try_keeps_the_text_of_earlier_steps(stage: Stage) -> None:
    first = Reply(tokens=("First.",), calls=(Call(name="a", id="c1"),))

    assert shown(await stage.run(first, BROKEN, say("Second."))) == "First.\n\nSecond."


async def test_a_new_try_without_text_takes_the_void_text_away(stage: Stage) -> None:
    events = await stage.run(BROKEN, call("a"), say("Right."))

    assert MessageEvent(content="", replaces=True) in events
    assert [event.call.function.name for event in events if isinstance(event, ToolUseEvent)] == ["a"]
    assert shown(events) == "Right."


async def test_another_model_is_asked_where_the_first_will_not_do(stage: Stage) -> None:
    events = await stage.run(fail(404), say("from the other"), backend=stage.backend(fallbacks=("other",)))

    assert shown(events) == "from the other"
    assert [body["model"] for body in stage.bodies] == ["sim-1", "other"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fail(503), "has a problem (HTTP 503). Please try again"),
        (fail(401), "check BOT_OPENAI__API_KEY"),
        (Reply(tokens=("par",), error={"message": "overloaded"}, error_after=1), "Please try again"),
    ],
)
async def test_a_failure_is_the_last_event_in_words_for_people(
    stage: Stage, reply: Reply, words: str
) -> None:
    events = await stage.run(reply, backend=stage.backend(retries=0))

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert words in last.content
    assert not last.is_overflow
    assert sum(isinstance(event, ErrorEvent | DoneEvent) for event in events) == 1


async def test_what_was_shown_before_a_failure_stays(stage: Stage) -> None:
    events = await stage.run(BROKEN, backend=stage.backend(retries=0))

    assert shown(events) == "wro"
    assert isinstance(events[-1], ErrorEvent)


async def test_a_prompt_that_cannot_be_made_to_fit_is_told_as_such(stage: Stage) -> None:
    events = await stage.run(fail(400, code="context_length_exceeded"))

    assert events == [ErrorEvent(content=TOO_LONG, is_overflow=True)]


async def test_a_bug_is_not_hidden(stage: Stage) -> None:
    class Faulty(NoOversight):
        async def look(self, request: ModelRequest, step: int) -> ModelRequest:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stage.run(say("never"), oversight=Faulty())


@pytest.mark.parametrize(("reason", "words"), [("length", "MAX_OUTPUT"), ("content_filter", "filter")])
async def test_an_empty_answer_says_why(stage: Stage, reason: str, words: str) -> None:
    (event,) = await stage.run(Reply(finish=reason, has_usage=False))

    assert isinstance(event, ErrorEvent)
    assert words in event.content


@pytest.mark.parametrize(("tokens", "room"), [(0, 500), (9_800, 200), (20_000, MIN_OUTPUT)])
async def test_the_answer_gets_what_the_window_leaves(stage: Stage, tokens: int, room: int) -> None:
    await stage.run(say("a"), tokens=tokens)

    assert stage.bodies[0]["max_completion_tokens"] == room


async def test_a_turn_can_ask_for_a_short_answer(stage: Stage) -> None:
    await stage.run(say("a"), max_output=100)

    assert stage.bodies[0]["max_completion_tokens"] == 100


async def test_later_steps_count_what_the_server_counted(stage: Stage) -> None:
    await stage.run(call("a"), say("a"), tokens=9_900)

    assert [body["max_completion_tokens"] for body in stage.bodies] == [100, 500]


async def test_a_turn_without_a_deadline_gets_one(stage: Stage) -> None:
    class Watching(NoOversight):
        deadline: float | None = None

        async def look(self, request: ModelRequest, step: int) -> ModelRequest:
            self.deadline = request.deadline
            return request

    watching = Watching()
    await stage.run(say("a"), backend=stage.backend(clock=lambda: 100.0), oversight=watching)

    assert watching.deadline == 700.0


async def test_many_turns_at_once_do_not_mix(stage: Stage) -> None:
    backend = stage.backend()
    turns = [(PromptMessage(role="user", content=f"turn {number}"),) for number in range(20)]

    answers = await asyncio.gather(*(stage.run(backend=backend, messages=messages) for messages in turns))

    assert [shown(events) for events in answers] == [f"echo: turn {number}" for number in range(20)]


async def test_all_that_a_rich_turn_tells_is_the_same_for_every_backend(stage: Stage) -> None:
    both = (Call(name="a", id="c1"), Call(name="b", arguments='{"n": 1}', id="c2"))
    events = await stage.run(
        Reply(reasoning=("hm",), tokens=("Let me", " see."), calls=both, finish="tool_calls"),
        BROKEN,
        say("All is well."),
    )

    usage = TokenUsageEvent(model="sim-1", prompt=11, completion=7, cached=5)
    first = ToolCall(id="c1", function=FunctionCall(name="a", arguments="{}"))
    second = ToolCall(id="c2", function=FunctionCall(name="b", arguments='{"n": 1}'))
    assert [
        replace(event, wait=0.0, cause="") if isinstance(event, RetryEvent) else event
        for event in joined(events)
    ] == [
        ThinkingEvent(content="hm"),
        MessageEvent(content="Let me see."),
        usage,
        ToolUseEvent(call=first),
        ToolUseEvent(call=second),
        ToolResultEvent(call=first, content="did a"),
        ToolResultEvent(call=second, content="did b"),
        MessageEvent(content="\n\nwro"),
        RetryEvent(model="sim-1", attempt=2, wait=0.0, cause=""),
        MessageEvent(content="Let me see.\n\nAll is well.", replaces=True),
        usage,
        DoneEvent(reason="stop"),
    ]
