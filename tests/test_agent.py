"""The agent as people meet it: a whole bot, a model that follows a script, tools that really run."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bot.agent.questions import NOT_YOURS
from bot.app import App
from bot.hooks import Hooks
from bot.hooks.base import AnyPoint
from bot.hooks.effects import AddFile, Deny, NextRound
from bot.hooks.points import ALL, BeforeModelCall, Bootstrap, ResponseComplete
from bot.messages import Address, End, InboundMessage, MessageId, Role, Sender, Trigger, new_id, utc_now
from bot.tools import declare
from tests.bots import settings_for
from tests.simulators.model import ModelServer, Reply, call, say

BESIDE = {"open sandbox", "shape tools", "sweep"}  # what a bot does beside its first turns
OURS = {"bot", "channels", "memory", "security"}
ANN = Sender(id="ann", name="Ann", role=Role.OWNER)
BOB = Sender(id="bob", name="Bob", role=Role.MEMBER)


def message_of(text: str, sender: Sender, chat: str = "main") -> InboundMessage:
    """What somebody says in the terminal."""
    address = Address(channel="terminal", chat=chat)
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=new_id(),
        address=address,
        session=address.session(),
        sender=sender,
        text=text,
        received_at=utc_now(),
    )


class Talk:
    """A bot, what its model was sent, and what it said."""

    def __init__(self, app: App, model: ModelServer) -> None:
        self.app = app
        self.model = model
        self.ends: list[End] = []
        self._news = asyncio.Condition()

    async def follow(self) -> None:
        with self.app.bus.outbound(channel="terminal") as answers:
            async for part in answers:
                if isinstance(part, End):
                    async with self._news:
                        self.ends.append(part)
                        self._news.notify_all()

    async def says(self, text: str, sender: Sender = ANN, chat: str = "main") -> InboundMessage:
        message = message_of(text, sender, chat)
        await self.app.bus.publish(message)
        return message

    async def until(self, claim: Callable[[End], bool]) -> End:
        """The first end of which something is true."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: any(map(claim, self.ends)))
        return next(end for end in self.ends if claim(end))

    async def answer(self, text: str, sender: Sender = ANN) -> End:
        """Say something, and wait for the answer."""
        message = await self.says(text, sender)
        return await self.until(lambda end: end.run == message.run)

    def results(self, request: int = -1) -> list[str]:
        """The results of tools in a request to the model."""
        messages: list[dict[str, Any]] = self.model.requests[request].body["messages"]
        return [part["content"] for part in messages if part["role"] == "tool"]

    def offered(self, request: int = -1) -> set[str]:
        """The tools that the model was offered."""
        return {tool["function"]["name"] for tool in self.model.requests[request].body.get("tools", ())}


@asynccontextmanager
async def talking(home: Path, *replies: Reply, **changes: Any) -> AsyncIterator[Talk]:
    """A bot whose model answers so, one reply a request."""
    own = {"tools": changes.pop("own_tools", ()), "hooks": changes.pop("hooks", None)}
    async with ModelServer() as model:
        model.script(*replies)
        settings = settings_for(home, openai={"base_url": model.url, "api_key": "key"}, **changes)
        async with App(settings, has_web=False, **own) as app, asyncio.TaskGroup() as group:
            talk = Talk(app, model)
            following = group.create_task(talk.follow())
            await asyncio.sleep(0)
            yield talk
            following.cancel()


async def test_a_file_is_written_and_read_in_the_workspace(home: Path) -> None:
    write = call("write", json.dumps({"path": "notes/a.txt", "content": "one\ntwo\n"}))
    read = call("read", '{"path": "notes/a.txt"}')
    async with talking(home, write, read, say("Done.")) as talk:
        end = await talk.answer("Write it down")

    assert end.text == "Done."
    assert (home / "workspace" / "notes" / "a.txt").read_text() == "one\ntwo\n"
    assert "two" in talk.results()[1]


