"""What the panels gather to be looked at."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.agent.audit import AuditEntry, AuditEvent, Damaged, Findings
from bot.agent.audit_query import CSV_HEAD, Query
from bot.app import App
from bot.errors import StoreError
from bot.settings.overview import SettingLine
from bot.web.dashboard.base import Parts
from bot.web.dashboard.panels.audit import Wanted
from bot.web.dashboard.panels.audit_desk import AuditDesk
from bot.web.dashboard.panels.plugins import plugin_lines
from bot.web.dashboard.panels.settings import lines_with
from bot.web.dashboard.panels.usage import load_usage
from tests.web.dashboard.panels.rig import use


async def record(app: App, *actions: str) -> None:
    for action in actions:
        event = AuditEvent(severity="info", actor="web:Ada", action=action, target="=1+1", status="done")
        await app.audit.record(event)


async def test_audit_events_are_found_the_newest_first_and_no_more_than_asked_for(
    app: App, parts: Parts
) -> None:
    await record(app, "one", "two", "three")

    found = await parts.workings.audit.find(Query(actor="web:*"), limit=2)

    assert [entry.action for entry in found] == ["three", "two"]


def test_what_is_typed_stands_anywhere_unless_it_has_signs_of_a_pattern() -> None:
    wanted = Wanted()
    wanted.actor, wanted.action, wanted.text = " ada ", "key*", "  "

    query = wanted.query()

    assert (query.actor, query.action, query.text, query.severity) == ("*ada*", "key*", None, None)


async def test_an_export_has_what_was_asked_for_and_calculates_nothing(app: App, parts: Parts) -> None:
    await record(app, "one", "two")

    table = (await parts.workings.audit.export(Query(action="one"), "csv")).decode()
    lines = (await parts.workings.audit.export(Query(actor="web:Ada"), "jsonl")).decode().splitlines()

    assert table.startswith(CSV_HEAD)
    assert len(table.splitlines()) == 2
    assert ",'=1+1," in table
    assert ['"one"' in lines[0], '"two"' in lines[1]] == [True, True]


async def test_a_log_that_somebody_has_changed_is_told_of(app: App, parts: Parts, tmp_path: Path) -> None:
    await record(app, "one", "two", "three")
    whole = await parts.workings.audit.check()
    (file,) = (tmp_path / "home" / "audit").glob("*.jsonl")
    file.write_text(file.read_text("utf-8").replace('"two"', '"too"'), "utf-8")

    broken = await parts.workings.audit.check()

    assert whole.faults == ()
    assert broken.faults


class Slow:
    """A log whose check waits for the test."""

    def __init__(self) -> None:
        self.checks = 0
        self.go_on = asyncio.Event()

    async def open(self) -> "Slow":
        self.checks += 1
        await self.go_on.wait()
        return self

    def check(self) -> Findings:
        return Findings(files=1, lines=7)

    def read_new(self) -> Iterator[AuditEntry | Damaged]:
        raise StoreError("it can't be read")


async def test_who_asks_while_the_log_is_checked_gets_the_same_answer() -> None:
    log = Slow()
    desk = AuditDesk(log.open)
    asked = [asyncio.create_task(desk.check()) for _ in range(3)]
    await asyncio.sleep(0)
    asked[0].cancel()
    log.go_on.set()
    done = await asyncio.gather(*asked, return_exceptions=True)

    assert isinstance(done[0], asyncio.CancelledError)
    assert done[1:] == [Findings(files=1, lines=7)] * 2
    assert log.checks == 1


async def test_a_check_that_is_under_way_ends_with_the_bot() -> None:
    desk = AuditDesk(Slow().open)
    asked = asyncio.create_task(desk.check())
    await asyncio.sleep(0)
    await desk.aclose()

    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_log_that_can_not_be_read_is_an_error_in_words() -> None:
    log = Slow()
    log.go_on.set()

    with pytest.raises(StoreError, match="can't be read"):
        await AuditDesk(log.open).find(Query(), limit=5)


async def test_usage_is_added_up_by_day_model_person_and_channel(app: App, parts: Parts) -> None:
    await use(app, days=3)

    today, all_days = await load_usage(parts.workings, 1), await load_usage(parts.workings, 3)

    assert [len(today.days), len(all_days.days)] == [1, 3]
    assert {one.name for one in today.models} == {"large", "small"}
    assert [one.name for one in all_days.channels] == ["discord", "slack", "telegram"]
    assert [one.name for one in all_days.people] == ["discord:2", "slack:1", "telegram:0"]
    assert sum(one.cost for one in all_days.models) == sum(one.cost for one in all_days.days) > 0
    assert all_days.budgets == ()


async def test_plugins_with_a_fault_come_first_and_say_why(parts: Parts) -> None:
    broken, greeter = plugin_lines(parts.workings.plugins)

    assert (broken.name, broken.hooks) == ("broken", ())
    assert "no_such_library_of_anybody" in (broken.fault or "")
    assert (greeter.name, greeter.version, greeter.fault) == ("greeter", "1.2", None)
    assert greeter.hooks[0].startswith("message_received → ")


def test_without_a_word_only_settings_that_were_set_are_listed() -> None:
    lines = [
        SettingLine("BOT_NAME", "Rosie", "environment", "What the bot is called."),
        SettingLine("BOT_LOG__LEVEL", "INFO", "default", "The least to log."),
    ]

    assert lines_with(lines, "") == lines[:1]
    assert lines_with(lines, "LEAST") == lines[1:]
    assert lines_with(lines, "nothing of it") == []
