"""What a process leaves, the next one takes up: nothing lost, nothing twice, in order."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import AgentStart
from memory.store import Store
from tests.agent.rig import Gate, inbound, rig


async def leave_behind(home: Path, *texts: str, begun: int = 0) -> None:
    """What a crashed process leaves: messages accepted, the first `begun` of them begun."""
    messages = [inbound(text) for text in texts]
    async with Store(home, synchronous="NORMAL") as store:
        for message in messages:
            await store.journal.accept(message)
        for message in messages[:begun]:
            await store.journal.begin(message, attempts=0, history=12)


async def test_messages_accepted_before_a_crash_are_answered_after_it_in_order(tmp_path: Path) -> None:
    await leave_behind(tmp_path, "one", "two", "three", begun=1)

    async with rig(tmp_path) as bot:
        ends = await bot.ended(3)

        assert [end.text for end in ends] == ["echo: one ", "echo: two ", "echo: three "]
        assert [text for role, text in await bot.texts() if role == "user"] == ["one", "two", "three"]


async def test_an_answer_that_was_begun_before_a_crash_is_replaced_not_continued(tmp_path: Path) -> None:
    await leave_behind(tmp_path, "one", begun=1)

    async with rig(tmp_path) as bot:
        await bot.ended(1)

        assert bot.chunks[0].replaces
        assert {chunk.attempt for chunk in bot.chunks} == {2}


async def test_a_message_that_keeps_crashing_the_process_is_parked_and_the_person_is_told(
    tmp_path: Path,
) -> None:
    await leave_behind(tmp_path, "poison", begun=1)
    async with Store(tmp_path, synchronous="NORMAL") as store:
        for _ in range(2):  # two more processes that died over it
            (pending,) = (await store.journal.recover(3)).pending
            await store.journal.begin(pending.message, attempts=pending.attempts, history=12)

    async with rig(tmp_path) as bot:
        await bot.say("harmless")
        ends = await bot.ended(2)
        (parked,) = await bot.store.journal.unfinished()

        assert "3 times" in ends[0].text
        assert ends[1].text == "echo: harmless "
        assert parked.state == "parked"


async def test_a_parked_message_runs_again_when_it_is_told_to(tmp_path: Path) -> None:
    await leave_behind(tmp_path, "poison", begun=1)

    async with rig(tmp_path, max_crashes=1) as bot:
        await bot.ended(1)
        (parked,) = await bot.store.journal.unfinished()
        bot.loop.retry(await bot.store.journal.retry(parked.run))
        ends = await bot.ended(2)

        assert ends[1].text == "echo: poison "
        assert await bot.store.journal.unfinished() == []


async def test_a_shutdown_lets_a_running_turn_end_within_its_grace(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a ", "b")) as bot:
        await bot.say("go")
        await gate.reached()
        draining = asyncio.create_task(bot.loop.drain())
        await asyncio.sleep(0)
        gate.open()
        await draining
        (end,) = await bot.ended(1)

        assert end.text == "a b"


async def test_a_turn_beyond_the_grace_is_done_again_at_the_next_start_and_is_no_crash(
    tmp_path: Path,
) -> None:
    for _ in range(4):
        gate = Gate()
        async with rig(tmp_path, gate.play("a"), shutdown_grace=0.0) as bot:
            if not await bot.store.journal.unfinished():
                await bot.say("go")
            await gate.reached()

    async with rig(tmp_path) as bot:
        (end,) = await bot.ended(1)

        assert end.text == "echo: go "


async def test_a_message_accepted_while_draining_is_answered_by_the_next_start(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.loop.drain()
        await bot.say("late")

        assert bot.ends == []

    async with rig(tmp_path) as bot:
        (end,) = await bot.ended(1)

        assert end.text == "echo: late "


async def test_a_turn_that_lost_its_session_writes_nothing(tmp_path: Path) -> None:
    """A second owner has begun a higher attempt: the answer of the first is not kept."""
    gate = Gate()
    async with rig(tmp_path, gate.play("old ")) as bot:
        await bot.say("go")
        await gate.reached()
        async with Store(tmp_path, synchronous="NORMAL") as other:
            (pending,) = (await other.journal.recover(9)).pending
            await other.journal.begin(pending.message, attempts=pending.attempts, history=12)
        gate.open()
        await bot.loop.drain()

        assert [role for role, _ in await bot.texts()] == ["user"]
        assert bot.ends == []


async def test_every_attempt_announces_itself(tmp_path: Path) -> None:
    await leave_behind(tmp_path, "one", begun=1)

    async with rig(tmp_path) as bot:
        await bot.ended(1)
        await bot.until(lambda: any(isinstance(event, AgentStart) for event in bot.events))

        assert [event.attempt for event in bot.events if isinstance(event, AgentStart)] == [2]


async def test_the_history_goes_on_where_it_was(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.say("first")
        await bot.ended(1)

    seen: list[list[str]] = []

    async def note(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        seen.append([message.content for message in turn.messages if message.role != "system"])
        yield MessageEvent(content="ok")
        yield DoneEvent()

    async with rig(tmp_path, note) as bot:
        await bot.say("second")
        await bot.ended(1)

        assert seen == [["first", "echo: first ", "second"]]
