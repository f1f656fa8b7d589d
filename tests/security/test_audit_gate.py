"""What the agent does with its tools is on record; in strict mode nothing is done that can't be."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.hooks.points import AfterToolCall
from bot.hooks.registry import Hooks
from bot.models.base import FunctionCall, ToolCall
from bot.telemetry import turn_context
from bot.tools.base import Risk, ToolContext
from bot.tools.calls import ToolCalls
from bot.tools.declare import declare
from bot.tools.jobs import Jobs
from bot.tools.registry import Offer
from bot.tools.results import Results
from security.audit import AuditGate, AuditLog, note_denied, note_hidden, note_result
from security.audit.files import list_readable
from security.audit.gate import REFUSED
from tests.agent.rig import inbound
from tests.security.test_audit import MemoryPointer

CONTEXT = ToolContext(message=inbound("do it"))


class Bench:
    """A log, and a tool of each risk behind its gate."""

    def __init__(self, home: Path, jobs: Jobs, *, is_strict: bool) -> None:
        self.directory = home / "audit"
        self.log = AuditLog(self.directory, MemoryPointer())
        self.hooks = Hooks()
        self.hooks.on(AfterToolCall, note_result(self.log))
        self._gate = AuditGate(self.log, is_strict=is_strict)
        self._results = Results(home / "artifacts", limit=2_000)
        self._jobs = jobs
        self.ran: list[str] = []

    def break_log(self) -> None:
        """From now on, nothing can be written."""
        self.directory.write_text("a file where the directory should be")

    async def call(self, risk: Risk, arguments: str = "{}") -> str:
        """Have the model call a tool; gives what it is told."""

        async def act(text: str = "", number: int = 0) -> str:
            """Do something."""
            self.ran.append(risk)
            return "done"

        tool = declare(act, risk=risk, name=f"do_{risk}")
        calls = ToolCalls(
            Offer.of([tool]),
            CONTEXT,
            results=self._results,
            jobs=self._jobs,
            hooks=self.hooks,
            gates=[self._gate],
        )
        call = ToolCall(id="c1", function=FunctionCall(name=tool.name, arguments=arguments))
        return (await calls.carry_out(call, CONTEXT)).text

    async def lines(self) -> list[dict[str, object]]:
        """What was written, at the end."""
        await self.log.aclose()
        await self.hooks.aclose()
        files = list_readable(self.directory)
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    opened = Jobs(reap=0.02)
    yield opened
    await opened.aclose()


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("risk", get_args(Risk))
async def test_every_attempt_and_its_result_are_on_record(
    home: Path, jobs: Jobs, risk: Risk, is_strict: bool
) -> None:
    bench = Bench(home, jobs, is_strict=is_strict)

    assert await bench.call(risk, '{"number": 7}') == "done"
    attempt, result = await bench.lines()
    assert (attempt["action"], attempt["actor"], attempt["target"]) == (
        f"tool attempt do_{risk}",
        "web:ann",
        "c1",
    )
    assert (result["action"], result["status"]) == (f"tool result do_{risk}", "ok")
    assert {line["run"] for line in (attempt, result)} == {CONTEXT.message.run}


async def test_what_is_sent_to_people_and_what_is_long_is_not_on_record(home: Path, jobs: Jobs) -> None:
    bench = Bench(home, jobs, is_strict=True)
    await bench.call("send", '{"text": "dear diary"}')
    await bench.call("exec", '{"text": "%s"}' % ("x" * 5_000))

    sent, _, executed, _ = await bench.lines()
    assert "diary" not in json.dumps(sent)
    assert len(str(executed["context"])) < 400


@pytest.mark.parametrize("risk", ["write", "exec", "send"])
async def test_in_strict_mode_nothing_acts_while_the_log_cannot_be_written(
    home: Path, jobs: Jobs, risk: Risk
) -> None:
    bench = Bench(home, jobs, is_strict=True)
    bench.break_log()

    assert REFUSED in await bench.call(risk)
    assert bench.ran == []
    await bench.log.aclose()


@pytest.mark.parametrize("risk", ["read", "network"])
async def test_in_strict_mode_what_does_not_act_goes_on(home: Path, jobs: Jobs, risk: Risk) -> None:
    bench = Bench(home, jobs, is_strict=True)
    bench.break_log()

    assert await bench.call(risk) == "done"
    await bench.log.aclose()


@pytest.mark.parametrize("risk", get_args(Risk))
async def test_without_strict_mode_everything_goes_on(home: Path, jobs: Jobs, risk: Risk) -> None:
    bench = Bench(home, jobs, is_strict=False)
    bench.break_log()

    assert await bench.call(risk) == "done"
    await bench.log.aclose()


async def test_in_strict_mode_tools_act_again_as_soon_as_the_log_is_written_again(
    home: Path, jobs: Jobs
) -> None:
    bench = Bench(home, jobs, is_strict=True)
    bench.break_log()
    await bench.call("exec")
    bench.directory.unlink()

    assert await bench.call("exec") == "done"
    lines = await bench.lines()
    assert lines[0]["action"] == "lines lost"
    assert bench.ran == ["exec"]


def written(home: Path) -> list[dict[str, Any]]:
    """The lines of a log that is closed."""
    files = list_readable(home / "audit")
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


async def test_what_a_gate_denies_is_on_record_with_the_gate_and_its_reason(home: Path) -> None:
    log = AuditLog(home / "audit", MemoryPointer())
    note_denied(log)(declare(print_nothing, risk="exec"), CONTEXT, "Approvals", "no " * 500)
    await log.aclose()

    (line,) = written(home)
    assert (line["action"], line["status"], line["severity"]) == (
        "tool denied print_nothing",
        "denied",
        "warning",
    )
    assert line["context"]["gate"] == "Approvals"
    assert len(line["context"]["reason"]) == 300


async def print_nothing() -> str:
    """Do nothing."""
    return ""


@pytest.mark.parametrize("is_inside", [False, True])
async def test_that_something_was_hidden_is_on_record_by_kind_and_turn(home: Path, is_inside: bool) -> None:
    log = AuditLog(home / "audit", MemoryPointer())
    note = note_hidden(log, "outbound")
    if is_inside:
        with turn_context("web:default:main", "r1"):
            note({"npm": 2})
    else:
        note({"npm": 2})
    await log.aclose()

    (line,) = written(home)
    assert (line["action"], line["target"], line["context"]) == ("redacted", "outbound", {"npm": 2})
    assert (line["session"], line["run"]) == (("web:default:main", "r1") if is_inside else (None, None))


async def test_an_argument_of_any_kind_is_on_record_as_text(home: Path, jobs: Jobs) -> None:
    log = AuditLog(home / "audit", MemoryPointer())
    gate = AuditGate(log, is_strict=False)
    given = {"flag": True, "parts": [1, {"a": "b"}], "path": home, "none": None}
    gate.waves_through(declare(print_nothing, risk="exec"), given, CONTEXT)
    await log.aclose()

    (line,) = written(home)
    assert line["context"] == {
        "risk": "exec",
        "flag": "true",
        "parts": '[1,{"a":"b"}]',
        "path": json.dumps(str(home)),
        "none": "null",
    }
