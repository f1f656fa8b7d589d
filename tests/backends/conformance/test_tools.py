"""Tools, whichever backend asks for them: together, in order, and what their results do to the turn."""

import json
from collections.abc import Callable, Sequence

import pytest

from bot.backends.base import (
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    ToolResultEvent,
    ToolUseEvent,
)
from bot.errors import StoreError
from bot.messages import Attachment
from bot.models.base import Picture, ToolCall
from tests.backends.conformance.rig import (
    MeetingTools,
    PlayedTools,
    Stage,
    contents,
    joined,
    result,
    shown,
)
from tests.simulators.model import Call, Reply, call, say

FILE = Attachment(kind="file", name="report.pdf", path="/tmp/report.pdf")


def calls(*made: Call, text: str = "") -> Reply:
    """An answer that makes several calls."""
    return Reply(tokens=(text,) if text else (), calls=made, finish="tool_calls")


def numbered(count: int) -> list[Reply]:
    """As many answers, each with a call that no other makes."""
    return [call("a", json.dumps({"n": number}), id=f"c{number}") for number in range(count)]


async def test_tools_of_a_step_run_together_and_answer_in_order(stage: Stage) -> None:
    wish = calls(Call(name="a", id="c1"), Call(name="b", id="c2", arguments='{"cut'), text="Let me see.")
    events = await stage.run(wish, say("Done."), tools=MeetingTools(2))

    kinds = [type(event) for event in joined(events) if not hasattr(event, "prompt")]
    assert kinds == [
        MessageEvent,
        ToolUseEvent,
        ToolUseEvent,
        ToolResultEvent,
        ToolResultEvent,
        MessageEvent,
        DoneEvent,
    ]
    assert contents(events) == ["did a", "did b"]
    assert shown(events) == "Let me see.\n\nDone."
    asked, *answers = stage.bodies[1]["messages"][1:]
    assert asked["content"] == "Let me see."
    assert [made["function"] for made in asked["tool_calls"]] == [
        {"name": "a", "arguments": "{}"},
        {"name": "b", "arguments": "{}"},
    ]
    assert [(part["role"], part["tool_call_id"], part["content"]) for part in answers] == [
        ("tool", "c1", "did a"),
        ("tool", "c2", "did b"),
    ]


async def test_what_the_model_wrote_is_what_the_tools_get(stage: Stage) -> None:
    tools = PlayedTools()
    await stage.run(calls(Call(name="a", arguments='{"cut', id="c1")), say("ok"), tools=tools)

    assert [made.function.arguments for made in tools.calls] == ['{"cut']


async def test_a_hundred_calls_of_one_step_run_together_and_answer_in_order(stage: Stage) -> None:
    wish = calls(*(Call(name="a", id=f"c{number}", arguments=f'{{"n":{number}}}') for number in range(100)))
    events = await stage.run(wish, say("Done."), tools=MeetingTools(100))

    answers = stage.bodies[1]["messages"][2:]
    assert [part["tool_call_id"] for part in answers] == [f"c{number}" for number in range(100)]
    assert len(contents(events)) == 100
    assert shown(events) == "Done."


async def test_ids_that_come_again_in_a_later_step_are_made_unique(stage: Stage) -> None:
    events = await stage.run(call("a", id="0"), call("a", '{"n":1}', id="0"), say("ok"))

    ids = [event.call.id for event in events if isinstance(event, ToolUseEvent)]
    assert ids[0] == "0"
    assert len(set(ids)) == 2
    assert [part["tool_call_id"] for part in stage.bodies[2]["messages"] if part["role"] == "tool"] == ids


async def test_a_tool_that_does_not_exist_is_answered_beside_one_that_does(stage: Stage) -> None:
    tools = PlayedTools(unknown=result("There is no tool 'unknown'.", status="error"))
    both = calls(Call(name="unknown", id="c1"), Call(name="a", id="c2"))
    events = await stage.run(both, say("ok"), tools=tools)

    assert contents(events) == ["There is no tool 'unknown'.", "did a"]
    assert shown(events) == "ok"


async def test_a_bot_without_tools_answers_calls_all_the_same(stage: Stage) -> None:
    events = await stage.run(call("a"), say("ok"), tools=NoTools())

    assert contents(events) == ["There is no tool 'a'."]
    assert "tools" not in stage.bodies[0]
    assert shown(events) == "ok"


async def test_a_store_that_fails_ends_the_turn_with_its_own_error(stage: Stage) -> None:
    class Broken(PlayedTools):
        async def call_all(
            self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
        ) -> list[ToolResultEvent]:
            raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="the disk is full"):
        await stage.run(call("a"), say("never"), tools=Broken())
    assert len(stage.bodies) == 1


