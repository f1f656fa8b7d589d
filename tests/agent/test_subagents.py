"""Sub-agents: set to work by a turn, within bounds, and gone with it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.seams import Seams
from bot.agent.subagents import AT_ONCE, INSTRUCTIONS, MAX_DEPTH, MAX_TASK, Subagents
from bot.backends.base import AgentEvent, DoneEvent, ErrorEvent, MessageEvent, Tools, TurnInput
from bot.bus import LocalBus
from bot.messages import Attachment, InboundMessage, SessionKey
from bot.models.base import FunctionCall, ToolCall
from bot.settings.tools import ToolsSettings
from bot.tools.base import SUBAGENT, Ledger, ToolContext, ToolFault, ToolOutput
from bot.tools.box import ToolBox
from bot.tools.jobs import Jobs
from bot.tools.registry import ToolRegistry
from bot.tools.results import Results
from tests.agent.rig import Gate, Play, PlayedBackend, inbound, rig


class Team:
    """Sub-agents that a test plays, with the tools to have sub-agents themselves."""

    def __init__(self, home: Path, play: Play, *, seconds: float = 5.0) -> None:
        self.backend = PlayedBackend(play)
        self.jobs = Jobs(reap=0.1)
        self.messages: list[InboundMessage] = []
        self.subagents = Subagents(self.backend, tools_for=self.tools_for, bus=LocalBus(), seconds=seconds)
        self.box = ToolBox(
            ToolRegistry(self.subagents.tools(), ToolsSettings(profile="full"), lambda message: True),
            results=Results(home / "artifacts", limit=2_000),
            jobs=self.jobs,
            is_admin=lambda message: True,
        )

    def tools_for(self, message: InboundMessage, depth: int) -> Tools:
        self.messages.append(message)
        return self.box.tools_for(message, None, depth=depth)

    async def delegate(self, task: str, chat: str = "main", *, depth: int = 0) -> str:
        """Give a sub-agent a task, as a turn of a chat."""
        return (await self.ask(task, chat, depth=depth)).text

    async def ask(self, task: str, chat: str = "main", *, depth: int = 0) -> ToolOutput:
        """The same, with the files."""
        message = inbound("go", chat, attachments=(Attachment(kind="file", name="a.txt"),))
        return await self.subagents.delegate_task(task, ToolContext(message=message, depth=depth))

    def working(self, chat: str = "main") -> list[str]:
        """The tasks that are worked on for a chat."""
        return [one.task for one in self.subagents.of(SessionKey(f"web:default:{chat}"))]

    async def until_working(self, count: int, chat: str = "main") -> None:
        async with asyncio.timeout(5):
            while len(self.working(chat)) < count or self.backend.running < count:  # noqa: ASYNC110
                await asyncio.sleep(0)


def delegation(task: str) -> ToolCall:
    arguments = json.dumps({"task": task})
    return ToolCall(id=f"call {task}", function=FunctionCall(name="delegate_task", arguments=arguments))


async def obey(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Says what its task is."""
    yield MessageEvent(content="did ")
    yield MessageEvent(content=turn.messages[-1].content)
    yield DoneEvent()


