"""Whatever is said and done: where a chat is taken, the model is not called, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import Address, Kind, RunId, SessionKey, Trigger
from tests.inbox.office import ANN, Office, office, said

IS_DIRECT: Final = (True, False)
DEEDS: Final = (
    "say",
    "say",
    "remark",
    "overheard",
    "heartbeat",
    "schedule",
    "take",
    "release",
    "wait",
    "stop",
)

steps = st.lists(
    st.tuples(st.sampled_from(range(len(IS_DIRECT))), st.sampled_from(DEEDS)),
    min_size=2,
    max_size=20,
)


async def slowly(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """An answer that others can come into."""
    for _ in range(10):
        yield MessageEvent(content="word ")
        await asyncio.sleep(0)
    yield DoneEvent()


class Shift:
    """An operator at work, who notes whether the model is called where a chat is taken."""

    def __init__(self, bot: Office) -> None:
        self.bot = bot
        self.said: list[tuple[SessionKey, RunId]] = []
        self.called: dict[SessionKey, int] = {}  # where a chat is taken
        self.wrong: list[str] = []

    def calls(self, chat: SessionKey) -> int:
        """How often the model was called for a chat."""
        return sum(turn.session == chat for turn in self.bot.backend.turns)

    def look(self) -> None:
        """See to it that the model was left alone."""
        self.wrong += [chat for chat, before in self.called.items() if self.calls(chat) != before]

    async def do(self, address: Address, deed: str) -> None:
        """Do one thing."""
        chat = address.session()
        match deed:
            case "say":
                await self.publish(address)
            case "remark":
                await self.publish(address, may_be_silent=True)
            case "overheard":
                await self.bot.app.bus.publish(said("psst", address=address, kind=Kind.OVERHEARD))
            case "heartbeat" | "schedule":
                await self.publish(address, trigger=Trigger(deed))
            case "wait":
                for _ in range(20):
                    await asyncio.sleep(0)
            case "stop":
                await self.bot.desk.stop(chat, ANN)
            case "take":
                await self.bot.desk.take_over(chat, ANN)
                self.called.setdefault(chat, self.calls(chat))
            case "release" if chat in self.called:
                self.look()
                del self.called[chat]
                await self.bot.desk.hand_back(chat, ANN)
        self.look()

    async def publish(
        self, address: Address, *, trigger: Trigger = Trigger.MESSAGE, may_be_silent: bool = False
    ) -> None:
        message = said("hello", address=address, trigger=trigger, may_be_silent=may_be_silent)
        self.said.append((address.session(), message.run))
        await self.bot.app.bus.publish(message)


@pytest.fixture
async def bot(home: Path) -> AsyncIterator[Office]:
    """One for all examples; each has chats of its own."""
    async with office(home, slowly) as running:
        yield running


numbers = count()


@given(steps=steps)
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
async def test_the_model_is_left_alone_where_an_operator_answers(
    bot: Office, steps: list[tuple[int, str]]
) -> None:
    example, shift = next(numbers), Shift(bot)
    chats = [
        Address(channel="board", chat=f"{example}.{number}", is_direct=is_direct)
        for number, is_direct in enumerate(IS_DIRECT)
    ]
    for address in chats:
        await bot.says("first", address=address)
    for number, deed in steps:
        await shift.do(chats[number], deed)
    await bot.until(lambda: {run for _, run in shift.said} <= {end.run for end in bot.ends})
    shift.look()
    kept = {line.run for address in chats for line in await bot.lines(address.session())}

    assert shift.wrong == []
    assert {run for _, run in shift.said} <= kept
    assert await bot.app.unfinished() == []
