"""Backends over a model client that a test plays itself: every mix of failures, what is opened and closed."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.backends.base import AgentEvent, Capability, DoneEvent
from bot.models.base import (
    CompleteToolCall,
    Finish,
    FunctionCall,
    ModelEvent,
    ModelProfile,
    ModelRequest,
    PromptMessage,
    Restart,
    TextDelta,
    ToolCall,
    Warmable,
)
from tests.backends.conformance.rig import KINDS, PlayedTools, backend_class, shown, turn_of

STOP = Finish(reason="stop")
AGAIN = Restart(model="m", attempt=2, wait=0.5, cause="busy")


class PlayedClient:
    """Plays one entry a call; the last one again and again. After an empty one it says nothing more."""

    def __init__(self, *plays: tuple[ModelEvent, ...]) -> None:
        self.plays = list(plays)
        self.warmed: list[tuple[PromptMessage, ...]] = []
        self.is_closed = False
        self.is_hung_up = False
        self.profile = ModelProfile(window=10_000, max_output=500)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        try:
            for item in self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]:
                yield item
            if not self.plays[0]:
                await asyncio.Event().wait()
        finally:
            for _ in range(10):  # hanging up takes a moment
                await asyncio.sleep(0)
            self.is_hung_up = True

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        self.warmed.append(messages)

    async def aclose(self) -> None:
        self.is_closed = True


async def test_closing_and_warming_reach_the_client(kind: str) -> None:
    client = PlayedClient((STOP,))
    backend = backend_class(kind)(client, model="m")
    assert isinstance(backend, Warmable)
    await backend.warm(())
    await backend.aclose()

    assert client.warmed == [()]
    assert client.is_closed
    assert backend.profile is client.profile


async def test_the_model_is_hung_up_on_before_the_cancelled_reader_is_gone(kind: str) -> None:
    client, began = PlayedClient((TextDelta(text="a"),), ()), asyncio.Event()

    async def read() -> None:
        async for _ in backend_class(kind)(client, model="m").run(turn_of(tools=PlayedTools())):
            began.set()

    reader = asyncio.create_task(read())
    async with asyncio.timeout(10):
        await began.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

    assert client.is_hung_up


def test_every_backend_can_what_a_turn_may_ask_of_it(kind: str) -> None:
    able = backend_class(kind)(PlayedClient((STOP,)), model="m").capabilities

    assert (Capability.STREAMING | Capability.TOOLS | Capability.MULTI_TURN | Capability.STEERING) in able


def test_a_backend_without_steps_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="max_steps"):
        backend_class(kind)(PlayedClient((STOP,)), model="m", max_steps=0)


STEPS = st.lists(
    st.lists(st.lists(st.sampled_from(["a", "bc", "d "]), max_size=3), min_size=1, max_size=3), max_size=4
)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(steps=STEPS)
def test_whatever_fails_on_the_way_the_screen_shows_the_good_tries_once(
    kind: str, steps: list[list[list[str]]]
) -> None:
    plays: list[tuple[ModelEvent, ...]] = []
    for number, tries in enumerate(steps):
        *failed, good = [[TextDelta(text=word) for word in words] for words in tries]
        void: list[ModelEvent] = []
        for words in failed:
            void += [*words, AGAIN]
        wish = ToolCall(id=f"c{number}", function=FunctionCall(name="a", arguments=f'{{"n":{number}}}'))
        plays.append((*void, *good, CompleteToolCall(call=wish), STOP))

    async def run() -> list[AgentEvent]:
        client = PlayedClient(*plays, (TextDelta(text="End."), STOP))
        turn = turn_of(tools=PlayedTools())
        return [event async for event in backend_class(kind)(client, model="m").run(turn)]

    events = asyncio.run(run())

    paragraphs = ["".join(tries[-1]) for tries in steps if tries[-1]]
    assert shown(events) == "\n\n".join([*paragraphs, "End."])
    assert events[-1] == DoneEvent()
