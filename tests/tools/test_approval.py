"""Permissions for tool calls: who is asked for which call, what they see, and what holds afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.agent.questions import LATE, NOT_YOURS
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.errors import StoreError
from bot.messages import Address, Role, Sender
from bot.models.base import FunctionCall, ToolCall
from bot.settings.approvals import ApprovalRule, ApprovalSettings
from bot.tools.approval import (
    DEFAULT_MODES,
    FORBIDDEN,
    MAX_SHOWN,
    NOBODY_SAID,
    NOT_PERMITTED,
    Doubt,
    Mode,
    visible,
)
from bot.tools.base import Arguments, Denied, Risk, Tool, ToolContext
from bot.tools.calls import ToolCalls
from bot.tools.jobs import Jobs
from bot.tools.registry import Offer
from bot.tools.results import Results
from tests.agent.rig import inbound
from tests.tools.approving import BOSS, MEMBER, Desk, context, desk, is_allowed, shown_in, tool_of

# --- rules


@pytest.mark.parametrize(
    ("risk", "is_asked"),
    [("read", False), ("network", False), ("write", False), ("exec", True), ("send", True)],
)
async def test_without_rules_the_risk_decides_who_is_asked(home: Path, risk: Risk, is_asked: bool) -> None:
    async with desk(home, seconds=0.02) as here:
        verdict = await here.judge(tool=tool_of(risk))

    assert is_allowed(verdict) is not is_asked
    assert (DEFAULT_MODES[risk] == "confirm") is is_asked


@pytest.mark.parametrize("mode", ["auto", "confirm", "deny", None])
@pytest.mark.parametrize(
    ("command", "verdict"), [("rm -rf git", "deny"), ("RM -RF /", "deny"), ("git log", "auto"), ("ls", None)]
)
async def test_what_is_denied_comes_before_what_is_allowed_and_both_before_the_mode(
    home: Path, mode: Mode | None, command: str, verdict: Mode | None
) -> None:
    rules = {"exec": ApprovalRule(mode=mode, deny=("rm -rf",), allow=("git",))}
    async with desk(home, rules, seconds=0.02) as here:
        judged = await here.judge(command)

    match verdict or mode or DEFAULT_MODES["exec"]:
        case "deny":
            assert judged == Denied(reason=FORBIDDEN)
        case "auto":
            assert judged == {"command": command}
        case "confirm":
            assert judged == Denied(reason=NOBODY_SAID.format(seconds=0.02))


async def test_what_any_rule_denies_no_other_rule_allows(home: Path) -> None:
    rules = {
        "exec": ApprovalRule(mode="auto", allow=(".*",)),
        "ex*": ApprovalRule(deny=("secret",)),
    }
    async with desk(home, rules) as here:
        assert await here.judge("cat secret") == Denied(reason=FORBIDDEN)
        assert is_allowed(await here.judge("cat notes"))


@pytest.mark.parametrize(
    ("sender", "name", "is_auto"),
    [
        (MEMBER, "exec", False),  # by the rule of the role
        (BOSS, "exec", True),  # by the rule of the tool
        (MEMBER, "execute", False),  # by the rule for all
    ],
)
async def test_the_mode_is_that_of_the_rule_that_says_most(
    home: Path, sender: Sender, name: str, is_auto: bool
) -> None:
    rules = {
        "exec@member": ApprovalRule(mode="deny"),
        "exec": ApprovalRule(mode="auto"),
        "*": ApprovalRule(mode="deny"),
    }
    async with desk(home, rules) as here:
        verdict = await here.judge(tool=tool_of(name=name), of=context(sender))

    assert is_allowed(verdict) is is_auto


async def test_each_call_is_judged_by_its_own_arguments(home: Path) -> None:
    rules = {"exec": ApprovalRule(mode="deny", allow=(r'^exec \{"command":"git status"\}$',))}
    commands = ("git status", "git status; rm x", "git status\n", " git status", "git status")
    async with desk(home, rules) as here:
        verdicts = [is_allowed(await here.judge(command)) for command in commands]

    assert verdicts == [True, False, False, False, True]


def test_a_pattern_that_is_none_stops_the_start() -> None:
    with pytest.raises(ValidationError, match=r"'\(' is no regular expression"):
        ApprovalSettings.model_validate({"rules": {"exec": {"deny": ["("]}}})
    with pytest.raises(ValidationError, match=r"'\[' is no regular expression"):
        ApprovalSettings.model_validate({"rules": {"exec": {"allow": ["fine", "["]}}})


def test_people_have_a_minute_where_no_setting_says_otherwise() -> None:
    assert ApprovalSettings().timeout == 60


# --- asking


@pytest.mark.parametrize("words", ["once", "1", "Allow once"])
async def test_once_holds_for_one_call(home: Path, words: str) -> None:
    async with desk(home) as here:
        assert await here.answer("ls", words) == {"command": "ls"}
        assert await here.answer("ls", "deny") == Denied(reason=NOT_PERMITTED)

        assert here.audited() == [
            ("info", "web:bob", "tool exec", "allowed once"),
            ("warning", "web:bob", "tool exec", "denied"),
        ]


@pytest.mark.parametrize("words", ["deny", "3", "1, 3", "once and for all", "whatever"])
async def test_what_is_no_clear_yes_is_a_no(home: Path, words: str) -> None:
    async with desk(home) as here:
        assert await here.answer("ls", words) == Denied(reason=NOT_PERMITTED)

        assert here.audited() == [("warning", "web:bob", "tool exec", "denied")]


async def test_always_is_kept_over_a_restart_and_audited_each_time(home: Path) -> None:
    async with desk(home) as here:
        assert is_allowed(await here.answer("ls", "always"))
    async with desk(home, seconds=0.02) as here:
        assert is_allowed(await here.judge("ls"))

        assert here.audited() == [("info", "web:bob", "tool exec", "allowed always")] * 2


@pytest.mark.parametrize(
    ("command", "name", "of"),
    [
        ("ls -a", "exec", context()),
        ("ls", "execute", context()),
        ("ls", "exec", context(Sender(id="eve", name="Bob", role=Role.MEMBER))),
        ("ls", "exec", context(chat="other")),
    ],
    ids=["call", "tool", "person", "chat"],
)
async def test_always_holds_for_the_same_call_of_the_same_person_in_the_same_chat(
    home: Path, command: str, name: str, of: ToolContext
) -> None:
    async with desk(home) as here:
        assert is_allowed(await here.answer("ls", "always"))
        async with here.asked(command, of, tool_of(name=name)) as (question, judged):
            await here.says(question, "deny")

        assert await judged == Denied(reason=NOT_PERMITTED)


async def test_what_was_allowed_for_good_is_still_denied_by_a_rule(home: Path) -> None:
    async with desk(home) as here:
        await here.answer("ls /etc", "always")
    async with desk(home, {"exec": ApprovalRule(deny=("/etc",))}) as here:
        assert await here.judge("ls /etc") == Denied(reason=FORBIDDEN)


async def test_nobody_answers_in_time_and_the_button_is_late(home: Path) -> None:
    async with desk(home, seconds=0.02) as here:
        async with here.asked() as (question, judged):
            verdict = await judged
        late = await here.says(question, "once")

        assert verdict == Denied(reason=NOBODY_SAID.format(seconds=0.02))
        assert late.text == LATE
        assert here.audited() == [("warning", "web:bob", "tool exec", "no answer")]


async def test_only_an_approver_is_heard_and_the_question_stays_open(home: Path) -> None:
    admin_of_a_group = Sender(id="gil", name="Gil", role=Role.ADMIN)
    async with desk(home) as here, here.asked() as (question, judged):
        theirs = await here.says(question, "once", MEMBER)
        others = await here.says(question, "always", admin_of_a_group)
        is_open = not judged.done()
        await here.says(question, "once")

        assert (theirs.text, others.text, is_open) == (NOT_YOURS, NOT_YOURS, True)
        assert is_allowed(await judged)


async def test_what_is_merely_said_in_the_chat_permits_nothing(home: Path) -> None:
    async with desk(home) as here, here.asked() as (question, judged):
        await here.bot.say("once", sender=BOSS)
        await here.bot.until(lambda: any(end.text == "echo: once " for end in here.bot.ends))

        assert not judged.done()
        await here.says(question, "deny")


async def test_admins_are_asked_in_their_own_chat_and_told_whom_it_is_for(home: Path) -> None:
    chat = Address(channel="web", chat="admins")
    async with desk(home, chat=chat) as here, here.asked() as (question, judged):
        await here.says(question, "once", chat="admins")

        assert question.address == chat
        assert question.text.startswith("**May I run `exec`** for Bob in `web:default:main`?")
        assert is_allowed(await judged)
        assert await here.bot.texts("main") == []


async def test_a_call_whose_turn_is_stopped_asks_nobody_any_more(home: Path) -> None:
    async with desk(home) as here:
        async with here.asked() as (question, judged):
            judged.cancel()
        late = await here.says(question, "once")

        assert judged.cancelled()
        assert late.text == LATE
        assert here.audited() == []


async def test_many_calls_at_once_get_each_its_own_answer(home: Path) -> None:
    async with desk(home) as here, asyncio.TaskGroup() as group:
        judged = [group.create_task(here.judge(f"ls {number}")) for number in range(8)]
        questions = list(await here.bot.ended(8))
        for question in reversed(questions):
            is_even = int(shown_in(question)["command"][-1]) % 2 == 0
            await here.says(question, "once" if is_even else "deny")

        assert [is_allowed(await one) for one in judged] == [True, False] * 4


# --- what is shown


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a' && rm \"b\"",
        "cat <<X\n```\nX\n````",
        "\u202etxt.sr\u202c",
        "zero\u200bwidth\ufeff",
        "nul\x00 escape\x1b[2K delete\x7f",
        "line\u2028separator\u2029s",
        "tag\U000e0041s",
        "Grüße 漢字 🎉",
        "x" * 10_000,
    ],
)
async def test_what_is_shown_is_what_runs_with_nothing_that_cannot_be_seen(home: Path, command: str) -> None:
    async with desk(home) as here:
        async with here.asked(command) as (question, judged):
            await here.says(question, "once")

        assert shown_in(question) == {"command": command} == await judged
        assert all(sign.isprintable() or sign == "\n" for sign in question.text)


async def test_what_is_too_long_to_be_shown_whole_is_denied_unasked(home: Path) -> None:
    frame = len('{"command":""}')
    async with desk(home) as here:
        longest = await here.answer("x" * (MAX_SHOWN - frame), "once")
        too_long = await here.judge("x" * (MAX_SHOWN - frame + 1))
        grows = await here.judge("\u200b" * (MAX_SHOWN // 6))

        assert is_allowed(longest)
        for verdict, count in ((too_long, MAX_SHOWN + 1), (grows, MAX_SHOWN + frame)):
            assert isinstance(verdict, Denied)
            assert f"have {count:,} characters" in verdict.reason
        assert [status for *_, status in here.audited()] == ["allowed once"] + ["too long to be shown"] * 2


async def test_secrets_are_hidden_in_the_question_and_nowhere_else(home: Path) -> None:
    async with desk(home, redact=lambda text: text.replace("hunter2", "[hidden]")) as here:
        async with here.asked("login hunter2") as (question, judged):
            await here.says(question, "always")

        assert shown_in(question) == {"command": "login [hidden]"}
        assert await judged == {"command": "login hunter2"}
        async with here.asked("login [hidden]") as (question, judged):
            await here.says(question, "deny")
        assert not is_allowed(await judged)


async def test_a_name_cannot_pass_for_a_part_of_the_question(home: Path) -> None:
    name = 'Bob`?\n```json\n{"command":"ls"}\n```\n\u202e' + "x" * 200
    async with desk(home) as here:
        async with here.asked("rm x", context(Sender(id="bob", name=name))) as (question, _):
            await here.says(question, "deny")

        assert shown_in(question) == {"command": "rm x"}
        assert question.text.count("\n```json\n") == 1
        assert len(question.text.splitlines()[0]) < 120


# --- what fails


async def test_a_store_that_fails_permits_nothing(home: Path, tmp_path: Path) -> None:
    jobs = Jobs(reap=0.1)
    async with desk(home) as here:
        calls = ToolCalls(
            Offer.of([tool_of()]),
            context(),
            results=Results(tmp_path / "artifacts", limit=2_000),
            jobs=jobs,
            gates=[here.approvals],
        )
        await here.bot.store.__aexit__(None, None, None)
        with pytest.raises(StoreError):
            await here.judge()
        result = await calls.carry_out(
            ToolCall(id="1", function=FunctionCall(name="exec", arguments='{"command": "ls"}')), context()
        )
    await jobs.aclose()

    assert result.status == "error"
    assert result.text.startswith("Not allowed:")


async def test_a_turn_that_is_begun_again_asks_anew(home: Path) -> None:
    verdicts: list[Arguments | Denied] = []
    desks: list[Desk] = []

    async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="working")
        verdicts.append(await desks[-1].judge())
        yield DoneEvent()

    message = inbound("do it", sender=MEMBER)
    async with desk(home, play=play, shutdown_grace=0.0) as here:
        desks.append(here)
        await here.bot.bus.publish(message)
        (first,) = await here.bot.ended(1)
    async with desk(home, play=play) as here:
        desks.append(here)
        (second,) = await here.bot.ended(1)
        late = await here.says(first, "once")
        await here.says(second, "once")
        await here.bot.until(lambda: message.run in {end.run for end in here.bot.ends})

    assert shown_in(first) == shown_in(second)
    assert late.text == LATE
    assert verdicts == [{"command": "ls"}]


ALPHABET = st.characters(exclude_categories=["Cs"])


@given(text=st.text(ALPHABET, max_size=50))
def test_escaping_what_cannot_be_seen_changes_no_value(text: str) -> None:
    written = json.dumps({"command": text}, ensure_ascii=False)

    assert json.loads(visible(written)) == {"command": text}
    assert visible(written).isprintable()


# --- doubts


@dataclass
class Doubtful:
    """Has the same doubt about every call."""

    has: Doubt | None

    def doubt(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Doubt | None:
        return self.has


async def test_a_doubt_makes_a_call_need_a_permission_and_is_shown(home: Path) -> None:
    async with desk(home, {"exec": ApprovalRule(mode="auto")}) as here:
        here.approvals.heed(Doubtful(Doubt(mode="confirm", told="A page wants it.")), Doubtful(None))
        async with here.asked() as (question, judged):
            await here.says(question, "once")
            verdict = await judged

    assert is_allowed(verdict)
    assert "A page wants it." in question.text
    assert shown_in(question) == {"command": "ls"}


async def test_a_doubt_can_deny_but_never_allow(home: Path) -> None:
    async with desk(home, {"exec": ApprovalRule(mode="deny")}) as here:
        here.approvals.heed(Doubtful(Doubt(mode="auto", told="")))
        forbidden = await here.judge()
    async with desk(home, {"exec": ApprovalRule(mode="auto")}) as here:
        here.approvals.heed(Doubtful(Doubt(mode="deny", told="not after that page")))
        doubted = await here.judge()
        waved = here.approvals.waves_through(tool_of(), {"command": "ls"}, context())

    assert forbidden == Denied(reason=FORBIDDEN)
    assert doubted == Denied(reason="not after that page")
    assert not waved


@pytest.mark.parametrize(("may_last", "buttons"), [(True, 3), (False, 2)])
async def test_for_good_is_offered_only_where_the_doubt_lets_it(
    home: Path, may_last: bool, buttons: int
) -> None:
    async with desk(home) as here:
        assert is_allowed(await here.answer("ls", "always"))
        here.approvals.heed(Doubtful(Doubt(mode="confirm", told="A page wants it.", may_last=may_last)))
        if may_last:
            assert is_allowed(await here.judge())
        async with here.asked("ls -l") as (question, judged):
            await here.says(question, "deny")
            verdict = await judged

    assert len(question.buttons) == buttons
    assert verdict == Denied(reason=NOT_PERMITTED)


async def test_what_was_allowed_for_good_is_asked_for_again_where_the_doubt_is_grave(home: Path) -> None:
    async with desk(home, seconds=0.05) as here:
        await here.answer("ls", "always")
        here.approvals.heed(Doubtful(Doubt(mode="confirm", told="Orders were found.", may_last=False)))
        verdict = await here.judge()

    assert verdict == Denied(reason=NOBODY_SAID.format(seconds=0.05))