async def test_a_tool_can_give_the_answer(stage: Stage) -> None:
    tools = PlayedTools(summary=result("All is well.", is_final=True))
    events = await stage.run(calls(Call(name="summary", id="c1"), text="Let me see."), tools=tools)

    assert shown(events) == "Let me see.\n\nAll is well."
    assert isinstance(events[-1], DoneEvent)
    assert len(stage.bodies) == 1


async def test_what_a_tool_has_told_the_person_is_not_confirmed_again(stage: Stage) -> None:
    tools = PlayedTools(send_message=result("sent", has_spoken=True))
    sent = call("send_message", '{"text": "The build is green!"}')
    events = await stage.run(sent, say("the build is green"), tools=tools)

    assert shown(events) == ""
    assert isinstance(events[-1], DoneEvent)


async def test_an_answer_that_says_more_than_the_tool_did_stays(stage: Stage) -> None:
    tools = PlayedTools(send_message=result("sent", has_spoken=True))
    sent = call("send_message", '{"text": "The build is green!"}')

    assert shown(await stage.run(sent, say("Told them."), tools=tools)) == "Told them."


async def test_nothing_to_say_after_a_tool_has_spoken_is_no_error(stage: Stage) -> None:
    tools = PlayedTools(send_message=result("sent", has_spoken=True))
    events = await stage.run(call("send_message"), Reply(), tools=tools)

    assert isinstance(events[-1], DoneEvent)


async def test_files_and_rounds_of_results_are_told(stage: Stage) -> None:
    tools = PlayedTools(send_file=result("attached", attachments=(FILE,), rounds=2))
    events = await stage.run(call("send_file"), say("Here."), tools=tools)

    (told,) = [event for event in events if isinstance(event, ToolResultEvent)]
    assert (told.attachments, told.rounds) == ((FILE,), 2)
    assert events[-1] == DoneEvent(attachments=(FILE,))


async def test_no_answer_after_failures_names_the_tools_that_failed(stage: Stage) -> None:
    three = calls(Call(name="a", id="1"), Call(name="b", id="2"), Call(name="a", id="3"))
    events = await stage.run(three, Reply(tokens=(" \n",)), tools=PlayedTools(a=result("no", status="error")))

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert "2 of 3 tool calls failed: `a`." in last.content


# --- how long it may go on


async def test_the_third_same_call_in_a_row_is_told_and_the_fourth_ends_the_loop(stage: Stage) -> None:
    same = [call("a", id=f"c{number}") for number in range(4)]
    tools = PlayedTools()
    events = await stage.run(*same, say("so be it"), tools=tools)

    told = contents(events)
    assert told[:2] == ["did a", "did a"]
    assert all("in a row" in content for content in told[2:])
    assert len(tools.calls) == 2
    assert [body.get("tool_choice") for body in stage.bodies] == [None, None, None, None, "none"]
    assert shown(events) == "so be it"
    assert isinstance(events[-1], DoneEvent)


async def test_other_arguments_are_another_call(stage: Stage) -> None:
    tools = PlayedTools()
    await stage.run(*numbered(6), say("done"), tools=tools)

    assert len(tools.calls) == 6


async def test_the_last_step_that_is_allowed_is_asked_for_an_answer_and_still_shows_the_tools(
    stage: Stage,
) -> None:
    events = await stage.run(*numbered(2), say("as far as I came"), backend=stage.backend(max_steps=3))

    assert [body.get("tool_choice") for body in stage.bodies] == [None, None, "none"]
    assert stage.bodies[0]["tools"] == stage.bodies[2]["tools"]
    assert shown(events) == "as far as I came"


async def test_a_model_that_calls_all_the_same_ends_with_a_reason(stage: Stage) -> None:
    events = await stage.run(*numbered(3), backend=stage.backend(max_steps=3))

    last = events[-1]
    assert len(stage.bodies) == 3
    assert isinstance(last, ErrorEvent)
    assert "3 steps" in last.content


async def test_a_turn_may_take_all_the_steps_there_are(stage: Stage) -> None:
    events = await stage.run(*numbered(49), say("at last"))

    assert len(stage.bodies) == 50
    assert shown(events) == "at last"


async def test_pictures_of_results_are_shown_to_the_model(stage: Stage) -> None:
    picture = Picture(mime="image/png", data=b"png", width=10, height=10)
    tools = PlayedTools(a=result("taken", pictures=(picture,)))
    events = await stage.run(call("a"), say("A cat."), tools=tools)

    (told,) = [event for event in events if isinstance(event, ToolResultEvent)]
    assert told.pictures == (picture,)
    assert "data:image/png;base64,cG5n" in str(stage.bodies[1]["messages"][-1]["content"])
