"""The inbox in a whole bot: taken over in the middle of an answer, handed back, docked, over restarts."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.inbox.base import InboxError
from bot.messages import Address, Chunk, Kind, Sender, Trigger
from tests.agent.rig import Gate, echo
from tests.inbox.office import ANN, BEN, CHAT, HERE, KIM, Office, office, said

ROOT: Final = Path(__file__).parents[1]
HALF: Final = "It is on its way. " * 30  # more than a guard holds back of an answer
THERE: Final = Address(channel="slate", chat="desk")
GROUP: Final = Address(channel="board", chat="club", is_direct=False)


async def begun(bot: Office, text: str = "Where is my parcel?") -> None:
    """A person has asked, and the answer stands on the platform half way."""
    await bot.app.bus.publish(said(text))
    await bot.posted("It is on its way")


class Slow:
    """An agent that answers the first message only half way, the others at once."""

    def __init__(self) -> None:
        self.gate = Gate()

    async def __call__(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if "parcel" in turn.messages[-1].content:
            yield MessageEvent(content=HALF)
            await self.gate.wait()
        yield MessageEvent(content="Certainly.")
        yield DoneEvent()


async def test_a_chat_is_taken_over_in_the_middle_of_an_answer_and_handed_back(home: Path) -> None:
    async with office(home, Slow()) as bot:
        await begun(bot)
        await bot.desk.take_over(CHAT, ANN)
        stopped = bot.ends[-1]
        asked = await bot.says("Are you a person?")
        await bot.desk.reply(CHAT, "I am. It comes tomorrow.", ANN, as_operator=True)
        await bot.desk.reply(CHAT, "Anything else?", ANN)
        calls = len(bot.backend.turns)
        await bot.desk.hand_back(CHAT, ANN)
        answer = await bot.says("No, thank you")
        said_by = [(line.speaker, line.text) for line in await bot.lines()]

    assert stopped.reason == "killed"
    assert stopped.text.startswith("It is on its way")
    assert (asked.reason, asked.text) == ("silent", "")
    assert calls == 1
    assert answer.text == "Certainly."
    for words in (
        "parcel",
        "It is on its way",
        "Are you a person?",
        "**Ann:** I am. It comes tomorrow.",
        "Anything else?",
    ):
        assert words in bot.prompt()
    assert ("Ann", "**Ann:** I am. It comes tomorrow.") in said_by
    assert ("Switchboard", "Anything else?") in said_by
    assert [bot.audited(act) for act in ("take over", "hand back")] == [["web:ann"], ["web:ann"]]
    assert bot.audited("reply") == ["web:ann", "web:ann"]


async def test_replies_reach_the_platform_and_nothing_is_lost_where_a_chat_is_taken(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        for number in range(5):
            await bot.app.bus.publish(said(f"word {number}"))
        await bot.until(lambda: len(bot.ends) == 6)
        await bot.desk.reply(CHAT, "I am reading", ANN)
        chat = await bot.posted("I am reading")
        lines = [line.text for line in await bot.lines()]
        unfinished = await bot.app.unfinished()

    assert chat == HERE.chat
    assert [text for text in lines if text.startswith("word")] == [f"word {number}" for number in range(5)]
    assert unfinished == []


async def test_commands_of_the_person_work_while_an_operator_answers(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        answer = await bot.says("/help")
        calls = len(bot.backend.turns)

    assert "/kill" in answer.text
    assert calls == 1


@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, Trigger.HEARTBEAT])
async def test_what_the_bot_begins_by_itself_waits_for_the_agent(home: Path, trigger: Trigger) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        held = await bot.says("Water the plants", trigger=trigger)
        calls = len(bot.backend.turns)
        await bot.desk.hand_back(CHAT, ANN)
        await bot.says("What did I miss?")

    assert held.reason == "silent"
    assert calls == 1
    assert "Water the plants" in bot.prompt()


async def test_a_group_is_heard_while_it_is_taken_and_all_of_it_is_read_afterwards(home: Path) -> None:
    chat = GROUP.session()
    async with office(home) as bot:
        await bot.says("hello", address=GROUP)
        await bot.desk.take_over(chat, ANN)
        await bot.app.bus.publish(said("among ourselves", address=GROUP, kind=Kind.OVERHEARD))
        remark = await bot.says("by the way", address=GROUP, may_be_silent=True)
        calls = len(bot.backend.turns)
        await bot.desk.hand_back(chat, ANN)
        await bot.says("bot?", address=GROUP)

    assert (remark.reason, calls) == ("silent", 1)
    assert "among ourselves" in bot.prompt()
    assert "by the way" in bot.prompt()


async def test_a_chat_is_still_taken_after_a_restart(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
    async with office(home) as bot:
        held = await bot.says("still there?")
        calls = len(bot.backend.turns)
        taken_by = (await bot.desk.conversation(CHAT)).taken_by
        await bot.desk.hand_back(CHAT, BEN)
        await bot.says("and now?")

    assert (held.reason, calls, taken_by) == ("silent", 0, "Ann")
    assert "still there?" in bot.prompt()


DYING: Final = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.inbox.office import ANN, CHAT, office, said
from tests.test_inbox_in_the_bot import Slow, begun

async def main() -> None:
    async with office(Path(sys.argv[1]), Slow()) as bot:
        await begun(bot)
        await bot.desk.book.take(CHAT, ANN.name)  # as `take_over` does first
        await bot.app.bus.publish(said("and my other parcel?"))
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_killed_in_the_middle_of_a_take_over_nothing_is_lost_and_the_model_is_left_alone(
    home: Path,
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", DYING, str(home)]
    died = await asyncio.to_thread(
        subprocess.run, command, env=environment, timeout=30, capture_output=True, check=False
    )
    async with office(home) as bot:
        await bot.until(lambda: len(bot.ends) == 2)
        lines = [line.text for line in await bot.lines() if line.role == "user"]
        calls, unfinished = len(bot.backend.turns), await bot.app.unfinished()

    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert (calls, unfinished) == (0, [])
    assert [end.reason for end in bot.ends] == ["silent", "silent"]
    assert lines == ["Where is my parcel?", "and my other parcel?"]


async def test_two_operators_do_not_answer_over_each_other(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.desk.take_over(CHAT, ANN)
        with pytest.raises(InboxError, match="Ann answers there already"):
            await bot.desk.take_over(CHAT, BEN)
        await bot.desk.hand_back(CHAT, BEN)
        with pytest.raises(InboxError, match="Nobody has taken it over"):
            await bot.desk.hand_back(CHAT, ANN)
        await bot.desk.take_over(CHAT, BEN)
        taken_by = (await bot.desk.conversation(CHAT)).taken_by

    assert taken_by == "Ben"


async def test_answers_go_to_the_chat_that_a_conversation_is_docked_to(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.says("hello", Sender(id="desk"), THERE)
        await bot.desk.dock(CHAT, THERE.session(), ANN)
        answer = await bot.says("a b c")
        chat = await bot.posted("echo: a b c", "slate")
        chunks = [part for part in bot.parts if isinstance(part, Chunk) and part.run == answer.run]
        here = [text for _, text in bot.boards["board"].posts]
        history = [line.text for line in await bot.lines()]
        docked = (await bot.desk.conversation(CHAT)).docked_to
        await bot.desk.dock(CHAT, None, ANN)
        await bot.says("back again")
        await bot.posted("echo: back again")

    assert (chat, answer.address, docked) == ("desk", THERE, THERE)
    assert {(part.address, part.reply_to) for part in chunks} == {(THERE, None)}
    assert answer.reply_to is None
    assert not any("a b c" in text for text in here)
    assert "echo: a b c " in history
    assert f"`{THERE.session()}`" in "\n".join(here)


async def test_a_dock_holds_over_a_restart(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.says("hello", Sender(id="desk"), THERE)
        await bot.desk.dock(CHAT, THERE.session(), ANN)
    async with office(home, echo) as bot:
        answer = await bot.says("over there")

    assert answer.address == THERE


async def test_no_chat_is_docked_to_itself_in_a_circle_or_to_where_nothing_is_delivered(home: Path) -> None:
    terminal = Address(channel="terminal", chat="main")
    async with office(home) as bot:
        for sender, address in ((KIM, HERE), (KIM, THERE), (KIM, GROUP), (KIM, terminal)):
            await bot.says("hello", sender, address)
        await bot.desk.dock(THERE.session(), GROUP.session(), ANN)
        await bot.desk.dock(GROUP.session(), CHAT, ANN)
        with pytest.raises(InboxError, match="same chat"):
            await bot.desk.dock(CHAT, CHAT, ANN)
        with pytest.raises(InboxError, match="come here"):
            await bot.desk.dock(CHAT, THERE.session(), ANN)
        with pytest.raises(InboxError, match="Nothing is delivered to terminal"):
            await bot.desk.dock(CHAT, terminal.session(), ANN)
        with pytest.raises(InboxError, match="no conversation"):
            await bot.desk.dock(CHAT, Address(channel="board", chat="nobody").session(), ANN)
        with pytest.raises(InboxError, match="nowhere else"):
            await bot.desk.dock(CHAT, None, ANN)


async def test_who_takes_a_chat_twice_still_sees_who_waits_there(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.says("anybody?")
        before = (await bot.desk.conversation(CHAT)).waiting_since
        await bot.desk.take_over(CHAT, ANN)
        after = (await bot.desk.conversation(CHAT)).waiting_since

    assert before is not None
    assert after == before
