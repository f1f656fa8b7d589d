"""Handlers are looked at when they are registered, and refused in words."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from bot.hooks import Change, Hooks, MessageReceived, MessageSending, ToolResultPersist, declare_hook, hook


async def looks(event: MessageSending) -> None:
    """Sees it."""


class Watcher:
    """A handler that is an object, and one that is a method."""

    async def __call__(self, event: MessageSending) -> None: ...

    async def watch(self, event: MessageSending) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [
        looks,
        Watcher(),
        Watcher().watch,
        functools.partial(looks),
        lambda event: None,
        lambda *events: None,
        lambda event, more=1: None,
        print,
    ],
)
def test_whatever_takes_one_event_can_be_a_handler(handler: Callable[[Any], object]) -> None:
    assert declare_hook("message_sending", handler).handler is handler


@pytest.mark.parametrize(
    "handler",
    [lambda: None, lambda one, two: None, lambda *, event: None],
)
def test_what_does_not_take_one_event_is_refused(handler: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match=r"message_sending.*one argument"):
        declare_hook("message_sending", handler)


def test_what_can_not_be_called_is_refused() -> None:
    with pytest.raises(ValueError, match="can't be called"):
        declare_hook("message_sending", "looks")  # type: ignore[call-overload]  # what is refused


def test_a_handler_for_the_event_of_another_point_is_refused() -> None:
    with pytest.raises(ValueError, match="takes a MessageSending, and gets a MessageReceived"):
        declare_hook("message_received", looks)


@pytest.mark.parametrize("handler", [looks, Watcher(), Watcher().watch, functools.partial(looks)])
def test_an_async_handler_is_refused_where_nobody_can_wait(handler: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="not async"):
        declare_hook("tool_result_persist", handler)


@pytest.mark.parametrize("seconds", [0, -1, 601, float("nan"), float("inf")])
def test_a_time_limit_is_more_than_nothing_and_at_most_ten_minutes(seconds: float) -> None:
    with pytest.raises(ValueError, match="at most 600"):
        declare_hook("message_sending", looks, seconds=seconds)


@pytest.mark.parametrize(("point", "seconds"), [("message_sending", 5.0), ("agent_end", 30.0)])
def test_a_handler_has_the_time_of_its_point(point: str, seconds: float) -> None:
    assert declare_hook(point, lambda event: None).seconds == seconds


@pytest.mark.parametrize("point", ["gateway_start", "response_update", "agent_end", "prompt", "bootstrap"])
def test_security_is_refused_where_nothing_can_be_blocked(point: str) -> None:
    with pytest.raises(ValueError, match="nothing can be blocked"):
        declare_hook(point, lambda event: None, is_security=True)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("message_sendng", "message_sending"),
        ("userMessageReceived", "message_received"),
        ("before_model_resolve", "before_model_call"),
        ("command:new", "command"),
    ],
)
def test_an_unknown_point_is_refused_with_the_name_it_has_here(wrong: str, right: str) -> None:
    with pytest.raises(ValueError, match=f"no hook point '{wrong}': is it {right}"):
        declare_hook(wrong, lambda event: None)


def test_a_point_that_resembles_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no hook point 'xyzzy'$"):
        declare_hook("xyzzy", lambda event: None)


async def test_a_decorated_function_can_be_registered() -> None:
    @hook(ToolResultPersist, priority=3, is_security=True)
    def hide(event: ToolResultPersist) -> Change:
        return Change(text="hidden")

    hooks = Hooks()
    hooks.add(hide)

    assert hooks.all == (hide,)
    assert (hide.priority, hide.is_security, hide.point) == (3, True, ToolResultPersist)
    assert hooks.wants(ToolResultPersist)
    assert not hooks.wants(MessageReceived)


def test_types_that_can_not_be_read_keep_no_handler_out() -> None:
    def later(event: "NotThere") -> None:  # type: ignore[name-defined]  # noqa: F821 - what is tested
        """Written by somebody who imports the type for the type checker alone."""

    assert declare_hook("message_sending", later).handler is later
