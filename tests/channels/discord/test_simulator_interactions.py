"""The simulated Discord has commands and buttons, with the deadlines of the real ones."""

from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest

from tests.channels.discord.listener import Listener, call, listening, point, spoken_to
from tests.simulators.discord import DiscordSimulator

BUTTONS = [
    {
        "type": 1,
        "components": [
            {"type": 2, "style": 3, "label": "Yes", "custom_id": "yes"},
            {"type": 2, "style": 4, "label": "No", "custom_id": "no"},
        ],
    }
]


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        point(monkeypatch, simulator)
        yield simulator


@pytest.fixture
async def bot(platform: DiscordSimulator) -> AsyncIterator[Listener]:
    async with listening(platform) as client:
        yield client


async def registered(bot: Listener, **changes: object) -> None:
    """Let the bot have one command."""
    assert bot.application_id is not None
    option: dict[str, Any] = {"name": "who", "description": "Whom", "type": 3, "required": True}
    rest = {"name": "text", "description": "What", "type": 3}
    command: dict[str, Any] = {
        "name": "greet",
        "description": "Greets",
        "type": 1,
        "options": [option, rest],
        **changes,
    }
    await bot.http.bulk_upsert_global_commands(bot.application_id, [command])


async def used(platform: DiscordSimulator, bot: Listener, *, direct: bool = True) -> discord.Interaction[Any]:
    """What the bot hears when its command is used."""
    await registered(bot)
    await platform.slash("ann" if direct else "team", "greet", "bob good morning", direct=direct)
    await platform.until(lambda: bool(bot.used))
    return bot.used[-1]


async def test_a_command_is_used_with_its_arguments(platform: DiscordSimulator, bot: Listener) -> None:
    interaction = await used(platform, bot, direct=False)
    assert interaction.data is not None
    data: dict[str, Any] = dict(interaction.data)

    assert [(one["name"], one["value"]) for one in data["options"]] == [
        ("who", "bob"),
        ("text", "good morning"),
    ]
    assert interaction.user.name == "ann"
    assert interaction.guild_id is not None
    assert platform.interactions.syncs == 1


async def test_a_deferred_answer_is_filled_by_the_first_message(
    platform: DiscordSimulator, bot: Listener
) -> None:
    interaction = await used(platform, bot)
    await interaction.response.defer(ephemeral=True)
    assert platform.chat("ann") == []
    await interaction.followup.send("just for you")
    second = await interaction.followup.send("for all", wait=True)
    await interaction.edit_original_response(content="still just for you")
    await second.edit(content="for everybody")

    first, other = platform.chat("ann")
    assert (first.text, first.ephemeral_to, first.edits) == ("still just for you", "ann", 1)
    assert (other.text, other.ephemeral_to) == ("for everybody", None)


async def test_what_is_private_is_out_of_reach_but_for_its_token(
    platform: DiscordSimulator, bot: Listener
) -> None:
    interaction = await used(platform, bot)
    outcome = await interaction.response.send_message("psst", ephemeral=True)
    assert isinstance(interaction.channel, discord.DMChannel)
    message = interaction.channel.get_partial_message(outcome.message_id or 0)

    with pytest.raises(discord.NotFound):
        await message.edit(content="x")
    assert [old async for old in interaction.channel.history()] == []
    await interaction.delete_original_response()
    assert platform.chat("ann") == []


async def test_a_second_answer_is_refused(platform: DiscordSimulator, bot: Listener) -> None:
    interaction = await used(platform, bot)
    await interaction.response.defer()
    path = f"/interactions/{interaction.id}/{interaction.token}/callback"
    status, error = await call(platform, path, {"type": 5})

    assert (status, error["code"]) == (400, 40060)


async def test_a_late_answer_is_refused(platform: DiscordSimulator, bot: Listener) -> None:
    platform.interactions.answer_seconds = 0
    interaction = await used(platform, bot)

    with pytest.raises(discord.NotFound) as caught:
        await interaction.response.defer()
    assert caught.value.code == 10062
    assert len(platform.interactions.failed) == 1


async def test_a_token_works_after_the_first_answer_and_not_for_ever(
    platform: DiscordSimulator, bot: Listener
) -> None:
    interaction = await used(platform, bot)
    with pytest.raises(discord.NotFound) as early:
        await interaction.followup.send("x")
    await interaction.response.defer()
    platform.interactions.token_seconds = 0
    with pytest.raises(discord.HTTPException) as late:
        await interaction.followup.send("x")

    assert (early.value.code, late.value.code, late.value.status) == (10015, 50027, 401)


