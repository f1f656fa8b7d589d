"""The simulated Discord speaks to the real SDK, and refuses what Discord refuses."""

from collections.abc import AsyncIterator

import aiohttp
import discord
import pytest

from tests.channels.discord.listener import Listener, call, listening, point, spoken_to
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord_world import BOT_USER
from tests.simulators.platform import Fault


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        point(monkeypatch, simulator)
        yield simulator


@pytest.fixture
async def bot(platform: DiscordSimulator) -> AsyncIterator[Listener]:
    async with listening(platform) as client:
        yield client


async def test_a_nonce_that_is_enforced_posts_once(platform: DiscordSimulator, bot: Listener) -> None:
    channel = (await spoken_to(platform, bot)).channel
    body = {"content": "once", "nonce": "n1", "enforce_nonce": True}
    status, first = await call(platform, f"/channels/{channel.id}/messages", body)
    again, second = await call(platform, f"/channels/{channel.id}/messages", body)

    assert (status, again, first["id"]) == (200, 200, second["id"])
    assert platform.texts("ann") == ["once"]


def row(*labels: str, custom_id: str = "") -> dict[str, object]:
    buttons = [
        {"type": 2, "style": 1, "label": label, "custom_id": custom_id or f"{number}"}
        for number, label in enumerate(labels)
    ]
    return {"type": 1, "components": buttons}


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        ({"content": "x" * 2_001}, 50035, "content"),
        ({"content": " \n "}, 50006, "empty"),
        ({"content": "x", "nonce": "n" * 26}, 50035, "nonce"),
        ({"content": "x", "embeds": [{"description": "x" * 4_097}]}, 50035, "description"),
        ({"content": "x", "embeds": [{"description": "x" * 3_001}] * 2}, 50035, "6000"),
        ({"content": "x", "components": [row("a")] * 6}, 50035, "components"),
        ({"content": "x", "components": [row(*"abcdef")]}, 50035, "components"),
        ({"content": "x", "components": [row("x" * 81)]}, 50035, "label"),
        ({"content": "x", "components": [row("a", custom_id="x" * 101)]}, 50035, "custom_id"),
        ({"content": "x", "components": [row("a", "b", custom_id="same")]}, 50035, "duplicated"),
        ({"content": "x", "message_reference": {"message_id": "1"}}, 50035, "Unknown message"),
        ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}, 50035, "exclusive"),
    ],
)
async def test_a_message_over_the_limits_is_refused(
    platform: DiscordSimulator, body: dict[str, object], code: int, word: str
) -> None:
    channel = platform.world.direct("ann", platform.world.person("ann"))
    status, error = await call(platform, f"/channels/{channel.id}/messages", body)

    assert (status, error["code"]) == (400, code)
    assert word in str(error)
    assert platform.texts("ann") == []


async def test_strangers_are_refused(platform: DiscordSimulator) -> None:
    channel = platform.world.channel("team")
    for token in ("wrong", ""):
        status, _ = await call(
            platform, f"/channels/{channel.id}/messages", {"content": "x"}, token=token or "?"
        )

        assert status == 401


async def test_places_that_are_closed_to_the_bot_say_so(platform: DiscordSimulator, bot: Listener) -> None:
    hidden, silent = platform.world.channel("hidden"), platform.world.channel("silent")
    ann = platform.world.person("ann")
    direct = platform.world.direct("ann", ann)
    hidden.has_bot, silent.takes_posts, ann.takes_messages = False, False, False

    codes = []
    for number in (hidden.id, silent.id, direct.id, "1"):
        with pytest.raises(discord.HTTPException) as caught:
            await bot.get_partial_messageable(int(number)).send("x")
        codes.append((caught.value.status, caught.value.code))

    assert codes == [(403, 50001), (403, 50013), (403, 50007), (404, 10003)]


async def test_only_messages_that_exist_and_are_its_own_can_be_edited(
    platform: DiscordSimulator, bot: Listener
) -> None:
    message = await spoken_to(platform, bot)
    channel = bot.get_partial_messageable(message.channel.id)

    with pytest.raises(discord.NotFound) as unknown:
        await channel.get_partial_message(1).edit(content="x")
    with pytest.raises(discord.Forbidden) as foreign:
        await channel.get_partial_message(message.id).edit(content="x")
    assert (unknown.value.code, foreign.value.code) == (10008, 50005)


async def test_an_answer_notifies_its_author_unless_told_not_to(
    platform: DiscordSimulator, bot: Listener
) -> None:
    message = await spoken_to(platform, bot)
    await message.reply("loud <@1>")
    await message.reply(
        "quiet @everyone <@1>", mention_author=False, allowed_mentions=discord.AllowedMentions.none()
    )
    await message.channel.send("`@everyone` @here <@1>")

    loud, quiet, plain = platform.chat("ann")
    assert (loud.reply_to, quiet.reply_to) == (str(message.id), str(message.id))
    assert loud.pinged == ["1", platform.world.person("ann").id]
    assert quiet.pinged == []
    assert plain.pinged == ["1", "everyone"]


async def test_people_answer_the_bot(platform: DiscordSimulator, bot: Listener) -> None:
    sent = await (await spoken_to(platform, bot)).channel.send("well?")
    await platform.user_says("ann", "well!", reply_to=str(sent.id))
    await platform.until(lambda: "well!" in bot.texts)

    reference = bot.heard[-1].reference
    assert reference is not None
    assert reference.message_id == sent.id
    assert isinstance(reference.resolved, discord.Message)
    assert bot.user in bot.heard[-1].mentions


