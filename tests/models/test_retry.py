"""Trying again: when, how often, on which model, and how a reader is told."""

from collections.abc import AsyncGenerator

import pytest

from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.base import Finish, ModelEvent, ModelProfile, ModelRequest, PromptMessage, Restart, TextDelta
from bot.models.retry import Resilient

REQUEST = ModelRequest(
    model="first", messages=(PromptMessage(role="user", content="hi"),), max_completion_tokens=10
)
GOOD: tuple[ModelEvent, ...] = (TextDelta(text="yes"), Finish(reason="stop"))
BUSY = ModelUnavailable("busy", status=429)


class ScriptedClient:
    """A client that plays one entry a call: events, and an error where it ends in one."""

    def __init__(self, *plays: tuple[ModelEvent | ModelError, ...]) -> None:
        self.plays = list(plays)
        self.models: list[str] = []
        self.is_closed = False
        self.profile = ModelProfile(window=1000, max_output=100)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.models.append(request.model)
        for item in self.plays.pop(0):
            if isinstance(item, ModelError):
                raise item
            yield item

    async def aclose(self) -> None:
        self.is_closed = True


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def resilient(
    client: ScriptedClient, clock: Clock, *, fallback_models: tuple[str, ...] = (), max_retries: int = 8
) -> Resilient:
    return Resilient(
        client,
        fallback_models=fallback_models,
        max_retries=max_retries,
        sleep=clock.sleep,
        uniform=lambda low, high: high,
        clock=clock,
    )


async def collect(client: Resilient, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    return [event async for event in client.stream(request)]


async def test_a_good_answer_passes_through_untouched() -> None:
    clock = Clock()

    assert await collect(resilient(ScriptedClient(GOOD), clock)) == list(GOOD)
    assert clock.sleeps == []


async def test_what_may_pass_is_tried_again_and_announced() -> None:
    clock = Clock()
    events = await collect(resilient(ScriptedClient((BUSY,), GOOD), clock))

    assert events == [Restart(model="first", attempt=2, wait=0.5, cause="busy"), *GOOD]
    assert clock.sleeps == [0.5]


async def test_waits_grow_to_the_cap_and_retries_end() -> None:
    clock = Clock()
    client = ScriptedClient(*[(BUSY,)] * 9)

    with pytest.raises(ModelUnavailable, match="busy"):
        await collect(resilient(client, clock))

    assert clock.sleeps == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert len(client.models) == 9


async def test_the_server_says_how_long_to_wait() -> None:
    clock = Clock()
    await collect(resilient(ScriptedClient((ModelUnavailable("busy", retry_after=12),), GOOD), clock))

    assert clock.sleeps == [12.5]


async def test_a_wait_beyond_the_deadline_gives_up_at_once_and_says_so() -> None:
    clock = Clock()
    client = ScriptedClient((ModelUnavailable("busy.", retry_after=3600),))
    request = ModelRequest(model="first", messages=(), max_completion_tokens=1, deadline=60)

    with pytest.raises(ModelUnavailable, match="3600 s, longer than this turn"):
        await collect(resilient(client, clock), request)

    assert clock.sleeps == []


async def test_our_own_waits_keep_the_deadline_too() -> None:
    clock = Clock()
    request = ModelRequest(model="first", messages=(), max_completion_tokens=1, deadline=5)

    with pytest.raises(ModelUnavailable):
        await collect(resilient(ScriptedClient(*[(BUSY,)] * 9), clock), request)

    assert clock.now < 5


async def test_a_wait_beyond_the_deadline_leaves_the_fallback_its_chance() -> None:
    clock = Clock()
    client = ScriptedClient((ModelUnavailable("busy", retry_after=3600),), GOOD)
    request = ModelRequest(model="first", messages=(), max_completion_tokens=1, deadline=60)

    assert (await collect(resilient(client, clock, fallback_models=("second",)), request))[-2:] == list(GOOD)


async def test_what_will_not_pass_is_not_tried_again() -> None:
    clock = Clock()
    client = ScriptedClient((ModelError("no such model", status=404),))

    with pytest.raises(ModelError, match="no such model"):
        await collect(resilient(client, clock))

    assert client.models == ["first"]


async def test_a_stream_that_breaks_begins_anew() -> None:
    clock = Clock()
    client = ScriptedClient((TextDelta(text="ye"), ModelUnavailable("cut")), GOOD)
    events = await collect(resilient(client, clock))

    assert events[0] == TextDelta(text="ye")
    assert isinstance(events[1], Restart)
    assert events[2:] == list(GOOD)


async def test_fallback_models_follow_in_order() -> None:
    clock = Clock()
    client = ScriptedClient((ModelError("404"),), (BUSY,), (BUSY,), GOOD)
    events = await collect(
        resilient(client, clock, fallback_models=("first", "second", "third"), max_retries=1)
    )

    assert client.models == ["first", "second", "second", "third"]
    assert [(event.model, event.attempt) for event in events if isinstance(event, Restart)] == [
        ("second", 2),
        ("second", 3),
        ("third", 4),
    ]


async def test_when_all_models_fail_the_last_error_is_raised() -> None:
    client = ScriptedClient((ModelError("one"),), (ModelError("two"),))

    with pytest.raises(ModelError, match="two"):
        await collect(resilient(client, Clock(), fallback_models=("second",)))


async def test_a_prompt_that_is_too_long_goes_to_nobody_else() -> None:
    client = ScriptedClient((ContextOverflow("too long"),))

    with pytest.raises(ContextOverflow):
        await collect(resilient(client, Clock(), fallback_models=("second",)))

    assert client.models == ["first"]


async def test_closing_and_the_profile_reach_the_client() -> None:
    client = ScriptedClient()
    wrapped = resilient(client, Clock())
    await wrapped.warm(())
    await wrapped.aclose()

    assert client.is_closed
    assert wrapped.profile is client.profile


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="max_retries"):
        Resilient(ScriptedClient(), max_retries=-1)
    with pytest.raises(ValueError, match="fallback model"):
        Resilient(ScriptedClient(), fallback_models=("",))
