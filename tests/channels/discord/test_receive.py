"""What is heard on Discord, as inbound messages."""

from bot.messages import Kind, Role
from tests.channels.discord.conftest import Bench, final
from tests.simulators.discord_world import BOT_ROLE, BOT_USER
from tests.simulators.platform import File


async def test_a_direct_message_is_addressed_and_its_sender_is_a_member(bench: Bench) -> None:
    await bench.running()
    bench.discord.world.person("ann").is_admin = True
    platform_id = await bench.discord.user_says("ann", "hello")

    message = await bench.ear.heard("hello")

    assert message.platform_id == platform_id
    assert message.address == bench.place("ann")
    assert message.sender.name == "ann"
    assert message.sender.role is Role.MEMBER
    assert bench.ear.addressed[platform_id]


async def test_our_mention_is_cut_out_and_others_have_names(bench: Bench) -> None:
    bob, channel = bench.discord.world.person("bob").id, bench.discord.world.channel("team").id
    await bench.running()
    text = f"ask <@{bob}> in <#{channel}> <:party:123456789012345678>"
    platform_id = await bench.discord.user_says("team", text, direct=False, mentions_bot=True)

    message = await bench.ear.heard("ask @bob in #team :party:")

    assert bench.ear.addressed[platform_id]
    assert message.mentions == (BOT_USER, bob)
    assert not message.is_direct


async def test_the_role_of_the_bot_is_the_bot(bench: Bench) -> None:
    await bench.running()
    platform_id = await bench.discord.user_says("team", f"<@&{BOT_ROLE}> hello", direct=False)

    await bench.ear.heard("hello")

    assert bench.ear.addressed[platform_id]


async def test_an_answer_to_the_bot_is_addressed_and_an_answer_to_others_is_not(bench: Bench) -> None:
    adapter = await bench.running()
    first = await bench.discord.user_says("team", "anybody?", direct=False)
    ours = await adapter.post(bench.place("team", direct=False), final("Yes."), key="a")

    to_us = await bench.discord.user_says("team", "good", direct=False, reply_to=ours)
    to_them = await bench.discord.user_says("team", "me, too", direct=False, reply_to=first)
    answer = await bench.ear.heard("good")
    await bench.ear.heard("me, too")

    assert answer.reply_to == ours
    assert bench.ear.addressed[to_us]
    assert not bench.ear.addressed[to_them]
    assert "Yes." not in bench.ear.texts


async def test_a_thread_has_an_address_of_its_own(bench: Bench) -> None:
    await bench.running()
    root = await bench.discord.user_says("team", "topic", direct=False)
    await bench.discord.user_says("team", "in here", direct=False, thread=root)

    message = await bench.ear.heard("in here")

    assert message.address == bench.place("team", direct=False, thread=root)


async def test_an_administrator_is_an_admin_in_the_server(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = True
    await bench.running()
    await bench.discord.user_says("team", "from the boss", user="boss", direct=False)
    await bench.discord.user_says("team", "from ann", direct=False)

    assert (await bench.ear.heard("from the boss")).sender.role is Role.ADMIN
    assert (await bench.ear.heard("from ann")).sender.role is Role.MEMBER


async def test_an_edit_is_told_once_and_a_preview_of_a_link_is_none(bench: Bench) -> None:
    await bench.running()
    platform_id = await bench.discord.user_says("ann", "see example.org")
    await bench.discord.unfurl(platform_id)
    await bench.discord.user_edits("ann", platform_id, "see example.com")
    await bench.discord.unfurl(platform_id)
    await bench.discord.user_says("ann", "done")

    edit = await bench.ear.heard("see example.com")
    await bench.ear.heard("done")

    assert (edit.kind, edit.target) == (Kind.EDIT, platform_id)
    assert bench.ear.texts == ["see example.org", "see example.com", "done"]


async def test_an_edit_of_a_message_from_before_the_start_is_told(bench: Bench) -> None:
    platform_id = await bench.discord.user_says("ann", "old")
    await bench.running()
    await bench.discord.user_edits("ann", platform_id, "new")

    edit = await bench.ear.heard("new")

    assert (edit.kind, edit.target) == (Kind.EDIT, platform_id)
    assert edit.address == bench.place("ann")


async def test_a_deletion_is_told_and_that_of_our_own_message_is_not(bench: Bench) -> None:
    adapter = await bench.running()
    ours = await adapter.post(bench.place("ann"), final("Hello."), key="a")
    platform_id = await bench.discord.user_says("ann", "secret")
    await bench.ear.heard("secret")
    await adapter.delete(bench.place("ann"), ours)
    await bench.discord.user_deletes("ann", platform_id)

    deletion = await bench.ear.heard("")

    assert (deletion.kind, deletion.target) == (Kind.DELETE, platform_id)
    assert len(bench.ear.taken) == 2


async def test_files_come_as_what_they_are(bench: Bench) -> None:
    await bench.running()
    await bench.discord.upload(
        "ann", File(name="a.png", data=b"png", mime="image/png", kind="image"), text="1"
    )
    await bench.discord.upload("ann", File(name="a.txt", data=b"text", mime="text/plain"), text="2")
    await bench.discord.upload("ann", File(name="a.ogg", data=b"ogg", mime="audio/ogg", kind="voice"))

    found = [(await bench.ear.heard(text)).attachments[0] for text in ("1", "2", "")]

    assert [one.kind for one in found] == ["image", "file", "voice"]
    assert [one.mime for one in found] == ["image/png", "text/plain", "audio/ogg"]


async def test_other_bots_are_marked_as_such(bench: Bench) -> None:
    await bench.running()
    await bench.discord.user_says("team", "beep", user="robot", direct=False, is_bot=True)

    assert (await bench.ear.heard("beep")).sender.is_bot
