"""The simulated gateway of Discord resumes, forgets and refuses as the real one does."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import discord
import pytest

from tests.channels.discord.listener import Listener, listening, point, spoken_to
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord_gateway import MESSAGE_CONTENT
from tests.simulators.discord_world import BOT_USER


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        point(monkeypatch, simulator)
        yield simulator


@pytest.fixture
async def bot(platform: DiscordSimulator) -> AsyncIterator[Listener]:
    async with listening(platform) as client:
        yield client


async def test_a_cut_connection_is_resumed_and_nothing_is_missed(
    platform: DiscordSimulator, bot: Listener
) -> None:
    await spoken_to(platform, bot)
    await platform.drop()
    await platform.user_says("ann", "meanwhile")
    await platform.until(lambda: "meanwhile" in bot.texts)

    assert bot.texts == ["hello", "meanwhile"]
    assert (platform.gateway.identified, bot.resumes) == (1, 1)


async def test_a_platform_that_comes_back_goes_on_with_its_sessions(
    platform: DiscordSimulator, bot: Listener
) -> None:
    await spoken_to(platform, bot)
    async with platform.away():
        await platform.user_says("ann", "meanwhile")
    await platform.until(lambda: "meanwhile" in bot.texts)

    assert platform.gateway.identified == 1


async def test_an_invalid_session_begins_anew_and_tells_nothing_again(
    platform: DiscordSimulator, bot: Listener
) -> None:
    message = await spoken_to(platform, bot)
    platform.invalidate()
    await platform.user_says("ann", "meanwhile")
    await platform.drop()
    await platform.until(lambda: bot.readies == 2)
    await platform.user_says("ann", "later")
    await platform.until(lambda: "later" in bot.texts)

    assert bot.texts == ["hello", "later"]
    missed = [old.content async for old in message.channel.history(after=message, oldest_first=True)]
    assert missed == ["meanwhile", "later"]


async def test_the_platform_asks_for_another_connection(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.gateway.reconnect()
    await platform.until(lambda: platform.gateway.resumed == 1)
    await spoken_to(platform, bot)

    assert bot.texts == ["hello"]


async def test_a_message_is_delivered_twice(platform: DiscordSimulator, bot: Listener) -> None:
    await spoken_to(platform, bot)
    await platform.redeliver()
    await platform.until(lambda: len(bot.heard) == 2)

    assert bot.heard[0].id == bot.heard[1].id


async def test_a_mute_gateway_tells_what_it_kept(platform: DiscordSimulator, bot: Listener) -> None:
    platform.gateway.is_mute = True
    await platform.user_says("ann", "hello")
    assert bot.heard == []
    await platform.gateway.speak()
    await platform.until(lambda: bot.texts == ["hello"])


async def test_a_wrong_token_is_refused(platform: DiscordSimulator) -> None:
    async with Listener(platform) as client:
        with pytest.raises(discord.LoginFailure):
            await client.login("wrong")


async def test_an_intent_that_is_not_granted_closes_with_4014(platform: DiscordSimulator) -> None:
    platform.gateway.granted &= ~MESSAGE_CONTENT
    async with Listener(platform) as client:
        await client.login(platform.token)

        with pytest.raises(discord.PrivilegedIntentsRequired):
            await client.connect()


async def test_without_message_content_only_mentions_have_words(platform: DiscordSimulator) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(gateway(platform)) as socket:
        await socket.receive_json()
        intents = (1 << 54) - 1 - MESSAGE_CONTENT
        await socket.send_json({"op": 2, "d": {"token": platform.token, "intents": intents}})
        await platform.until(lambda: platform.gateway.connected == 1)
        await platform.user_says("team", "secret", direct=False)
        await platform.user_says("team", "for you", direct=False, mentions_bot=True)
        await platform.user_says("ann", "between us")
        events = [await socket.receive_json(timeout=5) for _ in range(6)]

    contents = [event["d"]["content"] for event in events if event["t"] == "MESSAGE_CREATE"]
    assert contents == ["", f"<@{BOT_USER}> for you", "between us"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([{"op": 3, "d": {}}], 4003),
        ([{"op": 2, "d": {"token": "wrong", "intents": 1}}], 4004),
        ([{"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}], 4004),
        ([{"op": 1, "d": None}] * 121, 4008),
    ],
)
async def test_wrong_words_close_the_gateway(
    platform: DiscordSimulator, words: list[dict[str, object]], code: int
) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(gateway(platform)) as socket:
        for word in words:
            await socket.send_json(word)
        async with asyncio.timeout(5):
            async for _ in socket:
                continue

        assert socket.close_code == code


def gateway(platform: DiscordSimulator) -> str:
    """The address of the gateway, without compression."""
    return platform.settings["BOT_DISCORD__GATEWAY_URL"] + "?v=10&encoding=json"