async def test_reactions_and_typing_are_seen(platform: DiscordSimulator, bot: Listener) -> None:
    message = await spoken_to(platform, bot)
    await message.add_reaction("👀")
    await message.add_reaction("✅")
    assert bot.user is not None
    await message.remove_reaction("👀", bot.user)
    with pytest.raises(discord.HTTPException, match="Unknown Emoji"):
        await message.add_reaction("eyes")
    async with message.channel.typing():
        await platform.until(lambda: platform.typing("ann") == 1)

    assert platform.messages[str(message.id)].reactions == ["✅"]


async def test_history_comes_in_pages_from_the_oldest(platform: DiscordSimulator, bot: Listener) -> None:
    message = await spoken_to(platform, bot, "first")
    for number in range(150):
        await platform.user_says("ann", f"{number}")

    found = [
        old.content async for old in message.channel.history(after=message, limit=None, oldest_first=True)
    ]
    newest = [old.content async for old in message.channel.history(limit=2)]
    assert found == [str(number) for number in range(150)]
    assert newest == ["149", "148"]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("# Head\n**bold** and *it* and __under__ and ~~gone~~", "Head\nbold and it and under and gone"),
        ("a `x**y**` and ``b`c``", "a x**y** and b`c"),
        ("```py\nprint('**')\n```\nend", "print('**')\nend"),
        (r"2 \* 3 \* 4 and snake_case_name and \_x\_", "2 * 3 * 4 and snake_case_name and _x_"),
        ("[words](<https://a.example/x_y_z>) <https://b.example/a_b_>", "words https://b.example/a_b_"),
        ("> quoted\n-# small\n- one", "quoted\nsmall\n- one"),
        (f"<@{BOT_USER}> and <@!1>", "@Switchboard and @unknown-user"),
        ("**half", "**half"),
        ("***both*** and **a *b* c**", "both and a b c"),
        ("2 * 3 * 4", "2 * 3 * 4"),
    ],
)
async def test_people_see_a_text_without_its_signs(
    platform: DiscordSimulator, bot: Listener, content: str, seen: str
) -> None:
    await (await spoken_to(platform, bot)).channel.send(content)

    assert platform.texts("ann") == [seen]


async def test_a_call_too_many_is_refused_in_the_form_of_the_platform(platform: DiscordSimulator) -> None:
    ann, bob = (platform.world.direct(name, platform.world.person(name)) for name in ("ann", "bob"))
    path = f"/channels/{ann.id}/messages"
    headers = {"Authorization": f"Bot {platform.token}"}
    remaining = []
    async with aiohttp.ClientSession(platform.url, headers=headers) as session:
        for _ in range(6):
            async with session.post(f"/api/v10{path}", json={"content": "x"}) as response:
                remaining.append(response.headers["X-RateLimit-Remaining"])
                last = response.status, await response.json(), response.headers

    status, body, told = last
    assert remaining == ["4", "3", "2", "1", "0", "0"]
    assert status == 429
    assert 0 < body["retry_after"] <= 5
    assert told["Via"]
    assert 1 <= int(told["Retry-After"]) <= 6
    assert (await call(platform, f"/channels/{bob.id}/messages", {"content": "x"}))[0] == 200


async def test_the_sdk_keeps_to_the_rates(platform: DiscordSimulator, bot: Listener) -> None:
    message = await spoken_to(platform, bot)
    for _ in range(3):
        await message.add_reaction("👀")

    assert [call.status for call in platform.calls if call.method == "react"] == [204] * 3


async def test_an_old_message_takes_few_edits(platform: DiscordSimulator, bot: Listener) -> None:
    sent = await (await spoken_to(platform, bot)).channel.send("0")
    platform.age(str(sent.id))
    path = f"/channels/{sent.channel.id}/messages/{sent.id}"
    answers = [await call(platform, path, {"content": f"{n}"}, method="PATCH") for n in range(1, 5)]

    assert [status for status, _ in answers] == [200, 200, 200, 429]
    assert answers[-1][1]["code"] == 30046
    assert platform.texts("ann") == ["3"]


@pytest.mark.parametrize(
    ("fault", "texts"),
    [
        (Fault(kind="limit", seconds=0.1), ["hi"]),
        (Fault(kind="status", status=502), ["hi"]),
        (Fault(kind="status", status=503), []),
        (Fault(kind="lose"), ["hi"]),
        (Fault(kind="cut"), []),
    ],
    ids=["limit", "502", "503", "lose", "cut"],
)
async def test_faults_hit_the_sdk_as_they_do_in_life(
    platform: DiscordSimulator, bot: Listener, fault: Fault, texts: list[str]
) -> None:
    channel = (await spoken_to(platform, bot)).channel
    platform.fail(fault)
    failed = False
    try:
        await channel.send("hi")
    except (discord.HTTPException, aiohttp.ClientError):
        failed = True

    assert platform.texts("ann") == texts
    assert failed == (fault.kind in ("lose", "cut") or fault.status == 503)


async def test_a_call_that_there_is_not_is_refused_as_json(platform: DiscordSimulator) -> None:
    assert await call(platform, "/mystery", {}) == (404, {"message": "404: Not Found", "code": 0})
