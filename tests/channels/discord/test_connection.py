"""The gateway comes back after every kind of death, and nothing that was said in between is lost."""

import asyncio

import pytest
from pydantic import SecretStr

from bot.errors import ChannelError
from channels.discord.hearing import MOST_MISSED
from tests.channels.discord.conftest import Bench, Ear, Memory, final, until
from tests.simulators.discord import DiscordSimulator
from tests.simulators.platform import Fault


async def test_a_cut_socket_is_resumed(bench: Bench) -> None:
    await bench.running()
    await bench.discord.user_says("ann", "before")
    await bench.ear.heard("before")
    await bench.discord.drop()
    await bench.discord.user_says("ann", "between")
    await bench.ear.heard("between")

    assert bench.discord.gateway.identified == 1
    assert bench.discord.gateway.resumed == 1
    assert bench.ear.texts == ["before", "between"]


async def test_a_request_to_connect_again_is_followed(bench: Bench) -> None:
    await bench.running()
    await bench.discord.gateway.reconnect()
    await bench.discord.until(lambda: bench.discord.gateway.resumed == 1)
    await bench.discord.user_says("ann", "still there?")

    await bench.ear.heard("still there?")


async def test_what_was_said_while_the_session_was_lost_is_asked_for_in_order(bench: Bench) -> None:
    await bench.running()
    root = await bench.discord.user_says("team", "topic", direct=False)
    await bench.discord.user_says("team", "in a thread", direct=False, thread=root)
    await bench.discord.user_says("ann", "before")
    await bench.ear.heard("before")
    await bench.ear.heard("in a thread")
    bench.discord.invalidate()
    await bench.discord.drop()
    for number in range(3):
        await bench.discord.user_says("ann", f"lost {number}")
    await bench.discord.user_says("team", "lost in a thread", direct=False, thread=root)
    await bench.ear.heard("lost 2")
    lost = await bench.ear.heard("lost in a thread")
    await bench.discord.user_says("ann", "after")
    await bench.ear.heard("after")

    direct = [one.text for one in bench.ear.taken.values() if one.is_direct]
    assert direct == ["before", "lost 0", "lost 1", "lost 2", "after"]
    assert lost.address == bench.place("team", direct=False, thread=root)
    assert bench.discord.gateway.identified == 2


