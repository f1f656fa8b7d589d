"""Who has a say in a turn while it runs: the person, what looks at model calls, what makes prompts fit."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bot.backends.base import ErrorEvent, NoOversight, NoShortening, ToolResultEvent
from bot.errors import ContextOverflow, ModelError
from bot.models.base import ModelRequest, PromptMessage, ToolCall
from tests.backends.conformance.rig import PlayedTools, Remarks, Stage, contents, shown
from tests.simulators.model import Call, Reply, call, fail, say

TOO_LONG = fail(400, code="context_length_exceeded")


async def test_what_people_add_stands_behind_the_results_of_the_step(stage: Stage) -> None:
    remarks = Remarks()

    class Overtaken(PlayedTools):
        async def call(self, call: ToolCall) -> ToolResultEvent:
            remarks.remarks.append("in blue, please")
            return await super().call(call)

    await stage.run(call("a"), say("ok"), tools=Overtaken(), steering=remarks)

    assert [(part["role"], part["content"]) for part in stage.bodies[1]["messages"][-2:]] == [
        ("tool", "did a"),
        ("user", "in blue, please"),
    ]


async def test_calls_that_have_not_begun_are_skipped_for_somebody_who_waits(stage: Stage) -> None:
    tools = PlayedTools()
    two = Reply(calls=(Call(name="a", id="c1"), Call(name="b", id="c2")))
    events = await stage.run(two, say("ok"), tools=tools, steering=Remarks("stop that"))

    assert contents(events) == ["skipped", "skipped"]
    assert tools.calls == []
    assert stage.bodies[1]["messages"][-1]["content"] == "stop that"


class Overseer(NoOversight):
    """Notes the steps it is shown, and does with their requests what a test says."""

    def __init__(self, change: Callable[[ModelRequest], ModelRequest]) -> None:
        self.steps: list[int] = []
        self._change = change

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        self.steps.append(step)
        return self._change(request)


async def test_a_changed_request_is_the_one_that_is_sent(stage: Stage) -> None:
    overseer = Overseer(lambda request: replace(request, model="other", max_completion_tokens=70))
    await stage.run(call("a"), say("ok"), oversight=overseer)

    assert [(body["model"], body["max_completion_tokens"]) for body in stage.bodies] == [("other", 70)] * 2
    assert overseer.steps == [1, 2]


@pytest.mark.parametrize("allowed", [0, 1])
async def test_a_call_that_is_forbidden_is_not_made_and_the_person_is_told(
    stage: Stage, allowed: int
) -> None:
    def change(request: ModelRequest) -> ModelRequest:
        if len(overseer.steps) > allowed:
            raise ModelError("The budget of today is used up.")
        return request

    overseer = Overseer(change)
    events = await stage.run(*[call("a")] * allowed, oversight=overseer)

    assert events[-1] == ErrorEvent(content="The budget of today is used up.")
    assert len(stage.bodies) == allowed


class Shortener(NoShortening):
    """Drops the oldest messages when the server refuses the prompt, and notes what it is told."""

    def __init__(self, *, drops: int) -> None:
        self.noted: list[int] = []
        self.refused: list[bool] = []
        self._drops = drops

    async def fit(
        self, messages: tuple[PromptMessage, ...], *, tokens: int, was_refused: bool = False
    ) -> tuple[PromptMessage, ...]:
        self.refused.append(was_refused)
        return messages[self._drops :] if was_refused else messages

    def note(self, messages: tuple[PromptMessage, ...], reported: int) -> None:
        self.noted.append(reported)


LONG = tuple(PromptMessage(role="user", content=f"message {number}") for number in range(5))


async def test_a_prompt_that_the_server_refuses_is_shortened_and_stays_so(stage: Stage) -> None:
    shortener = Shortener(drops=3)
    events = await stage.run(TOO_LONG, call("a"), say("ok"), messages=LONG, shortening=shortener)

    assert shown(events) == "ok"
    assert [len(body["messages"]) for body in stage.bodies] == [5, 2, 4]
    assert shortener.refused == [False, True, False]
    assert shortener.noted == [11, 11]


async def test_a_prompt_that_stays_too_long_is_refused_only_twice(stage: Stage) -> None:
    events = await stage.run(TOO_LONG, TOO_LONG, TOO_LONG, messages=LONG, shortening=Shortener(drops=1))

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert last.is_overflow
    assert len(stage.bodies) == 2


async def test_a_prompt_that_cannot_be_shortened_is_not_sent_again(stage: Stage) -> None:
    await stage.run(TOO_LONG, say("never"), messages=LONG, shortening=Shortener(drops=0))

    assert len(stage.bodies) == 1


async def test_shortening_may_give_up(stage: Stage) -> None:
    class Hopeless(NoShortening):
        async def fit(
            self, messages: tuple[PromptMessage, ...], *, tokens: int, was_refused: bool = False
        ) -> tuple[PromptMessage, ...]:
            raise ContextOverflow("no way")

    (event,) = await stage.run(say("never"), shortening=Hopeless())

    assert isinstance(event, ErrorEvent)
    assert event.is_overflow
    assert stage.bodies == []
