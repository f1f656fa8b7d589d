"""What a session sees beside its answers: tool calls and reasoning, where it asked for them."""

import json
from collections.abc import Callable
from pathlib import Path

from bot.agent.asides import MAX_ASIDES, MAX_THINKING, Asides, Display
from bot.agent.choice import Choice
from bot.agent.run import Run
from bot.agent.store import Pending
from bot.backends.base import AgentEvent, MessageEvent, ThinkingEvent, ToolResultEvent, ToolUseEvent
from bot.bus import LocalBus
from bot.errors import StoreError
from bot.messages import Address, End, RunId, SessionKey, new_id
from bot.models.base import FunctionCall, ToolCall
from tests.factories import inbound
from tests.simulators.model import call, say
from tests.test_agent import talking

LS = ToolCall(id="1", function=FunctionCall(name="exec", arguments='{"command": "ls `x`"}'))


class Heard:
    """Keeps what is said."""

    def __init__(self, fault: Callable[[], None] = lambda: None) -> None:
        self.texts: list[str] = []
        self._fault = fault

    async def say(self, address: Address, session: SessionKey, text: str) -> End:
        self._fault()
        self.texts.append(text)
        return End(
            run=RunId(new_id()),
            session=session,
            address=address,
            attempt=1,
            seq=1,
            reason="done",
            text=text,
        )


class Stars:
    """Hides the word `secret`."""

    def redact(self, text: str) -> str:
        return text.replace("secret", "***")


async def told(choice: Choice, *events: AgentEvent) -> list[str]:
    heard = Heard()
    asides = Asides(heard, run(), choice, Stars())
    for event in events:
        await asides.note(event)
    return heard.texts


def run() -> Run:
    return Run(Pending(message=inbound("hello"), attempts=0), LocalBus())


async def test_nothing_is_made_for_a_session_that_asked_for_nothing() -> None:
    display = Display()
    display.speaker = Heard()

    assert display.of(run()) is None


async def test_calls_are_told_when_they_begin_and_results_only_of_those_that_fail() -> None:
    texts = await told(
        Choice(verbosity="on"),
        ToolUseEvent(call=LS),
        ToolResultEvent(call=LS, content="a.txt"),
        ToolResultEvent(call=LS, content="no such secret", status="error"),
    )

    assert texts == ['→ `exec` `{"command": "ls \'x\'"}`', "← failed: `exec`\n```\nno such ***\n```"]


async def test_with_full_results_are_told_in_a_fence_that_they_cannot_close() -> None:
    texts = await told(Choice(verbosity="full"), ToolResultEvent(call=LS, content="a\n```\nb" + "c" * 2_000))

    assert texts[0].startswith("← `exec`\n````\na\n```\nb")
    assert texts[0].endswith("…\n````")
    assert len(texts[0]) < 700


async def test_reasoning_is_told_whole_before_what_follows_it() -> None:
    texts = await told(
        Choice(shows_thinking=True),
        ThinkingEvent(content="first\nthe "),
        ThinkingEvent(content="secret"),
        MessageEvent(content="So."),
        ThinkingEvent(content="x" * (MAX_THINKING + 5)),
        ToolUseEvent(call=LS),
    )

    assert texts[0] == "> *Reasoning*\n> first\n> the ***"
    assert len(texts) == 2
    assert len(texts[1]) <= MAX_THINKING + 20


async def test_a_turn_tells_no_more_than_people_can_read() -> None:
    texts = await told(Choice(verbosity="on"), *[ToolUseEvent(call=LS)] * (MAX_ASIDES + 5))

    assert len(texts) == MAX_ASIDES


async def test_a_store_that_stumbles_costs_the_aside_alone() -> None:
    def fail() -> None:
        raise StoreError("full")

    await Asides(Heard(fail), run(), Choice(verbosity="on")).note(ToolUseEvent(call=LS))


async def test_a_whole_bot_shows_its_calls_to_people_and_not_to_the_model(home: Path) -> None:
    listing = call("list", json.dumps({"path": "."}))
    async with talking(home, listing, say("Empty."), say("Yes.")) as talk:
        await talk.answer("/verbose on")
        await talk.answer("What is there?")
        await talk.answer("Sure?")

        shown = [end.text for end in talk.ends]
        seen = json.dumps(talk.model.requests[-1].body["messages"])

    assert shown[1].startswith("→ `list`")
    assert shown[2:] == ["Empty.", "Yes."]
    assert "→" not in seen
