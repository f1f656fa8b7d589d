"""Any interleaving of messages, kills and failures keeps the order, and ends every turn exactly once."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.backends.base import AgentEvent, DoneEvent, ErrorEvent, MessageEvent, TurnInput
from bot.messages import End
from tests.agent.rig import PlayedBackend, Rig, inbound

CHATS = ("a", "b", "c")
COMMANDS = ("/kill", "/kill all")

Action = tuple[str, str]  # a chat, and what is said in it; "" lets the loop run for a moment

actions = st.lists(
    st.tuples(
        st.sampled_from(CHATS),
        st.sampled_from(["fine", "fail", "break", "slow", "slow", *COMMANDS, ""]),
    ),
    min_size=1,
    max_size=25,
)


async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Answers as the message says."""
    yield MessageEvent(content="begun ")
    match turn.messages[-1].content:
        case "slow":
            for _ in range(20):
                await asyncio.sleep(0)
        case "fail":
            yield ErrorEvent(content="no")
            return
        case "break":
            raise RuntimeError("a bug")
    yield MessageEvent(content="done")
    yield DoneEvent()


async def perform(home: Path, steps: list[Action], slots: int) -> tuple[Rig, list[Action], dict[str, str]]:
    """Do the steps; gives the rig, what was said in order, and the runs by id with their chats."""
    backend = PlayedBackend(play)
    said: list[Action] = []
    runs: dict[str, str] = {}
    async with Rig(home, backend, max_concurrent_turns=slots) as bot:
        for chat, text in steps:
            if not text:
                for _ in range(5):
                    await asyncio.sleep(0)
                continue
            message = inbound(text, chat)
            await bot.bus.publish(message)
            said.append((chat, text))
            runs[message.run] = chat
        await bot.ended(len(said))
        for chat in CHATS:
            check_history(chat, said, await bot.texts(chat))
    return bot, said, runs


def check_history(chat: str, said: list[Action], lines: list[tuple[str, str]]) -> None:
    """Every message of a chat stands in its history once, and each has its answer."""
    users = Counter(text for role, text in lines if role == "user")
    assert users == Counter(text for where, text in said if where == chat)
    assert sum(role == "assistant" for role, _ in lines) == sum(users.values())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=actions, slots=st.integers(min_value=1, max_value=3))
def test_any_interleaving_keeps_order_and_ends_each_run_once(steps: list[Action], slots: int) -> None:
    with tempfile.TemporaryDirectory() as home, asyncio.Runner() as runner:
        bot, said, runs = runner.run(perform(Path(home), steps, slots))

    ends = Counter(end.run for end in bot.ends)
    assert ends == Counter(dict.fromkeys(runs, 1))
    assert bot.backend.overlaps == 0
    assert bot.backend.most_running <= slots
    order = list(runs)
    for chat in CHATS:
        begun = [order.index(turn.run) for turn in bot.backend.turns if runs[turn.run] == chat]
        assert begun == sorted(begun)
    over: set[str] = set()
    for message in bot.sent:
        assert message.run not in over, "something was published after the end of its run"
        if isinstance(message, End):
            over.add(message.run)
    assert len(said) == len(bot.ends)
