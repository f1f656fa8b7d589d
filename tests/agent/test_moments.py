"""The moments of a turn: what handlers are told, and what becomes of a turn by their answers."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from bot.agent.compaction import Summary
from bot.agent.moments import NO_OVERSIGHT, Moments, OnEnd
from bot.agent.prompt import Prompt
from bot.agent.publishing import end_of
from bot.agent.run import Outcome, Run
from bot.agent.store import Pending
from bot.agent.workspace import Workspace
from bot.bus import LocalBus
from bot.errors import ModelError, StoreError
from bot.hooks import Hooks
from bot.hooks.base import AnyPoint
from bot.hooks.effects import (
    AddFile,
    Change,
    ChangeMessages,
    ChangeRequest,
    Deny,
    Drop,
    Effect,
    Inject,
    NextRound,
    Override,
    RemoveFile,
    Reply,
)
from bot.hooks.points import (
    ALL,
    BLOCKED,
    WITHHELD,
    AfterCompaction,
    AgentEnded,
    BeforeAgentStart,
    BeforeCompaction,
    BeforeModelCall,
    Bootstrap,
    CommandGiven,
    MessageReceived,
    MessageSending,
    MessageSent,
    PromptBuilt,
    ResponseComplete,
    ResponseUpdate,
    SessionStart,
    StatusChanged,
)
from bot.messages import Attachment, Button, EndReason, InboundMessage, RunId, SessionKey, Trigger, utc_now
from bot.models.base import ModelRequest, PromptMessage
from tests.factories import inbound

SESSION = SessionKey("web:default:main")
PROMPT = Prompt(messages=(PromptMessage(role="system", content="Be kind."),), tokens=7)
SUMMARY = Summary(text="They talked.", tokens=3, upto=9, at=utc_now())
DONE = Outcome(reason="done", text="an answer", attachments=(Attachment(kind="file", name="a.txt"),))


def asking(*effects: tuple[type[AnyPoint], Effect]) -> Moments:
    """Moments whose handlers answer so."""
    hooks = Hooks()
    for point, effect in effects:
        hooks.on(point.name, partial(_give, effect))
    return Moments(hooks)


def _give(effect: Effect, event: AnyPoint) -> Effect:
    return effect


def breaking(point: type[AnyPoint], *, is_security: bool) -> Moments:
    """Moments with a handler that fails."""
    hooks = Hooks()
    hooks.on(point.name, lambda event: 1 / 0, is_security=is_security)
    return Moments(hooks)


def run_of(message: InboundMessage) -> Run:
    return Run(Pending(message=message, attempts=0), LocalBus())


# --- a message and a command


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [
        (Drop(), Outcome(reason="silent", text="")),
        (Deny(reason="Not at night."), Outcome(reason="error", text="Not at night.")),
        (
            Reply(text="Hi.", buttons=(Button(label="x", value="y"),)),
            Outcome(reason="done", text="Hi.", buttons=(Button(label="x", value="y"),)),
        ),
    ],
)
async def test_a_message_ends_without_a_turn_where_a_handler_wants_it(
    effect: Drop | Deny | Reply, outcome: Outcome
) -> None:
    assert await asking((MessageReceived, effect)).received(inbound()) == outcome


async def test_a_message_goes_on_as_handlers_leave_it() -> None:
    message = inbound("hello")
    received = await asking((MessageReceived, Change(text="HELLO"))).received(message)

    assert isinstance(received, InboundMessage)
    assert (received.text, received.run) == ("HELLO", message.run)
    assert await Moments().received(message) is message


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [
        (Deny(reason="No."), Outcome(reason="error", text="No.", in_context=False)),
        (Reply(text="Yes."), Outcome(reason="done", text="Yes.", in_context=False)),
    ],
)
async def test_a_command_is_answered_by_a_handler_for_people_only(
    effect: Deny | Reply, outcome: Outcome
) -> None:
    assert await asking((CommandGiven, effect)).command(inbound("/new")) == outcome


@pytest.mark.parametrize(
    ("text", "name"),
    [("/new", "new"), ("!New  talk", "New"), ("  /reset now", "reset"), ("/", ""), ("", ""), ("/ !", "")],
)
async def test_a_handler_is_told_the_name_of_a_command(text: str, name: str) -> None:
    hooks, told = Hooks(), list[CommandGiven]()
    hooks.on(CommandGiven, told.append)

    assert await Moments(hooks).command(inbound(text)) is None
    assert [event.command for event in told] == [name]


async def test_a_guard_that_fails_blocks_and_any_other_handler_is_passed_over() -> None:
    message = inbound()
    blocked = Outcome(reason="error", text=BLOCKED)

    assert await breaking(MessageReceived, is_security=True).received(message) == blocked
    assert await breaking(MessageReceived, is_security=False).received(message) == message
    command = await breaking(CommandGiven, is_security=True).command(inbound("/new"))
    assert command == Outcome(reason="error", text=BLOCKED, in_context=False)
    assert await breaking(CommandGiven, is_security=False).command(inbound("/new")) is None


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_session_starts_once(is_first: bool) -> None:
    hooks, told = Hooks(), list[SessionStart]()
    hooks.on(SessionStart, told.append)
    message = inbound()

    await Moments(hooks).begun(message, is_first=is_first)

    assert [(event.session, event.address) for event in told] == [(SESSION, message.address)] * is_first


# --- the prompt


async def test_instructions_are_added_in_order_and_replaced_by_the_last() -> None:
    added = asking((BeforeAgentStart, Inject(text="One.")), (BeforeAgentStart, Inject(text="Two.")))
    both = asking(
        (BeforeAgentStart, Override(text="Old.")),
        (BeforeAgentStart, Inject(text="More.")),
        (BeforeAgentStart, Override(text="New.")),
    )

    assert await added.instructions(inbound()) == ("One.\n\nTwo.", None)
    assert await both.instructions(inbound()) == ("More.", "New.")


async def test_a_prompt_is_changed_as_a_whole() -> None:
    other = (PromptMessage(role="user", content="Hello"),)
    changed = await asking((PromptBuilt, ChangeMessages(messages=other))).prompt(inbound(), PROMPT)

    assert changed == Prompt(messages=other, tokens=7)


async def test_files_of_the_workspace_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("I am Robin.")
    (tmp_path / "USER.md").write_text("Ann likes tea.")
    moments = asking(
        (Bootstrap, RemoveFile(name="SOUL.md")),
        (Bootstrap, AddFile(name="TODAY.md", text="It rains.")),
        (Bootstrap, AddFile(name="USER.md", text="Ann likes cake.")),
    )

    texts = await moments.files(SESSION, Workspace(tmp_path))

    assert texts is not None
    assert texts.identity == ""
    assert texts.context == "# USER.md\nAnn likes cake.\n\n# TODAY.md\nIt rains."


# --- model calls and rounds

REQUEST = ModelRequest(model="small", messages=PROMPT.messages, max_completion_tokens=100)


async def test_a_model_call_is_changed_or_refused() -> None:
    other = ModelRequest(model="large", messages=PROMPT.messages, max_completion_tokens=5)
    run = run_of(inbound())

    changed = asking((BeforeModelCall, ChangeRequest(request=other))).oversight(run)
    refused = asking((BeforeModelCall, Deny(reason="Enough for today."))).oversight(run)
    broken = breaking(BeforeModelCall, is_security=True).oversight(run)

    assert await changed.look(REQUEST, 1) == other
    with pytest.raises(ModelError, match=r"^Enough for today\.$"):
        await refused.look(REQUEST, 1)
    with pytest.raises(ModelError, match=BLOCKED):
        await broken.look(REQUEST, 1)


async def test_a_handler_is_told_which_step_of_which_run_it_is() -> None:
    hooks, told = Hooks(), list[BeforeModelCall]()
    hooks.on(BeforeModelCall, told.append)
    run = run_of(inbound())

    assert await Moments(hooks).oversight(run).look(REQUEST, 3) == REQUEST
    assert [(event.run, event.session, event.step) for event in told] == [(run.id, SESSION, 3)]


async def test_all_that_handlers_want_next_makes_one_more_round() -> None:
    moments = asking((ResponseComplete, NextRound(text="a")), (ResponseComplete, NextRound(text="b")))
    run = run_of(inbound())

    assert await moments.complete(run, 1) == "a\n\nb"
    assert await moments.complete(run, 4) == "a\n\nb"
    assert await moments.complete(run, 5) is None


# --- the answer


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [
        (Change(text="[a secret]"), Outcome(reason="done", text="[a secret]", attachments=DONE.attachments)),
        (Drop(), Outcome(reason="silent", text="")),
        (Deny(reason="I may not say that."), Outcome(reason="error", text="I may not say that.")),
    ],
)
async def test_an_answer_is_changed_or_held_back(effect: Change | Drop | Deny, outcome: Outcome) -> None:
    assert await asking((MessageSending, effect)).sending(run_of(inbound()), DONE) == outcome


async def test_an_answer_that_a_guard_could_not_look_at_is_withheld_with_its_files() -> None:
    left = await breaking(MessageSending, is_security=True).sending(run_of(inbound()), DONE)

    assert left == Outcome(reason="error", text=WITHHELD)


@pytest.mark.parametrize("reason", ["error", "killed", "silent"])
async def test_what_is_no_answer_of_the_model_is_not_shown_to_handlers(reason: EndReason) -> None:
    outcome = Outcome(reason=reason, text="x")

    assert await asking((MessageSending, Drop())).sending(run_of(inbound()), outcome) is outcome


# --- what is only told


async def test_those_who_listen_hear_of_each_moment_in_order() -> None:
    points = (ResponseUpdate, StatusChanged, BeforeCompaction, AfterCompaction, MessageSent, AgentEnded)
    hooks, told = Hooks(), list[AnyPoint]()
    for point in points:
        hooks.on(point.name, told.append)
    moments, run = Moments(hooks), run_of(inbound())
    end = end_of(run.message, 1, DONE, seq=1)

    await moments.status(run, "model")
    await moments.grown(run, "an", replaces=False)
    await moments.compacting(run.message, (), tokens=900)
    await moments.compacted(SESSION, SUMMARY, lines=9)
    await moments.compacted(SESSION, None, lines=9)
    await moments.sent(end)
    await moments.ended(run, end, 1.5)
    await hooks.aclose()

    assert [type(event) for event in told] == [
        *(StatusChanged, ResponseUpdate, BeforeCompaction, AfterCompaction, MessageSent),
        *(StatusChanged, AgentEnded),
    ]
    assert [event.status for event in told if isinstance(event, StatusChanged)] == ["model", "done"]
    (last,) = (event for event in told if isinstance(event, AgentEnded))
    assert (last.reason, last.text, last.seconds) == ("done", "an answer", 1.5)


async def test_without_handlers_nothing_changes(tmp_path: Path) -> None:
    moments, message = Moments(), inbound()
    run = run_of(message)

    assert await moments.instructions(message) == ("", None)
    assert await moments.prompt(message, PROMPT) is PROMPT
    assert await moments.files(SESSION, Workspace(tmp_path)) is None
    assert moments.oversight(run) is NO_OVERSIGHT
    assert await moments.complete(run, 1) is None
    assert await moments.sending(run, DONE) is DONE
    assert await moments.command(inbound("/new")) is None


async def test_a_listener_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    run = run_of(inbound())

    await breaking(StatusChanged, is_security=False).status(run, "model")
    await breaking(ResponseUpdate, is_security=False).grown(run, "a", replaces=True)

    assert caplog.text.count("hook handler failed") == 2


# --- schedules


def noting(told: list[tuple[RunId, EndReason]]) -> OnEnd:
    async def note(run: RunId, reason: EndReason) -> None:
        told.append((run, reason))

    return note


@pytest.mark.parametrize("trigger", list(Trigger))
async def test_a_schedule_is_told_how_its_turn_has_ended_and_of_no_other(trigger: Trigger) -> None:
    told: list[tuple[RunId, EndReason]] = []
    run = run_of(inbound(trigger=trigger))

    await Moments(on_scheduled_end=noting(told)).ended(run, end_of(run.message, 1, DONE, seq=1), 1.0)

    assert told == [(run.id, "done")] * (trigger is Trigger.SCHEDULE)


async def test_a_turn_has_ended_also_where_the_schedule_could_not_be_told() -> None:
    async def fail(run: RunId, reason: EndReason) -> None:
        raise StoreError("the disk is full")

    hooks, told = Hooks(), list[StatusChanged]()
    hooks.on(StatusChanged, told.append)
    run = run_of(inbound(trigger=Trigger.SCHEDULE))

    await Moments(hooks, on_scheduled_end=fail).ended(run, end_of(run.message, 1, DONE, seq=1), 1.0)

    assert [event.status for event in told] == ["done"]


Ask = Callable[[Moments, Run], Awaitable[object]]

ASKED: dict[type[AnyPoint], Ask] = {
    SessionStart: lambda moments, run: moments.begun(run.message, is_first=True),
    MessageReceived: lambda moments, run: moments.received(run.message),
    CommandGiven: lambda moments, run: moments.command(run.message),
    BeforeAgentStart: lambda moments, run: moments.instructions(run.message),
    PromptBuilt: lambda moments, run: moments.prompt(run.message, PROMPT),
    Bootstrap: lambda moments, run: moments.files(SESSION, Workspace(Path("nowhere"))),
    BeforeModelCall: lambda moments, run: moments.oversight(run).look(REQUEST, 1),
    ResponseUpdate: lambda moments, run: moments.grown(run, "a", replaces=False),
    ResponseComplete: lambda moments, run: moments.complete(run, 1),
    MessageSending: lambda moments, run: moments.sending(run, DONE),
    StatusChanged: lambda moments, run: moments.status(run, "model"),
    BeforeCompaction: lambda moments, run: moments.compacting(run.message, (), tokens=1),
    AfterCompaction: lambda moments, run: moments.compacted(SESSION, SUMMARY, lines=1),
    MessageSent: lambda moments, run: moments.sent(end_of(run.message, 1, DONE, seq=1)),
    AgentEnded: lambda moments, run: moments.ended(run, end_of(run.message, 1, DONE, seq=1), 1.0),
}
ELSEWHERE = {"gateway_start", "gateway_stop", "session_end", "before_tool_call", "after_tool_call"} | {
    "tool_result_persist"
}


@pytest.mark.parametrize("point", ASKED)
async def test_each_moment_asks_the_handlers_of_its_own_point_once(point: type[AnyPoint]) -> None:
    hooks, told = Hooks(), list[AnyPoint]()
    for other in ALL:
        hooks.on(other.name, told.append)

    await ASKED[point](Moments(hooks), run_of(inbound()))
    await hooks.aclose()

    assert [type(event) for event in told if type(event) is point] == [point]
    assert {type(event) for event in told} <= {point, StatusChanged}


def test_every_point_of_a_turn_has_its_moment() -> None:
    assert {point.name for point in ASKED} | ELSEWHERE == {point.name for point in ALL}
