"""The steps of the built-in backend: calls together, what people add, what ends the loop."""

from collections.abc import Callable, Sequence

from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    NoSteering,
    Steering,
    ToolResultEvent,
    TurnInput,
)
from bot.backends.native import NativeBackend
from bot.messages import Attachment, RunId, SessionKey
from bot.models.base import FunctionCall, PromptMessage, ToolCall, ToolSchema
from tests.backends.test_native import STOP, ScriptedModel, shown, text, wants

FILE = Attachment(kind="file", name="report.pdf", path="/tmp/report.pdf")


class PlayedTools:
    """Tools whose results a test gives, by name; a call without one gives its own name."""

    schemas = (ToolSchema(name="a", description="", parameters=b"{}"),)

    def __init__(self, **results: ToolResultEvent) -> None:
        self._results = results
        self.calls: list[ToolCall] = []

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        return [result("skipped") if should_skip() else await self.call(call) for call in calls]

    async def call(self, call: ToolCall) -> ToolResultEvent:
        self.calls.append(call)
        name = call.function.name
        return (
            ToolResultEvent(call=call, content=f"did {name}")
            if name not in self._results
            else _with(self._results[name], call)
        )


def _with(result: ToolResultEvent, call: ToolCall) -> ToolResultEvent:
    return ToolResultEvent(
        call=call,
        content=result.content,
        status=result.status,
        attachments=result.attachments,
        is_final=result.is_final,
        has_spoken=result.has_spoken,
    )


def result(content: str = "", **what: object) -> ToolResultEvent:
    """What a tool gives, whatever the call."""
    nobody = ToolCall(id="", function=FunctionCall(name="", arguments=""))
    return ToolResultEvent(call=nobody, content=content, **what)  # type: ignore[arg-type]  # typed by its names


class Remarks:
    """Says something between the steps."""

    def __init__(self, *remarks: str) -> None:
        self.remarks = list(remarks)

    @property
    def is_waiting(self) -> bool:
        return bool(self.remarks)

    async def take(self) -> tuple[PromptMessage, ...]:
        taken, self.remarks = self.remarks, []
        return tuple(PromptMessage(role="user", content=remark) for remark in taken)


async def run(
    model: ScriptedModel, tools: PlayedTools, *, max_steps: int = 50, steering: Steering | None = None
) -> list[AgentEvent]:
    backend = NativeBackend(model, model="m", max_steps=max_steps, clock=lambda: 100.0)
    turn = TurnInput(
        session=SessionKey("s"),
        run=RunId("r"),
        messages=(PromptMessage(role="user", content="hi"),),
        prompt_tokens=5,
        tools=tools,
        steering=steering or NoSteering(),
    )
    return [event async for event in backend.run(turn)]


async def test_what_people_add_stands_behind_the_results_of_the_step() -> None:
    model = ScriptedModel((wants("a"), STOP), (text("ok"), STOP))
    remarks = Remarks()
    tools = PlayedTools()
    tools_call = tools.call

    async def call(call: ToolCall) -> ToolResultEvent:
        remarks.remarks.append("in blue, please")
        return await tools_call(call)

    tools.call = call  # type: ignore[method-assign]  # the remark comes while the tool runs
    await run(model, tools, steering=remarks)

    assert [(part.role, part.content) for part in model.requests[1].messages[-2:]] == [
        ("tool", "did a"),
        ("user", "in blue, please"),
    ]


async def test_calls_that_have_not_begun_are_skipped_for_somebody_who_waits() -> None:
    model = ScriptedModel((wants("a"), wants("b", "c2"), STOP), (text("ok"), STOP))
    tools = PlayedTools()

    events = await run(model, tools, steering=Remarks("stop that"))

    assert [event.content for event in events if isinstance(event, ToolResultEvent)] == ["skipped", "skipped"]
    assert tools.calls == []
    assert model.requests[1].messages[-1].content == "stop that"