async def test_a_press_is_told_and_changes_its_message(platform: DiscordSimulator, bot: Listener) -> None:
    channel = (await spoken_to(platform, bot)).channel
    _, sent = await call(
        platform, f"/channels/{channel.id}/messages", {"content": "?", "components": BUTTONS}
    )
    await platform.click(sent["id"], "No", user="bob")
    await platform.until(lambda: bool(bot.used))
    (interaction,) = bot.used
    assert platform.chat("ann")[0].buttons == ["Yes", "No"]
    await interaction.response.edit_message(content="No it is", view=None)

    assert interaction.data is not None
    assert interaction.data.get("custom_id") == "no"
    assert (interaction.user.name, str(interaction.message and interaction.message.id)) == ("bob", sent["id"])
    (shown,) = platform.chat("ann")
    assert (shown.text, shown.buttons) == ("No it is", [])


async def test_a_press_is_answered_by_nothing_and_later_by_a_message(
    platform: DiscordSimulator, bot: Listener
) -> None:
    channel = (await spoken_to(platform, bot)).channel
    _, sent = await call(
        platform, f"/channels/{channel.id}/messages", {"content": "?", "components": BUTTONS}
    )
    await platform.click(sent["id"], "Yes")
    await platform.until(lambda: bool(bot.used))
    await bot.used[0].response.defer()
    await bot.used[0].followup.send("done")

    assert platform.texts("ann") == ["?", "done"]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Greet"},
        {"name": "x" * 33},
        {"description": ""},
        {"description": "x" * 101},
        {"options": [{"name": "a", "description": "a", "type": 3}] * 26},
        {
            "options": [
                {"name": "a", "description": "a", "type": 3},
                {"name": "b", "description": "b", "type": 3, "required": True},
            ]
        },
    ],
)
async def test_a_command_that_breaks_the_rules_is_refused(
    platform: DiscordSimulator, bot: Listener, changes: dict[str, object]
) -> None:
    with pytest.raises(discord.HTTPException) as caught:
        await registered(bot, **changes)

    assert caught.value.code == 50035


async def test_presence_is_seen(platform: DiscordSimulator, bot: Listener) -> None:
    await bot.change_presence(status=discord.Status.idle, activity=discord.Game("chess"))
    await platform.until(lambda: platform.gateway.presence.get("status") == "idle")

    assert platform.gateway.presence["activities"][0]["name"] == "chess"


async def test_a_direct_chat_is_opened_by_the_bot(platform: DiscordSimulator, bot: Listener) -> None:
    bob = platform.world.person("bob")
    user = await bot.fetch_user(int(bob.id))
    await user.send("good morning")

    assert platform.texts("bob") == ["good morning"]


async def test_what_was_used_while_the_bot_was_cut_off_comes_too_late(
    platform: DiscordSimulator, bot: Listener
) -> None:
    platform.interactions.answer_seconds = 0
    await registered(bot)
    async with platform.away():
        await platform.slash("ann", "greet", "bob")
    await platform.until(lambda: bool(bot.used))

    with pytest.raises(discord.NotFound):
        await bot.used[0].response.defer()


async def test_a_command_of_admins_is_hidden_from_others_in_the_server(
    platform: DiscordSimulator, bot: Listener
) -> None:
    await registered(bot, default_member_permissions="8", options=[])
    platform.world.person("boss").is_admin = True

    with pytest.raises(AssertionError, match="hidden"):
        await platform.slash("team", "greet", direct=False)
    await platform.slash("team", "greet", user="boss", direct=False)
    await platform.slash("ann", "greet")
    await platform.until(lambda: len(bot.used) == 2)

    assert bot.used[0].permissions.administrator
    assert not bot.used[1].permissions.administrator


async def test_a_command_cannot_be_answered_as_a_press(platform: DiscordSimulator, bot: Listener) -> None:
    interaction = await used(platform, bot)
    path = f"/interactions/{interaction.id}/{interaction.token}/callback"
    status, error = await call(platform, path, {"type": 6})

    assert (status, error["code"]) == (400, 50035)


async def test_answers_by_token_have_a_rate_of_their_own(platform: DiscordSimulator, bot: Listener) -> None:
    interaction = await used(platform, bot)
    await interaction.response.defer()
    path = f"/webhooks/{interaction.application_id}/{interaction.token}"
    statuses = [(await call(platform, path, {"content": "x"}))[0] for _ in range(6)]

    assert statuses == [200] * 5 + [429]
