"""What operators do on the panels: done at once, under their name in the audit log, or refused in words."""

import asyncio
import logging
from pathlib import Path

import pytest

from bot.agent.audit import AuditEntry
from bot.agent.audit_query import Query
from bot.alarm import Alarm
from bot.app import App
from bot.app.workings import notice_knobs
from bot.bus import LocalBus
from bot.errors import BotError, StoreError
from bot.messages import Address, End, Role, RunId
from bot.settings.notices import NoticeSettings
from bot.web.dashboard.base import Parts
from bot.web.dashboard.panels.deliveries import (
    drop_delivery,
    load_waiting,
    retry_delivery,
    retry_message,
    stop_message,
)
from bot.web.dashboard.panels.doors import drop_blocked, let_in, release, turn_away
from bot.web.dashboard.panels.keys import add_webhook, make_key, remove_webhook, retry_letter, revoke_key
from bot.web.dashboard.panels.schedules import change_schedule
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for
from tests.factories import inbound
from tests.web.dashboard.panels.rig import ADMIN, OWNER, get_stuck, hold_back, knock, park, parts_of, plan


class NoOutbox:
    """Takes nothing."""

    async def announce(self, addresses: list[Address], text: str) -> list[End]:
        return []


async def audited(parts: Parts, action: str) -> list[AuditEntry]:
    return await parts.workings.audit.find(Query(action=action), limit=10)


async def test_a_parked_message_comes_first_and_runs_again(app: App, parts: Parts) -> None:
    await app.store.journal.accept(inbound("waits", session="web:default:other"))
    run = await park(app)
    first = (await load_waiting(parts, 10))[0]

    with app.bus.outbound(channel="web") as answers:
        await retry_message(parts, OWNER, run)
        async with asyncio.timeout(10):
            async for answer in answers:
                if answer.run == run and isinstance(answer, End):
                    break

    (line,) = await audited(parts, "journal retry")
    assert (first.run, first.state) == (run, "parked")
    assert (line.actor, line.target, line.context["operator"]) == ("web:Ada", run, "Ada")
    with pytest.raises(StoreError):
        await retry_message(parts, OWNER, run)


async def test_what_is_over_can_not_be_stopped(parts: Parts) -> None:
    with pytest.raises(BotError, match="over"):
        await stop_message(parts, OWNER, RunId("none"))


async def test_a_stuck_answer_is_handed_to_delivery_again(app: App, parts: Parts) -> None:
    end = await get_stuck(app)
    with app.bus.outbound(channel="telegram") as answers:
        await retry_delivery(parts, ADMIN, end.run)
        sent = answers.take()

    assert sent is not None
    assert (sent.run, sent.attempt) == (end.run, 2)
    assert [line.actor for line in await audited(parts, "outbox retry")] == ["api:k1"]
    with pytest.raises(BotError, match="being tried"):
        await retry_delivery(parts, ADMIN, end.run)
    with pytest.raises(BotError, match="being tried"):
        await drop_delivery(parts, ADMIN, end.run)


async def test_a_dropped_answer_never_arrives(app: App, parts: Parts) -> None:
    end = await get_stuck(app)

    await drop_delivery(parts, OWNER, end.run)

    assert await app.store.outbox.undelivered(limit=5) == []
    assert [line.target for line in await audited(parts, "outbox drop")] == [end.run]


async def test_who_waits_is_let_in_under_the_operators_name(app: App, parts: Parts) -> None:
    await knock(app)
    (request,) = await parts.workings.doors.waiting()
    with pytest.raises(BotError, match="owner"):
        await let_in(parts, ADMIN, request.code, Role.ADMIN)

    await let_in(parts, ADMIN, request.code, Role.MEMBER)

    assert await parts.workings.doors.waiting() == []
    line = (await audited(parts, "pairing"))[0]
    assert (line.actor, line.status) == ("api:k1", "let in as member")


async def test_who_is_turned_away_waits_no_more(app: App, parts: Parts) -> None:
    await knock(app)
    (request,) = await parts.workings.doors.waiting()

    await turn_away(parts, OWNER, request.code)

    assert await parts.workings.doors.waiting() == []
    with pytest.raises(BotError, match="nobody waits"):
        await turn_away(parts, OWNER, request.code)