async def test_the_third_same_call_in_a_row_is_told_and_the_fourth_ends_the_loop() -> None:
    model = ScriptedModel(
        *[(wants("a", f"c{number}"), STOP) for number in range(4)], (text("so be it"), STOP)
    )
    tools = PlayedTools()

    events = await run(model, tools)

    contents = [event.content for event in events if isinstance(event, ToolResultEvent)]
    assert contents[:2] == ["did a", "did a"]
    assert all("in a row" in content for content in contents[2:])
    assert len(tools.calls) == 2
    assert [request.may_call for request in model.requests] == [True, True, True, True, False]
    assert shown(events) == "so be it"
    assert isinstance(events[-1], DoneEvent)


async def test_other_arguments_are_another_call() -> None:
    plays = [(wants("a", f"c{number}", f'{{"n":{number}}}'), STOP) for number in range(6)]
    tools = PlayedTools()

    await run(ScriptedModel(*plays, (text("done"), STOP)), tools)

    assert len(tools.calls) == 6


async def test_the_last_step_that_is_allowed_is_asked_for_an_answer_and_still_shows_the_tools() -> None:
    plays = [(wants("a", f"c{number}", f'{{"n":{number}}}'), STOP) for number in range(2)]
    model = ScriptedModel(*plays, (text("as far as I came"), STOP))

    events = await run(model, PlayedTools(), max_steps=3)

    assert [request.may_call for request in model.requests] == [True, True, False]
    assert len({request.tools for request in model.requests}) == 1
    assert shown(events) == "as far as I came"


async def test_a_model_that_calls_all_the_same_ends_with_a_reason() -> None:
    plays = [(wants("a", f"c{number}", f'{{"n":{number}}}'), STOP) for number in range(5)]

    events = await run(ScriptedModel(*plays), PlayedTools(), max_steps=3)

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert "3 steps" in last.content


async def test_a_tool_can_give_the_answer() -> None:
    model = ScriptedModel((text("Let me see."), wants("summary"), STOP))

    events = await run(model, PlayedTools(summary=result("All is well.", is_final=True)))

    assert shown(events) == "Let me see.\n\nAll is well."
    assert isinstance(events[-1], DoneEvent)
    assert len(model.requests) == 1


async def test_what_a_tool_has_told_the_person_is_not_confirmed_again() -> None:
    arguments = '{"text": "The build is green!"}'
    said = ScriptedModel(
        (wants("send_message", arguments=arguments), STOP), (text("the build is green"), STOP)
    )

    events = await run(said, PlayedTools(send_message=result("sent", has_spoken=True)))

    assert shown(events) == ""
    assert isinstance(events[-1], DoneEvent)


async def test_an_answer_that_says_more_than_the_tool_did_stays() -> None:
    arguments = '{"text": "The build is green!"}'
    said = ScriptedModel((wants("send_message", arguments=arguments), STOP), (text("Told them."), STOP))

    events = await run(said, PlayedTools(send_message=result("sent", has_spoken=True)))

    assert shown(events) == "Told them."


async def test_nothing_to_say_after_a_tool_has_spoken_is_no_error() -> None:
    events = await run(
        ScriptedModel((wants("send_message"), STOP), (STOP,)),
        PlayedTools(send_message=result("sent", has_spoken=True)),
    )

    assert isinstance(events[-1], DoneEvent)


async def test_files_of_tools_go_out_with_the_answer() -> None:
    events = await run(
        ScriptedModel((wants("send_file"), STOP), (text("Here."), STOP)),
        PlayedTools(send_file=result("attached", attachments=(FILE,))),
    )

    assert events[-1] == DoneEvent(attachments=(FILE,))


async def test_no_answer_after_failures_names_the_tools_that_failed() -> None:
    model = ScriptedModel((wants("a"), wants("b", "c2"), wants("a", "c3"), STOP), (STOP,))

    events = await run(model, PlayedTools(a=result("no", status="error")))

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert "2 of 3 tool calls failed: `a`." in last.content