async def pass_on(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Has another sub-agent do it, and says what came of it."""
    result = await turn.tools.call(delegation("the same"))
    yield MessageEvent(content=f"> {result.content}")
    yield DoneEvent()


async def test_a_subagent_knows_its_task_and_nothing_else_and_gives_its_result(home: Path) -> None:
    team = Team(home, obey)

    result = await team.delegate("Count to three.")

    (turn,), (message,) = team.backend.turns, team.messages
    assert result == "did Count to three."
    assert [(part.role, part.content) for part in turn.messages] == [
        ("system", INSTRUCTIONS),
        ("user", "Count to three."),
    ]
    assert (message.session, message.run) == (turn.session, turn.run)
    assert (message.text, message.attachments) == ("Count to three.", ())
    assert (message.sender.id, message.address.chat) == ("ann", "main")
    assert turn.deadline is not None
    assert turn.deadline - time.monotonic() <= 5.0


async def test_each_has_a_session_of_its_own_under_that_of_its_parent(home: Path) -> None:
    team = Team(home, obey)

    await team.delegate("a")
    await team.delegate("b")

    sessions = [turn.session for turn in team.backend.turns]
    assert len(set(sessions)) == 2
    assert all(session.startswith(f"web:default:main{SUBAGENT}") for session in sessions)
    assert len({turn.run for turn in team.backend.turns}) == 2


async def test_a_result_that_was_begun_anew_is_given_once(home: Path) -> None:
    async def think_again(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="five")
        yield MessageEvent(content=" fo", replaces=True)
        yield MessageEvent(content="ur ")
        yield DoneEvent()

    assert await Team(home, think_again).delegate("Two and two?") == "four"


async def test_the_files_of_a_subagent_go_out_with_the_answer_of_its_parent(home: Path) -> None:
    report = Attachment(kind="file", name="report.pdf", path="/tmp/report.pdf")

    async def attach(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="Here it is.")
        yield DoneEvent(attachments=(report,))

    output = await Team(home, attach).ask("Write the report.")

    assert (output.text, output.attachments) == ("Here it is.", (report,))


async def test_one_without_words_says_so(home: Path) -> None:
    async def be_silent(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield DoneEvent()

    assert await Team(home, be_silent).delegate("Be silent.") == (
        "(The sub-agent is done and has nothing to say.)"
    )


async def test_a_failure_is_a_fault_of_the_tool_and_leaves_nobody_behind(home: Path) -> None:
    async def give_up(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="Well")
        yield ErrorEvent(content="The model is away.")

    team = Team(home, give_up)

    with pytest.raises(ToolFault, match=r"^The sub-agent failed: The model is away\.$"):
        await team.delegate("Try.")
    assert team.working() == []


async def test_a_bug_goes_up_to_where_the_call_begins_and_leaves_nobody_behind(home: Path) -> None:
    async def stumble(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="a")
        raise LookupError("a bug")

    team = Team(home, stumble)

    with pytest.raises(LookupError):
        await team.delegate("Try.")
    assert team.working() == []


@pytest.mark.parametrize("task", ["", " \n", "x" * (MAX_TASK + 1)])
async def test_a_task_has_words_and_an_end(home: Path, task: str) -> None:
    team = Team(home, obey)

    with pytest.raises(ToolFault, match="1 to 20,000 characters"):
        await team.delegate(task)
    assert team.backend.turns == []
    assert await team.delegate("x" * MAX_TASK)


async def test_subagents_of_subagents_end_at_the_third_level(home: Path) -> None:
    team = Team(home, pass_on)

    result = await team.delegate("the same")
    await team.jobs.aclose()

    assert result == "> > > Sub-agents of sub-agents go no deeper: do this yourself."
    assert len(team.backend.turns) == MAX_DEPTH == 3
    assert [turn.session.count(SUBAGENT) for turn in team.backend.turns] == [1, 2, 3]


async def test_one_at_the_last_level_works_and_one_below_it_does_not(home: Path) -> None:
    team = Team(home, obey)

    assert await team.delegate("a", depth=MAX_DEPTH - 1) == "did a"
    with pytest.raises(ToolFault, match="no deeper"):
        await team.delegate("a", depth=MAX_DEPTH)


async def test_eight_work_for_one_parent_at_once_and_each_parent_has_its_own(home: Path) -> None:
    gate = Gate()
    team = Team(home, gate.play())
    async with asyncio.TaskGroup() as group:
        working = [group.create_task(team.delegate(str(number))) for number in range(AT_ONCE)]
        await team.until_working(AT_ONCE)
        with pytest.raises(ToolFault, match=r"^8 sub-agents work for you already"):
            await team.delegate("one more")
        elsewhere = group.create_task(team.delegate("theirs", "other"))
        await team.until_working(1, "other")

        assert team.backend.most_running == AT_ONCE + 1
        gate.open()

    assert {await task for task in (*working, elsewhere)} == {"done"}
    assert await team.delegate("there is room again") == "done"


async def test_those_of_subagents_are_counted_for_their_own_parent(home: Path) -> None:
    gate = Gate()

    async def eight_each(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.session.count(SUBAGENT) == 1:
            calls = [delegation(f"{number}") for number in range(AT_ONCE)]
            results = await turn.tools.call_all(calls, should_skip=lambda: False)
            yield MessageEvent(content=" ".join(result.content for result in results))
        else:
            await gate.wait()
            yield MessageEvent(content="ok")
        yield DoneEvent()

    team = Team(home, eight_each)
    async with asyncio.TaskGroup() as group:
        parents = [group.create_task(team.delegate("all")) for _ in range(2)]
        await team.until_working(2 + 2 * AT_ONCE)
        gate.open()
    await team.jobs.aclose()

    assert [await parent for parent in parents] == [" ".join(["ok"] * AT_ONCE)] * 2


async def test_one_that_takes_too_long_is_stopped(home: Path) -> None:
    gate = Gate()
    team = Team(home, gate.play("on my way"), seconds=0.05)

    with pytest.raises(ToolFault, match=r"not done within 0\.05 s: give it less"):
        await team.delegate("Take your time.")

    assert team.working() == []
    assert team.backend.running == 0


async def test_whoever_stops_the_parent_stops_all_below_it(home: Path) -> None:
    gate = Gate()

    async def down(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.session.count(SUBAGENT) < MAX_DEPTH:
            await turn.tools.call(delegation("deeper"))
        else:
            await gate.wait()
        yield DoneEvent()

    team = Team(home, down)
    parent = asyncio.create_task(team.delegate("top"))
    await team.until_working(MAX_DEPTH)
    parent.cancel()
    with pytest.raises(asyncio.CancelledError):
        await parent
    await team.jobs.aclose()

    assert team.working() == []
    assert team.backend.running == 0


async def test_kill_ends_the_subagents_of_a_turn_and_of_no_other(home: Path) -> None:
    gate = Gate()

    async def lead(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if SUBAGENT in turn.session:
            await gate.wait()
        else:
            result = await turn.tools.call(delegation("wait"))
            yield MessageEvent(content=result.content)
        yield DoneEvent()

    team = Team(home, lead)

    class Source:
        """Gives the turns of people the tools of the team."""

        def tools_for(self, message: InboundMessage, ledger: Ledger) -> Tools:
            return team.box.tools_for(message, ledger)

    async with rig(home, lead, seams=Seams(tools=Source())) as bot:
        await bot.say("go", "one")
        await bot.say("go", "two")
        await team.until_working(1, "one")
        await team.until_working(1, "two")
        await bot.say("/kill", "one")
        await bot.ended(2)
        left = team.working("one"), team.working("two")
        gate.open()
        ends = await bot.ended(3)
    await team.jobs.aclose()

    assert left == ([], ["wait"])
    assert [end.reason for end in ends if end.session == "web:default:one"] == ["killed", "done"]
    assert ends[-1].text == "(The sub-agent is done and has nothing to say.)"


async def test_who_works_for_a_session_is_listed_with_all_below_and_no_neighbours(home: Path) -> None:
    gate = Gate()

    async def down(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.messages[-1].content == "top":
            await turn.tools.call(delegation("below"))
        else:
            await gate.wait()
        yield DoneEvent()

    team = Team(home, down)
    async with asyncio.TaskGroup() as group:
        group.create_task(team.delegate("top"))
        group.create_task(team.delegate("near", "main2"))
        await team.until_working(2)
        await team.until_working(1, "main2")
        listed = team.subagents.of(SessionKey("web:default:main"))
        neighbours = team.working("main2")
        gate.open()
    await team.jobs.aclose()

    assert [(one.task, one.depth) for one in listed] == [("top", 1), ("below", 2)]
    assert listed[1].parent == listed[0].session
    assert neighbours == ["near"]
    assert team.working() == []