async def test_a_released_message_runs_once_and_a_dropped_one_never(app: App, parts: Parts) -> None:
    first, second = await hold_back(app, "one"), await hold_back(app, "two")

    await release(parts, OWNER, first.reference)
    await drop_blocked(parts, OWNER, second.reference)

    lines = await audited(parts, "guardian release")
    assert [(line.target, line.status, line.actor) for line in lines] == [
        (second.reference, "dropped", "web:Ada"),
        (first.reference, "released", "web:Ada"),
    ]
    for again in (release(parts, OWNER, first.reference), drop_blocked(parts, OWNER, second.reference)):
        with pytest.raises(BotError, match="already"):
            await again


async def test_a_schedule_rests_goes_on_and_is_forgotten(app: App, parts: Parts) -> None:
    schedule, planner = await plan(app), parts.api.planner

    await change_schedule(parts, OWNER, schedule, planner.pause, "schedule pause")
    (paused,) = await planner.listed(None)
    await change_schedule(parts, OWNER, schedule, planner.resume, "schedule resume")
    await change_schedule(parts, OWNER, schedule, planner.delete, "schedule delete")

    assert paused.schedule.is_paused
    assert await planner.listed(None) == []
    lines = await audited(parts, "schedule *")
    assert [(line.action, line.target) for line in lines] == [
        ("schedule delete", "web:default:main 1"),
        ("schedule resume", "web:default:main 1"),
        ("schedule pause", "web:default:main 1"),
    ]


async def test_a_key_works_until_it_is_revoked(app: App, parts: Parts) -> None:
    text = await make_key(parts, OWNER, "  Grafana ", ["read"])
    key = await app.store.api_keys.check(text)
    assert key is not None

    await revoke_key(parts, OWNER, key.id)

    assert (key.name, key.scopes) == ("Grafana", ("read",))
    assert await app.store.api_keys.check(text) is None
    assert [line.target for line in await audited(parts, "key *")] == [key.id, key.id]
    assert not any(text in repr(line) for line in await audited(parts, "*"))
    with pytest.raises(BotError):
        await revoke_key(parts, OWNER, key.id)


@pytest.mark.parametrize(("name", "scopes"), [(" ", ["read"]), ("x" * 101, ["read"]), ("Grafana", [])])
async def test_a_key_without_a_name_or_a_scope_is_not_made(
    app: App, parts: Parts, name: str, scopes: list[str]
) -> None:
    with pytest.raises(BotError):
        await make_key(parts, OWNER, name, scopes)  # type: ignore[arg-type]  # as a page would send it

    assert await app.store.api_keys.all() == []


async def test_a_webhook_is_added_and_removed(parts: Parts) -> None:
    secret = await add_webhook(parts, OWNER, " http://127.0.0.1:9/hook ", "")
    (webhook,) = await parts.api.webhooks.all()
    await remove_webhook(parts, OWNER, webhook.id)

    assert secret
    assert (webhook.url, webhook.events) == ("http://127.0.0.1:9/hook", ("*",))
    assert await parts.api.webhooks.all() == []
    with pytest.raises(ValueError, match="no event"):
        await add_webhook(parts, OWNER, "http://127.0.0.1:9/hook", "no_such, other")
    with pytest.raises(BotError):
        await remove_webhook(parts, OWNER, webhook.id)
    with pytest.raises(BotError):
        await retry_letter(parts, OWNER, "none")


async def test_what_was_changed_at_run_time_holds_after_a_restart_too(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home")
    async with App(settings, backend=PlayedBackend()) as app:
        adjusting = parts_of(app).workings.adjusting
        for name, value in (("log.level", "ERROR"), ("notices.blocked", "false"), ("name", "Rosie")):
            await adjusting.change(name, value, by="web:Ada")
    logging.getLogger().setLevel("INFO")
    async with App(settings, backend=PlayedBackend()) as app:
        found = {one.name: one.value for one in await parts_of(app).workings.adjusting.all()}
        level = logging.getLogger().level
        await parts_of(app).workings.adjusting.undo("log.level", by="web:Ada")

        assert level == logging.ERROR
        assert logging.getLogger().level == logging.INFO
    assert found | {"name": "Rosie", "notices.blocked": "false", "log.level": "ERROR"} == found


async def test_notices_are_switched_off_and_back_to_what_is_configured() -> None:
    async def nowhere() -> list[Address]:
        return []

    alarm = Alarm(LocalBus(), NoOutbox(), admin_chats=nowhere, notices=NoticeSettings())
    knob = notice_knobs(NoticeSettings(), alarm)["notices.blocked"]
    await knob.apply(knob.read("false"))
    off = alarm.notices
    await knob.apply(None)

    assert (off.blocked, off.failed_delivery) == (False, True)
    assert alarm.notices == NoticeSettings()
