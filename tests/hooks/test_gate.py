"""Hooks before a tool's call: other arguments, denials, and people who are asked."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bot.hooks import BeforeToolCall, ChangeArguments, Deny, HookGate, Hooks, RequireApproval
from bot.hooks.effects import Resolution
from bot.hooks.points import BLOCKED
from bot.messages import Address, InboundMessage
from bot.tools.base import Arguments, Denied, Gate, ToolContext
from tests.hooks.events import a_call, a_tool


@dataclass
class People:
    """Fulfils `Questions`: answers what a test wrote down, and remembers what was asked."""

    answer: str | None = None
    asked: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    async def ask(
        self,
        context: ToolContext,
        text: str,
        *,
        options: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        seconds: float,
        answerers: Callable[[InboundMessage], bool] | None = None,
        address: Address | None = None,
        takes_text: bool = True,
    ) -> str | None:
        """See `Questions.ask`."""
        assert (options, words, takes_text) == (("Allow", "Deny"), ("allow", "deny"), False)
        self.asked.append(text)
        self.seconds.append(seconds)
        return self.answer


async def judge(hooks: Hooks, people: People | None = None, **arguments: object) -> Arguments | Denied:
    gate: Gate = HookGate(hooks, people)
    return await gate.judge(a_tool(), arguments, a_call())


async def test_without_handlers_the_arguments_stay_the_same() -> None:
    given: Arguments = {"text": "hi"}

    assert await HookGate(Hooks()).judge(a_tool(), given, a_call()) is given


async def test_a_handler_without_an_opinion_leaves_the_arguments_the_same() -> None:
    hooks, given = Hooks(), {"text": "hi"}
    hooks.on(BeforeToolCall, lambda event: None)

    assert await HookGate(hooks).judge(a_tool(), given, a_call()) is given


async def test_arguments_are_changed() -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: ChangeArguments(arguments={**event.arguments, "times": 2}))

    assert await judge(hooks, text="hi") == {"text": "hi", "times": 2}


async def test_arguments_are_changed_by_an_effect_alone(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    def meddle(event: BeforeToolCall) -> None:
        event.arguments["text"] = "something else"  # type: ignore[index]  # what is refused

    hooks.on(BeforeToolCall, meddle)

    assert await judge(hooks, text="hi") == {"text": "hi"}
    assert "hook handler failed" in caplog.text


async def test_a_denial_is_told_to_the_model() -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: Deny(reason=f"No {event.tool.name} at night."))

    assert await judge(hooks, text="hi") == Denied(reason="No shout at night.")


async def test_a_security_handler_that_breaks_denies() -> None:
    hooks = Hooks()
    hooks.on("before_tool_call", lambda event: 1 / 0, is_security=True)

    assert await judge(hooks, text="hi") == Denied(reason=BLOCKED)


def asks(
    told: list[Resolution] | None = None, on_timeout: str = "deny"
) -> Callable[[BeforeToolCall], RequireApproval]:
    return lambda event: RequireApproval(
        title="Shout?",
        description="The neighbours may hear it.",
        seconds=30,
        on_timeout="allow" if on_timeout == "allow" else "deny",
        on_resolved=told.append if told is not None else None,
    )


@pytest.mark.parametrize(
    ("answer", "on_timeout", "resolution", "is_allowed"),
    [
        ("Allow", "deny", "allowed", True),
        ("Deny", "allow", "denied", False),
        ("whatever", "allow", "denied", False),
        (None, "deny", "timeout", False),
        (None, "allow", "timeout", True),
    ],
)
async def test_a_person_decides(
    answer: str | None, on_timeout: str, resolution: Resolution, is_allowed: bool
) -> None:
    hooks, people = Hooks(), People(answer)
    told: list[Resolution] = []
    hooks.on(BeforeToolCall, asks(told, on_timeout))

    judged = await judge(hooks, people, text="hi")

    assert isinstance(judged, Denied) is not is_allowed
    assert told == [resolution]
    assert people.seconds == [30]


async def test_the_person_sees_the_arguments_that_the_call_has_in_the_end() -> None:
    hooks, people = Hooks(), People("Allow")
    hooks.on(BeforeToolCall, asks(), priority=1)
    hooks.on(BeforeToolCall, lambda event: ChangeArguments(arguments={"text": "`fire!`"}))

    await judge(hooks, people, text="hi")

    assert "`shout(text=''fire!'')`" in people.asked[0]
    assert "The neighbours may hear it." in people.asked[0]


async def test_no_secret_is_shown_to_who_is_asked() -> None:
    hooks, people = Hooks(), People("Allow")
    hooks.on(BeforeToolCall, asks())
    gate = HookGate(hooks, people, redact=lambda text: text.replace("swordfish", "***"))

    judged = await gate.judge(a_tool(), {"text": "swordfish"}, a_call())

    assert "text='***'" in people.asked[0]
    assert judged == {"text": "swordfish"}


async def test_a_question_has_a_bounded_length() -> None:
    hooks, people = Hooks(), People("Allow")
    hooks.on(BeforeToolCall, asks())

    await judge(hooks, people, text="a" * 100_000)

    assert len(people.asked[0]) < 1_000


async def test_a_denial_ranks_above_an_approval() -> None:
    hooks, people = Hooks(), People("Allow")
    hooks.on(BeforeToolCall, asks(), priority=1)
    hooks.on(BeforeToolCall, lambda event: Deny(reason="never"))

    assert await judge(hooks, people, text="hi") == Denied(reason="never")
    assert people.asked == []


async def test_each_approval_is_asked_for_until_one_is_refused() -> None:
    hooks, people = Hooks(), People("Deny")
    hooks.on(BeforeToolCall, asks())
    hooks.on(BeforeToolCall, asks())

    await judge(hooks, people, text="hi")
    people.answer = "Allow"
    await judge(hooks, people, text="hi")

    assert len(people.asked) == 1 + 2


async def test_where_nobody_can_be_asked_the_call_is_denied() -> None:
    hooks = Hooks()
    told: list[Resolution] = []
    hooks.on(BeforeToolCall, asks(told, "allow"))

    judged = await judge(hooks, None, text="hi")

    assert isinstance(judged, Denied)
    assert told == ["denied"]


async def test_a_plugin_that_breaks_when_it_is_told_changes_nothing() -> None:
    hooks = Hooks()
    hooks.on(
        BeforeToolCall, lambda event: RequireApproval(title="Shout?", on_resolved=lambda resolution: 1 / 0)
    )

    assert await judge(hooks, People("Allow"), text="hi") == {"text": "hi"}