async def test_a_turn_leaves_nothing_to_the_garbage_collector(home: Path) -> None:
    """With many sessions its rounds would take more than most of what a turn does."""
    look = call("list", '{"path": "."}')
    async with talking(home, *[look, say("Nothing there.")] * 4) as talk:
        beside = [task for task in asyncio.all_tasks() if task.get_name() in BESIDE]
        await asyncio.gather(*beside)
        await talk.answer("Look")
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(3):
                await talk.answer("Look again")
            gc.collect()
            left = {type(thing) for thing in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    ours = {
        f"{kind.__module__}.{kind.__qualname__}" for kind in left if kind.__module__.partition(".")[0] in OURS
    }
    assert ours == set()


async def test_what_leads_out_of_the_workspace_is_refused(home: Path) -> None:
    async with talking(home, call("read", '{"path": "../switchboard.db"}'), say("No.")) as talk:
        await talk.answer("Read the database")

    assert "workspace" in talk.results()[0]


async def test_strangers_get_no_tools_that_can_harm(home: Path) -> None:
    async with talking(home, say("hi")) as talk:
        await talk.answer("hello", BOB)
        strangers = talk.offered()
        await talk.answer("hello")
        owners = talk.offered()

    assert {"read", "web_fetch", "ask_question"} <= strangers
    assert not {"write", "exec", "send_message"} & strangers
    assert {"write", "send_message", "delegate_task"} <= owners


async def test_the_person_is_asked_in_the_middle_of_a_turn(home: Path) -> None:
    ask = call("ask_question", '{"question": "Which colour?", "options": ["red", "blue"]}')
    async with talking(home, ask, say("Blue it is.")) as talk:
        message = await talk.says("Paint it")
        question = await talk.until(lambda end: "Which colour?" in end.text)
        await talk.says(question.buttons[1].value)
        end = await talk.until(lambda end: end.run == message.run)

    assert talk.results() == ["blue"]
    assert end.text == "Blue it is."


@pytest.mark.parametrize(("pressed", "ran"), [(0, True), (2, False)])
async def test_a_command_runs_only_with_a_permission(home: Path, pressed: int, ran: bool) -> None:
    order = call("exec", '{"command": "echo out > made.txt; echo seen"}')
    async with talking(home, order, say("So be it.")) as talk:
        await commands_ready(talk)
        message = await talk.says("Do it")
        question = await talk.until(lambda end: "May I run `exec`" in end.text)
        await talk.says(question.buttons[pressed].value)
        await talk.until(lambda end: end.run == message.run)

    assert "echo seen" in question.text
    assert (home / "workspace" / "made.txt").exists() is ran
    assert ("seen" in talk.results()[0]) is ran


async def test_allow_always_holds_for_the_same_call_and_over_a_restart(home: Path) -> None:
    order = call("exec", '{"command": "echo seen"}')
    async with talking(home, order, say("ok")) as talk:
        await commands_ready(talk)
        message = await talk.says("Do it")
        question = await talk.until(lambda end: "May I run" in end.text)
        await talk.says(f"/approve {question.buttons[0].value.split()[1]} always")
        await talk.until(lambda end: end.run == message.run)
    async with talking(home, order, say("ok")) as talk:
        await commands_ready(talk)
        await talk.answer("Again")

    assert "seen" in talk.results()[0]


async def test_nobody_but_an_admin_can_permit(home: Path) -> None:
    order = call("exec", '{"command": "echo seen"}')
    async with talking(home, order, say("ok"), tools={"allow": ["exec"]}) as talk:
        await commands_ready(talk)
        message = await talk.says("Do it", BOB)
        question = await talk.until(lambda end: "May I run" in end.text)
        refused = await talk.answer(question.buttons[0].value, BOB)
        await talk.says(question.buttons[2].value)
        await talk.until(lambda end: end.run == message.run)

    assert refused.text == NOT_YOURS
    assert "not permitted" in talk.results()[0]


async def test_rules_of_the_operator_hold_before_anybody_is_asked(home: Path) -> None:
    rules = {"exec": {"deny": ["rm -rf"], "allow": ["echo"]}}
    replies = (
        call("exec", '{"command": "rm -rf build ; echo"}'),
        call("exec", '{"command": "echo seen"}', id="c2"),
    )
    async with talking(home, *replies, say("ok"), approvals={"rules": rules}) as talk:
        await commands_ready(talk)
        await talk.answer("Do both")

    assert "rules forbid it" in talk.results()[0]
    assert "seen" in talk.results()[1]


async def test_a_subagent_does_a_part_of_the_work(home: Path) -> None:
    replies = (call("delegate_task", '{"task": "Count to three."}'), say("1 2 3"), say("It counted."))
    async with talking(home, *replies) as talk:
        end = await talk.answer("Have somebody count")
        asked = talk.model.requests[1].body["messages"]

    assert [part["content"] for part in asked if part["role"] == "user"] == ["Count to three."]
    assert talk.results() == ["1 2 3"]
    assert end.text == "It counted."


async def test_kill_stops_a_subagent_with_its_parent(home: Path) -> None:
    gate = asyncio.Event()
    replies = (call("delegate_task", '{"task": "Wait."}'), Reply(tokens=("a", "b"), gate=gate))
    async with talking(home, *replies) as talk:
        message = await talk.says("Have somebody wait")
        await talk.model.received(2)
        shown = await talk.answer("/agents")
        await talk.says("/kill")
        end = await talk.until(lambda end: end.run == message.run)
        after = await talk.answer("/agents")
        gate.set()

    assert "- Wait." in shown.text
    assert end.reason == "killed"
    assert "No sub-agents" in after.text


async def test_a_hook_can_ask_for_another_round(home: Path) -> None:
    hooks = Hooks()

    def once_more(event: ResponseComplete) -> NextRound | None:
        return NextRound(text="Shorter.") if event.round == 1 else None

    hooks.on("response_complete", once_more)
    async with talking(home, say("A long answer."), say("Short."), hooks=hooks) as talk:
        end = await talk.answer("Tell me")
        asked = talk.model.requests[1].body["messages"]

    assert [part["content"] for part in asked[-2:]] == ["A long answer.", "Shorter."]
    assert end.text == "A long answer.\n\nShort."


async def test_a_long_talk_is_summarised_and_goes_on(home: Path) -> None:
    changes = {"context_tokens": 400, "compaction": {"summary_tokens": 100}}
    long = "word " * 200
    replies = (say("one"), say("two"), say("They said word a lot; the code is 4711."), say("three"))
    async with talking(home, *replies, **changes) as talk:
        await talk.answer(f"The code is 4711. {long}")
        await talk.answer(f"More. {long}")
        end = await talk.answer("And now?")
        asked = talk.model.requests[-1].body["messages"]

    assert end.text == "three"
    assert any("the code is 4711" in part["content"] for part in asked)
    assert sum(len(part["content"]) for part in asked if part["role"] != "system") < len(long) * 2


async def test_a_reminder_comes_back_as_a_turn_of_its_own(home: Path) -> None:
    alarm = call("alarm_clock", '{"when": "in 2 minutes", "text": "Tea is ready"}')
    async with talking(home, alarm, say("I will.")) as talk:
        await talk.answer("Remind me of the tea")
        listed = await talk.answer("/schedule")

    assert "Tea is ready" in listed.text


async def test_code_of_ones_own_and_mcp_stand_beside_the_built_in_tools(home: Path) -> None:
    def roll(sides: int = 6) -> str:
        """Roll a die."""
        return str(sides)

    async with talking(home, call("roll", '{"sides": 1}'), say("1"), own_tools=[declare(roll)]) as talk:
        await talk.answer("Roll", BOB)

    assert "roll" in talk.offered()
    assert talk.results() == ["1"]


async def commands_ready(talk: Talk) -> None:
    """Until the sandbox has been tried, beside the start."""
    async with asyncio.timeout(10):
        await talk.app.settled()
    assert any(tool.name == "exec" for tool in talk.app.tools), "needs bubblewrap: apt-get install bubblewrap"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("HEARTBEAT_OK", "silent"), ("All well: HEARTBEAT_OK", "silent"), ("Fire", "done")],
)
async def test_a_heartbeat_with_nothing_to_tell_is_not_heard(home: Path, answer: str, reason: str) -> None:
    async with talking(home, say(answer)) as talk:
        message = replace(message_of("Look", ANN), trigger=Trigger.HEARTBEAT)
        await talk.app.bus.publish(message)
        end = await talk.until(lambda end: end.run == message.run)

    assert end.reason == reason
    assert end.reply_to is None


