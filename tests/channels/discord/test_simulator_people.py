"""The simulated Discord tells the real SDK what people do, and shows what a bot says."""

import io
from collections.abc import AsyncIterator

import aiohttp
import discord
import pytest

from tests.channels.discord.listener import Listener, listening, point, spoken_to
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord_world import ADMIN_ROLE, BOT_ROLE, BOT_USER
from tests.simulators.platform import File


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        point(monkeypatch, simulator)
        yield simulator


@pytest.fixture
async def bot(platform: DiscordSimulator) -> AsyncIterator[Listener]:
    async with listening(platform) as client:
        yield client


async def test_a_direct_message_is_heard_and_answered(platform: DiscordSimulator, bot: Listener) -> None:
    message = await spoken_to(platform, bot)
    sent = await message.channel.send("**hi**, you")
    await sent.edit(content="bye")

    assert message.guild is None
    assert message.author.name == "ann"
    (shown,) = platform.chat("ann")
    assert (shown.id, shown.text, shown.edits) == (str(sent.id), "bye", 1)
    await sent.delete()
    assert platform.chat("ann") == []


async def test_a_mention_in_the_server_is_told_with_who_and_where(
    platform: DiscordSimulator, bot: Listener
) -> None:
    platform.world.person("ann").is_admin = True
    await platform.user_says("team", "look", direct=False, mentions_bot=True)
    await platform.until(lambda: bool(bot.heard))

    (message,) = bot.heard
    assert isinstance(message.channel, discord.TextChannel)
    assert message.channel.name == "team"
    assert bot.user in message.mentions
    assert message.content == f"<@{BOT_USER}> look"
    assert isinstance(message.author, discord.Member)
    assert message.author.guild_permissions.administrator


async def test_a_role_of_the_bot_is_named_as_its_own(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.user_says("team", f"<@&{BOT_ROLE}> and <@&{ADMIN_ROLE}>", direct=False)
    await platform.until(lambda: bool(bot.heard))

    (message,) = bot.heard
    assert message.guild is not None
    assert message.guild.self_role in message.role_mentions
    assert platform.chat("team", author=None)[0].text == "@Switchboard and @admins"


async def test_a_thread_has_the_id_of_the_message_it_began_with(
    platform: DiscordSimulator, bot: Listener
) -> None:
    root = await platform.user_says("team", "topic", direct=False)
    await platform.user_says("team", "in here", direct=False, thread=root)
    await platform.until(lambda: len(bot.heard) == 2)
    thread = bot.heard[-1].channel
    assert isinstance(thread, discord.Thread)
    await thread.send("so it is")

    assert (str(thread.id), thread.parent) == (root, bot.heard[0].channel)
    (answer,) = platform.chat("team")
    assert (answer.thread, answer.text) == (root, "so it is")


async def test_the_bot_begins_a_thread(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.user_says("team", "topic", direct=False)
    await platform.until(lambda: bool(bot.heard))
    thread = await bot.heard[0].create_thread(name="more on it")
    await thread.send("here")

    assert platform.chat("team", thread=str(bot.heard[0].id))[0].text == "here"


async def test_edits_deletions_and_previews_of_people_are_told(
    platform: DiscordSimulator, bot: Listener
) -> None:
    said = await platform.user_says("ann", "helo")
    await platform.user_edits("ann", said, "hello")
    await platform.unfurl(said)
    await platform.user_deletes("ann", said)
    await platform.until(lambda: bool(bot.deleted))

    assert bot.edited == ["hello", "hello"]
    assert bot.deleted == [int(said)]


async def test_files_go_both_ways(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.upload("ann", File(name="a.txt", data=b"plan", mime="text/plain"), text="look")
    await platform.upload("ann", File(name="n.ogg", data=b"OggS", mime="audio/ogg", kind="voice"))
    await platform.until(lambda: len(bot.heard) == 2)
    (plan,), (note,) = (message.attachments for message in bot.heard)
    sent = discord.File(io.BytesIO(b"answer"), filename="b.txt")
    await bot.heard[0].channel.send("there", file=sent)

    assert (await plan.read(), plan.filename, plan.content_type) == (b"plan", "a.txt", "text/plain")
    assert bot.heard[1].flags.voice
    assert note.is_voice_message()
    (shown,) = platform.chat("ann")
    assert [(file.name, file.data) for file in shown.files] == [("b.txt", b"answer")]


async def test_a_file_too_large_is_refused(platform: DiscordSimulator, bot: Listener) -> None:
    platform.api.max_upload = 10
    channel = (await spoken_to(platform, bot)).channel

    with pytest.raises(discord.HTTPException) as caught:
        await channel.send(file=discord.File(io.BytesIO(b"x" * 11), filename="b.txt"))
    assert (caught.value.status, caught.value.code) == (413, 40005)


async def test_a_link_to_a_file_runs_out(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.upload("ann", File(name="a.txt", data=b"plan", mime="text/plain"))
    await platform.until(lambda: bool(bot.heard))
    url = bot.heard[0].attachments[0].url.partition("?")[0]

    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 404


async def test_a_moderator_takes_back_many_messages_at_once(
    platform: DiscordSimulator, bot: Listener
) -> None:
    said = [await platform.user_says("team", text, direct=False) for text in ("one", "two", "three")]
    await platform.purge(said[:2])
    await platform.until(lambda: len(bot.deleted) == 2)

    assert sorted(bot.deleted) == [int(message) for message in said[:2]]
    assert [shown.text for shown in platform.chat("team", author=None)] == ["three"]


async def test_a_history_tells_less_of_people_than_events(platform: DiscordSimulator, bot: Listener) -> None:
    platform.world.person("ann").is_admin = True
    await platform.user_says("team", "hello", direct=False)
    await platform.until(lambda: bool(bot.heard))
    channel = bot.heard[0].channel
    assert isinstance(channel, discord.TextChannel)
    (old,) = [message async for message in channel.history()]
    member = await channel.guild.fetch_member(old.author.id)

    assert isinstance(old.author, discord.User)
    assert member.guild_permissions.administrator


async def test_words_that_another_bot_said_are_marked(platform: DiscordSimulator, bot: Listener) -> None:
    await platform.user_says("team", "beep", direct=False, user="robot", is_bot=True)
    await platform.until(lambda: bool(bot.heard))

    assert bot.heard[0].author.bot


async def test_a_recording_with_a_caption_is_a_file(platform: DiscordSimulator, bot: Listener) -> None:
    file = File(name="n.ogg", data=b"OggS", mime="audio/ogg", kind="voice")
    await platform.upload("ann", file, text="listen")
    await platform.until(lambda: bool(bot.heard))

    assert not bot.heard[0].flags.voice
    assert not bot.heard[0].attachments[0].is_voice_message()
