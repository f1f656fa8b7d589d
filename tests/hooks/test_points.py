"""The points fit together: what is said of them holds, and what handlers keep reaches the next point."""

import asyncio
import re

import pytest

from bot.hooks import (
    AddFile,
    BeforeAgentStart,
    BeforeModelCall,
    Bootstrap,
    Change,
    ChangeMessages,
    ChangeRequest,
    Deny,
    Hooks,
    Inject,
    MessageSending,
    Override,
    PromptBuilt,
    RemoveFile,
    RequireApproval,
    WorkspaceFile,
    turn_state,
)
from bot.hooks.base import AnyPoint, changes_of, stops_of
from bot.hooks.points import ALL, POINTS
from bot.models.base import ModelRequest, PromptMessage
from tests.factories import inbound
from tests.hooks.events import RUN, SESSION, complete, received, sending


def test_every_point_has_a_name_of_its_own() -> None:
    assert len(POINTS) == len(ALL)
    assert all(re.fullmatch("[a-z_]+", name) for name in POINTS)


@pytest.mark.parametrize("point", ALL, ids=lambda point: point.name)
def test_only_points_that_ask_in_turn_or_at_once_have_effects(point: type[AnyPoint]) -> None:
    has_effects = bool(changes_of(point) or stops_of(point))

    assert has_effects == (point.kind in ("modifying", "synchronous"))


@pytest.mark.parametrize("point", ALL, ids=lambda point: point.name)
def test_what_a_broken_security_handler_does_is_an_effect_of_the_point(point: type[AnyPoint]) -> None:
    assert point.blocked is None or isinstance(point.blocked, (*changes_of(point), *stops_of(point)))


@pytest.mark.parametrize("point", ALL, ids=lambda point: point.name)
def test_every_point_that_can_be_stopped_can_be_blocked(point: type[AnyPoint]) -> None:
    assert point.blocked is not None or not stops_of(point)


@pytest.mark.parametrize("point", ALL, ids=lambda point: point.name)
def test_no_field_of_an_event_hides_what_is_said_of_its_point(point: type[AnyPoint]) -> None:
    said = {"name", "kind", "limit", "blocked"}

    assert said.isdisjoint(point.__struct_fields__)
    assert isinstance(point.limit, float)


async def test_files_are_added_replaced_and_removed() -> None:
    hooks = Hooks()
    hooks.on("bootstrap", lambda event: AddFile(name="TEAM.md", text="We are five."))
    hooks.on("bootstrap", lambda event: AddFile(name="USER.md", text="Ann, and nobody else."))
    hooks.on("bootstrap", lambda event: RemoveFile(name="SOUL.md"))
    files = (WorkspaceFile(name="USER.md", text="Ann"), WorkspaceFile(name="SOUL.md", text="calm"))

    left = await hooks.fire(Bootstrap(session=SESSION, files=files))

    assert left.files == (
        WorkspaceFile(name="TEAM.md", text="We are five."),
        WorkspaceFile(name="USER.md", text="Ann, and nobody else."),
    )


async def test_instructions_are_added_and_replaced() -> None:
    hooks = Hooks()
    hooks.on("before_agent_start", lambda event: Inject(text="Be short."))
    hooks.on("before_agent_start", lambda event: Override(text="You are a parrot."))
    hooks.on("before_agent_start", lambda event: Inject(text="Speak French."))

    left = await hooks.fire(BeforeAgentStart(message=inbound()))

    assert left.injected == ("Be short.", "Speak French.")
    assert left.override == "You are a parrot."


async def test_a_prompt_is_replaced() -> None:
    hooks = Hooks()
    messages = (PromptMessage(role="user", content="hi"),)
    hooks.on("prompt", lambda event: ChangeMessages(messages=(*event.messages, *messages)))

    left = await hooks.fire(PromptBuilt(message=inbound(), messages=messages))

    assert left.messages == messages * 2


async def test_a_call_of_the_model_is_changed_and_denied() -> None:
    hooks = Hooks()
    request = ModelRequest(model="big", messages=(), max_completion_tokens=10)
    small = ModelRequest(model="small", messages=(), max_completion_tokens=10)
    seen = []

    def deny(event: BeforeModelCall) -> Deny:
        seen.append(event.request.model)
        return Deny(reason="The budget is spent.")

    hooks.on(BeforeModelCall, lambda event: ChangeRequest(request=small))
    hooks.on(BeforeModelCall, deny)

    left = await hooks.fire(BeforeModelCall(session=SESSION, run=RUN, request=request, step=1))

    assert seen == ["small"]
    assert left == Deny(reason="The budget is spent.")


@pytest.mark.parametrize("seconds", [0, -1, 601, float("nan")])
def test_an_approval_has_a_time_limit(seconds: float) -> None:
    with pytest.raises(ValueError, match="up to 600 seconds"):
        RequireApproval(title="Delete it?", seconds=seconds)


def test_text_of_an_effect_is_text() -> None:
    with pytest.raises(TypeError, match="Deny: reason is text, not NoneType"):
        Deny(reason=None)  # type: ignore[arg-type]  # what is refused


# --- what handlers keep


async def test_what_a_handler_keeps_reaches_the_other_points_of_its_turn_and_no_other_turn() -> None:
    hooks = Hooks()
    both = asyncio.Barrier(2)

    async def note(event: object) -> None:
        assert isinstance(event, type(received()))
        event.context["greeter.heard"] = event.message.text
        await both.wait()  # both turns have noted theirs before one goes on

    hooks.on("message_received", note)
    hooks.on(MessageSending, lambda event: Change(text=f"heard {event.context.get('greeter.heard')}"))

    async def turn(text: str) -> str:
        with turn_state():
            await hooks.fire(received(text))
            fire = hooks.fire(sending())
            left = await asyncio.create_task(fire)  # a tool's task belongs to the turn, too
            assert isinstance(left, MessageSending)
            return left.text

    async with asyncio.timeout(5):
        first, second = await asyncio.gather(turn("one"), turn("two"))

    assert (first, second) == ("heard one", "heard two")


def test_outside_of_a_turn_nothing_is_shared() -> None:
    complete().context["greeter.heard"] = "one"

    assert complete().context == {}


def test_the_mapping_ends_with_the_turn() -> None:
    with turn_state() as first:
        first["greeter.heard"] = "one"
    with turn_state() as second:
        inside = dict(second)

    assert inside == {}
    assert sending().context == {}