async def test_every_hook_point_is_reached(home: Path) -> None:
    reached: list[str] = []
    hooks = Hooks()

    def note(event: AnyPoint) -> None:
        reached.append(event.name)

    for point in ALL:
        hooks.on(point, note)
    long = "word " * 200
    replies = (call("read", '{"path": "none"}'), say("one"), say("summary"), say("two"), say("three"))
    async with talking(home, *replies, hooks=hooks, context_tokens=300) as talk:
        await talk.answer(f"first {long}")
        await talk.answer("second")
        await talk.answer("/new")

    assert set(reached) == {point.name for point in ALL}
    assert reached.index("message_received") < reached.index("before_agent_start") < reached.index("prompt")
    assert reached.index("before_tool_call") < reached.index("tool_result_persist")


async def test_a_hook_can_forbid_a_model_call_and_change_the_files_of_the_prompt(home: Path) -> None:
    hooks = Hooks()
    hooks.on(Bootstrap, lambda event: AddFile(name="RULES.md", text="Be brief."))
    hooks.on(BeforeModelCall, lambda event: Deny(reason="Not today.") if event.step > 1 else None)
    async with talking(home, call("read", '{"path": "none"}'), say("never"), hooks=hooks) as talk:
        end = await talk.answer("hello")
        system = talk.model.requests[0].body["messages"][0]["content"]

    assert "# RULES.md\nBe brief." in system
    assert len(talk.model.requests) == 1
    assert end.text.startswith("Not today.")


async def test_what_a_subagent_asks_stands_in_the_talk_of_its_parent(home: Path) -> None:
    replies = (
        call("delegate_task", '{"task": "Find out the colour."}'),
        call("ask_question", '{"question": "Which colour?"}'),
        say("It is blue."),
        say("Blue, it says."),
    )
    async with talking(home, *replies) as talk:
        message = await talk.says("Have somebody find out")
        question = await talk.until(lambda end: "Which colour?" in end.text)
        await talk.says("blue")
        end = await talk.until(lambda end: end.run == message.run)

    assert question.session == message.session
    assert end.text == "Blue, it says."
