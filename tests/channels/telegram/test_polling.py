"""Polling: nothing is confirmed before it is durable, and a connection that is dead is noticed."""

import logging

import pytest

from bot.messages import MessageId
from tests.channels.telegram.conftest import Bench, failed, final


async def test_what_could_not_be_kept_is_not_confirmed_and_comes_again(bench: Bench) -> None:
    bench.ear.failures = 1
    adapter = await bench.running()
    await bench.telegram.user_says("ann", "keep me")
    error = await failed(bench.runs.pop())

    assert not error.permanent
    assert bench.telegram.push.confirmed == 0
    assert not adapter.liveness.is_connected
    assert "disk is full" in (adapter.liveness.cause or "")

    bench.run(adapter)
    await bench.ear.heard("keep me")
    await bench.telegram.until(lambda: bench.telegram.push.confirmed == 1)
    assert adapter.liveness.is_connected


async def test_nothing_is_confirmed_while_the_intake_takes(bench: Bench) -> None:
    bench.ear.gate.clear()
    await bench.running()
    await bench.telegram.user_says("ann", "slowly")
    await bench.ear.until(lambda: bench.ear.takes == 1)
    await bench.stop()

    assert bench.telegram.push.confirmed == 0

    bench.ear.gate.set()
    await bench.running()
    await bench.ear.heard("slowly")


async def test_a_redelivered_message_is_the_same_message(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.user_says("ann", "once")
    await bench.ear.heard("once")
    await bench.telegram.until(lambda: bench.telegram.push.confirmed == 1)
    await bench.telegram.redeliver()
    await bench.ear.until(lambda: bench.ear.takes == 2)
    await bench.telegram.user_says("ann", "go on")

    await bench.ear.heard("go on")

    assert bench.ear.texts == ["once", "go on"]
    assert all(isinstance(one.id, str) and MessageId(one.id) for one in bench.ear.taken.values())


async def test_a_second_process_with_the_same_token_is_told_of_as_what_it_is(bench: Bench) -> None:
    older = await bench.running()
    await bench.running()

    error = await failed(bench.runs.pop(0))

    assert "another process polls with the same token" in str(error)
    assert not error.permanent
    assert older.liveness.cause == str(error)


@pytest.mark.parametrize("token", ["7000000001:wrong", "nonsense"])
async def test_a_wrong_token_is_permanent_and_not_told(bench: Bench, token: str) -> None:
    adapter = bench.adapter(token=token)

    error = await failed(bench.run(adapter))
    bench.runs.clear()

    assert error.permanent
    assert "token was refused" in str(error)
    assert token not in str(error)
    assert not adapter.liveness.is_connected


async def test_a_cut_connection_and_a_platform_that_is_away_end_the_run(bench: Bench) -> None:
    adapter = await bench.running()
    await bench.telegram.drop()
    cut = await failed(bench.runs.pop())
    await bench.telegram.kill()
    away = await failed(bench.run(adapter))
    bench.runs.clear()

    assert not cut.permanent
    assert not away.permanent
    assert "can't be reached" in str(away)

    await bench.telegram.start()
    bench.run(adapter)
    await bench.telegram.user_says("ann", "back again")
    await bench.ear.heard("back again")


async def test_polling_without_progress_ends_the_run(bench: Bench) -> None:
    bench.ear.gate.clear()
    adapter = await bench.running(patience=0.3)
    await bench.telegram.user_says("ann", "stuck")

    error = await failed(bench.runs.pop())

    assert "no progress" in str(error)
    assert not adapter.liveness.is_connected


async def test_a_webhook_of_before_does_not_keep_us_from_polling(bench: Bench) -> None:
    bench.telegram.push.set_hook({"url": "http://127.0.0.1:9/nobody"})
    await bench.running()
    await bench.telegram.user_says("ann", "hello")

    await bench.ear.heard("hello")


async def test_the_menu_is_sent_when_it_has_changed_and_only_then(bench: Bench) -> None:
    await bench.running()
    await bench.stop()
    await bench.running()

    assert bench.telegram.api.menus_set == 1
    assert [one["command"] for one in bench.telegram.api.menu] == ["help", "admin_info"]


async def test_no_log_shows_a_token_or_what_was_said(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    adapter = await bench.running()
    await bench.telegram.user_says("ann", "my secret words")
    await bench.ear.heard("my secret words")
    await adapter.post(bench.place("ann"), final("your secret answer"), key="k1")
    await bench.telegram.kill()
    await failed(bench.runs.pop())

    ours = [record for record in caplog.records if not record.name.startswith(("tests", "aiohttp"))]
    assert ours
    for record in ours:
        line = logging.Formatter().format(record)
        assert bench.telegram.token not in line
        assert "secret" not in line