async def test_what_was_said_while_we_were_away_is_asked_for(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = True
    await bench.running()
    await bench.discord.user_says("ann", "before")
    await bench.discord.user_says("team", "here", direct=False)
    await bench.ear.heard("before")
    await bench.ear.heard("here")
    await bench.stop()
    await bench.discord.user_says("ann", "meanwhile")
    mention = await bench.discord.user_says("team", "and you?", user="boss", direct=False, mentions_bot=True)
    await bench.running()

    assert (await bench.ear.heard("meanwhile")).address == bench.place("ann")
    await bench.ear.heard("and you?")
    assert bench.ear.addressed[mention]


async def test_more_than_is_asked_for_after_an_absence_is_warned_of(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.running()
    await bench.discord.user_says("ann", "before")
    await bench.ear.heard("before")
    await bench.stop()
    for number in range(MOST_MISSED + 1):
        await bench.discord.user_says("ann", str(number))
    await bench.running()
    await bench.discord.user_says("ann", "after")
    await bench.ear.heard("after")

    assert bench.ear.texts == ["before", *map(str, range(MOST_MISSED)), "after"]
    assert "too much was said while away" in caplog.text


async def test_a_message_that_can_not_be_kept_holds_up_those_behind_it(bench: Bench) -> None:
    await bench.running()
    bench.ear.failures = 2
    await bench.discord.user_says("ann", "first")
    await bench.discord.user_says("ann", "second")
    await bench.ear.heard("second")

    assert bench.ear.texts == ["first", "second"]
    assert bench.ear.takes == 4


async def test_what_could_not_be_kept_before_the_end_is_asked_for_at_the_next_start(bench: Bench) -> None:
    await bench.running()
    bench.ear.failures = 1_000
    await bench.discord.user_says("ann", "hello")
    await bench.ear.until(lambda: bench.ear.takes > 0)
    await bench.stop()
    bench.ear.failures = 0
    await bench.running()

    await bench.ear.heard("hello")


async def test_discord_away_and_back_is_survived(bench: Bench) -> None:
    adapter = await bench.running()
    async with bench.discord.away():
        await until(lambda: not adapter.liveness.is_connected)
        await bench.discord.user_says("ann", "meanwhile")

    await bench.ear.heard("meanwhile")


async def test_a_gateway_that_stays_away_ends_the_run(bench: Bench) -> None:
    adapter = bench.adapter(patience=0.2)
    await bench.running(adapter)
    (run,) = bench.runs
    await bench.discord.kill()

    with pytest.raises(ChannelError) as caught:
        await run

    assert not caught.value.permanent
    assert not adapter.liveness.is_connected


async def test_a_gateway_that_falls_silent_ends_the_run(bench: Bench) -> None:
    await bench.running(bench.adapter(patience=0.5, silence=0.5))
    (run,) = bench.runs
    bench.discord.gateway.is_mute = True

    with pytest.raises(ChannelError):
        await run


async def test_a_platform_that_is_not_there_ends_the_run(bench: Bench) -> None:
    adapter = bench.adapter()
    await bench.discord.kill()

    with pytest.raises(ChannelError) as caught:
        await adapter.run()

    assert not caught.value.permanent


async def test_a_wrong_token_ends_the_run_for_good(bench: Bench) -> None:
    with pytest.raises(ChannelError, match="BOT_DISCORD__TOKEN") as caught:
        await bench.adapter(token=SecretStr("wrong")).run()

    assert caught.value.permanent


async def test_a_refused_intent_ends_the_run_and_says_what_to_switch_on(bench: Bench) -> None:
    bench.discord.gateway.granted = 1 << 0 | 1 << 9 | 1 << 12

    with pytest.raises(ChannelError, match="Message Content") as caught:
        await bench.adapter().run()

    assert caught.value.permanent


async def test_neither_texts_nor_the_token_are_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    adapter = await bench.running()
    await bench.discord.user_says("ann", "my secret")
    await bench.ear.heard("my secret")
    await bench.discord.slash("ann", "help")
    await bench.ear.heard("/help")
    bench.discord.fail(Fault(kind="cut", count=3))
    with pytest.raises(ChannelError):
        await adapter.post(bench.place("ann"), final("my answer"), key="a")

    told = caplog.text
    tokens = [bench.discord.token, *bench.discord.interactions.all]
    assert not any(secret in told for secret in ("my secret", "my answer", *tokens))


async def test_heartbeats_count_as_signs_of_life() -> None:
    async with DiscordSimulator(heartbeat=0.1) as discord:
        bench = Bench(discord, Ear(), Memory())
        adapter = await bench.running()
        first = adapter.liveness.last_event_at
        assert first is not None

        await until(lambda: (adapter.liveness.last_event_at or first) > first)

        await bench.stop()


async def test_two_accounts_at_two_addresses_do_not_disturb_each_other(bench: Bench) -> None:
    async with DiscordSimulator() as other:
        far = bench.adapter(
            account="far",
            api_url=other.settings["BOT_DISCORD__API_URL"],
            gateway_url=other.settings["BOT_DISCORD__GATEWAY_URL"],
        )
        await asyncio.gather(bench.running(), bench.running(far))
        await other.user_says("ann", "from there")
        await bench.discord.user_says("bob", "from here")

        await bench.ear.heard("from there")
        await bench.ear.heard("from here")

        assert other.gateway.identified == bench.discord.gateway.identified == 1
        await bench.stop()


async def test_presence_is_shown_from_the_start_and_when_it_changes(bench: Bench) -> None:
    adapter = await bench.running(bench.adapter(presence=("idle", "Thinking")))
    presence = bench.discord.gateway
    await bench.discord.until(lambda: bool(presence.presence.get("activities")))
    assert presence.presence["status"] == "idle"
    assert presence.presence["activities"][0]["state"] == "Thinking"

    await adapter.set_presence("dnd", None)
    await bench.discord.until(lambda: presence.presence["status"] == "dnd")

    assert presence.presence["activities"] == []
