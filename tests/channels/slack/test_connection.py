"""The socket comes back after every kind of death, and nothing that was said in between is lost."""

import asyncio

import pytest
from pydantic import SecretStr

from bot.errors import ChannelError
from tests.channels.slack.conftest import Bench, final


async def test_a_cut_socket_is_opened_again_and_unacknowledged_events_come_again(bench: Bench) -> None:
    await bench.running()
    await bench.slack.user_says("ann", "before")
    await bench.ear.heard("before")
    await bench.slack.drop()
    await bench.slack.user_says("ann", "between")
    await bench.ear.heard("between")
    await bench.slack.user_says("ann", "after")
    await bench.ear.heard("after")

    assert [one.text for one in bench.ear.taken.values()] == ["before", "between", "after"]


async def test_slack_away_and_back_is_survived(bench: Bench) -> None:
    await bench.running()
    async with bench.slack.away():
        await bench.slack.user_says("ann", "meanwhile")

    await bench.ear.heard("meanwhile")


async def test_a_refresh_moves_to_a_new_socket(bench: Bench) -> None:
    await bench.running()
    await bench.slack.push.refresh()
    await bench.slack.until(lambda: bench.slack.push.greeted == 2)
    await bench.slack.user_says("ann", "still there?")

    await bench.ear.heard("still there?")

    assert bench.slack.push.connected == 1


async def test_a_dead_ticket_is_given_up(bench: Bench) -> None:
    bench.slack.push.dead_tickets = 1
    await bench.running()

    await bench.slack.user_says("ann", "hello")

    await bench.ear.heard("hello")
    assert bench.slack.push.opened == 2


async def test_a_dead_ticket_at_a_refresh_is_given_up(bench: Bench) -> None:
    await bench.running()
    bench.slack.push.dead_tickets = 1
    await bench.slack.push.refresh()
    await bench.slack.user_says("ann", "hello")

    await bench.ear.heard("hello")


async def test_without_a_connection_run_gives_up_and_says_so(bench: Bench) -> None:
    adapter = await bench.running()
    async with bench.slack.away(), asyncio.timeout(15):
        with pytest.raises(ChannelError, match="no connection"):
            await bench.runs[0]
        assert not adapter.liveness.is_connected
        assert adapter.liveness.cause is not None


async def test_a_wrong_app_token_is_permanent(bench: Bench) -> None:
    with pytest.raises(ChannelError, match="invalid_auth") as caught:
        await bench.adapter(app_token=SecretStr("xapp-wrong")).run()

    assert caught.value.permanent


async def test_liveness_follows_the_heartbeat(bench: Bench) -> None:
    adapter = await bench.running()
    await bench.slack.user_says("ann", "hello")
    await bench.ear.heard("hello")
    assert adapter.liveness.is_connected
    assert adapter.liveness.last_event_at is not None

    await bench.stop()

    assert not adapter.liveness.is_connected
    assert bench.slack.push.connected == 0


async def test_the_log_holds_no_tokens_tickets_or_texts(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    bench.slack.push.dead_tickets = 1
    adapter = await bench.running()
    await bench.slack.user_says("ann", "a secret word")
    await bench.ear.heard("a secret word")
    await adapter.post(bench.place("ann"), final("another secret"), key="k1")
    await bench.slack.push.settled()

    log = "\n".join(str(vars(record)) for record in caplog.records if record.name.startswith("channels"))
    assert "slack socket open" in log
    for secret in ("secret", "ticket=", bench.slack.bot_token, bench.slack.app_token):
        assert secret not in log
