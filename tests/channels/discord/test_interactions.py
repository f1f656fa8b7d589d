"""Slash commands and buttons: heard, acknowledged in time, and answered where they should be."""

import asyncio
from pathlib import Path

import pytest

from bot.errors import ChannelError, OutcomeUnknown
from bot.messages import Attachment, Button, Role, Trigger
from channels.discord.interactions import TAKE_SECONDS
from tests.channels.discord.conftest import Bench, final, growing
from tests.simulators.platform import Fault


async def test_a_command_is_heard_as_it_would_be_typed(bench: Bench) -> None:
    await bench.running()
    await bench.discord.slash("ann", "switch", "to the other")

    message = await bench.ear.heard("/switch to the other")

    assert message.trigger is Trigger.COMMAND
    assert message.address == bench.place("ann")
    assert message.sender.role is Role.MEMBER


async def test_a_command_of_a_group_has_its_own_name_natively(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = True
    await bench.running()
    await bench.discord.slash("team", "setstatus", "dnd out for lunch", user="boss", direct=False)

    message = await bench.ear.heard("/admin setstatus dnd out for lunch")

    assert message.sender.role is Role.ADMIN


async def test_commands_are_registered_when_they_change_alone(bench: Bench) -> None:
    await bench.running()
    await bench.discord.until(lambda: bench.discord.interactions.syncs == 1)
    await bench.stop()
    await bench.running()
    await bench.discord.slash("ann", "help")
    await bench.ear.heard("/help")

    assert bench.discord.interactions.syncs == 1
    assert set(bench.discord.interactions.commands) == {"help", "switch", "setstatus"}
    assert bench.discord.interactions.commands["setstatus"]["default_member_permissions"] == "8"


async def test_an_answer_takes_its_place_and_grows_there(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    first = await adapter.post(place, growing("I", answers=asked.platform_id, quotes=True), key="a")
    await adapter.edit(place, first, final("I can talk.", answers=asked.platform_id))
    await adapter.post(place, final("A lot.", answers=asked.platform_id), key="b")

    assert bench.discord.texts("team") == ["I can talk.", "A lot."]
    assert bench.discord.interactions.failed == []
    assert {call.method for call in bench.discord.calls} == {
        "interaction_callback",
        "edit_followup",
        "create_message",
    }


async def test_two_people_who_use_a_command_at_once_have_an_answer_each(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = bench.discord.world.person("chief").is_admin = True
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    for user in ("boss", "chief"):
        await bench.discord.slash("team", "setstatus", f"dnd {user}", user=user, direct=False)
    for user in ("chief", "boss"):
        asked = await bench.ear.heard(f"/admin setstatus dnd {user}")
        await adapter.post(place, final(f"Done, {user}.", answers=asked.platform_id), key=user)

    assert {shown.text: shown.ephemeral_to for shown in bench.discord.chat("team")} == {
        "Done, boss.": "boss",
        "Done, chief.": "chief",
    }


async def test_every_answer_to_an_admin_is_private(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = True
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "setstatus", "dnd", user="boss", direct=False)
    asked = await bench.ear.heard("/admin setstatus dnd")
    yes = (Button(label="Yes", value="/yes"),)
    first = await adapter.post(place, final("Sure?", answers=asked.platform_id, buttons=yes), key="a")
    await adapter.post(place, final("More.", answers=asked.platform_id), key="b")
    await bench.discord.click(first, "Yes", user="boss")
    pressed = await bench.ear.heard("/yes")
    await adapter.post(place, final("It is done.", answers=pressed.platform_id), key="c")

    assert bench.discord.texts("team") == ["Sure?", "More.", "It is done."]
    assert {shown.ephemeral_to for shown in bench.discord.chat("team")} == {"boss"}


async def test_after_a_restart_an_answer_to_an_admin_is_a_direct_message(bench: Bench) -> None:
    bench.discord.world.person("boss").is_admin = True
    await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "setstatus", "dnd", user="boss", direct=False)
    asked = await bench.ear.heard("/admin setstatus dnd")
    adapter = bench.adapter()
    ours = await adapter.post(place, growing("It is", answers=asked.platform_id), key="a")
    await adapter.edit(place, ours, final("It is done.", answers=asked.platform_id))

    assert bench.discord.texts("team") == []
    assert bench.discord.texts("boss") == ["It is done."]


async def test_after_a_restart_an_answer_to_a_command_is_a_message(bench: Bench) -> None:
    await bench.running()
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    content = final("I can talk.", answers=asked.platform_id, quotes=True)
    await bench.adapter().post(bench.place("team", direct=False), content, key="a")

    assert bench.discord.texts("team") == ["I can talk."]


async def test_a_token_that_has_run_out_costs_one_try(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    await bench.discord.until(lambda: any(call.status == 204 for call in bench.discord.calls))
    bench.discord.interactions.token_seconds = 0.0
    with pytest.raises(ChannelError) as caught:
        await adapter.post(place, final("Late.", answers=asked.platform_id), key="a")
    await adapter.post(place, final("Late.", answers=asked.platform_id), key="a")

    assert not caught.value.permanent
    assert bench.discord.texts("team") == ["Late."]


async def test_a_deleted_answer_is_followed_by_a_new_one(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    first = await adapter.post(place, growing("I", answers=asked.platform_id), key="a")
    await adapter.delete(place, first)
    await adapter.post(place, final("I can talk.", answers=asked.platform_id), key="a")

    assert bench.discord.texts("team") == ["I can talk."]


async def test_no_part_of_an_answer_to_a_command_shows_twice_when_a_reply_is_lost(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    for key, text in (("a", "I can talk."), ("b", "A lot.")):
        await bench.discord.until(lambda: any(call.status == 204 for call in bench.discord.calls))
        bench.discord.fail(Fault(kind="lose"))
        with pytest.raises(OutcomeUnknown):
            await adapter.post(place, final(text, answers=asked.platform_id), key=key)
        await adapter.post(place, final(text, answers=asked.platform_id), key=key)

    assert bench.discord.texts("team") == ["I can talk.", "A lot."]


async def test_a_file_that_answers_a_command_takes_its_place_once(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_bytes(b"the plan")
    plan = Attachment(kind="file", name="plan.txt", mime="text/plain", path=str(tmp_path / "plan.txt"))
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    await bench.discord.until(lambda: any(call.status == 204 for call in bench.discord.calls))
    for key in ("a", "b"):
        bench.discord.fail(Fault(kind="lose"))
        with pytest.raises(OutcomeUnknown):
            await adapter.upload(place, plan, key=key, answers=asked.platform_id)
        await adapter.upload(place, plan, key=key, answers=asked.platform_id)

    assert [[file.name for file in one.files] for one in bench.discord.chat("team")] == [["plan.txt"]] * 2
    assert bench.discord.interactions.failed == []


async def test_a_long_answer_reaches_a_chat_that_takes_answers_to_commands_alone(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False)
    await bench.discord.slash("team", "help", direct=False)
    asked = await bench.ear.heard("/help")
    bench.discord.world.channel("team").takes_posts = False
    await adapter.post(place, final("I can talk.", answers=asked.platform_id), key="a")
    with pytest.raises(ChannelError) as caught:
        await adapter.post(place, final("A lot.", answers=asked.platform_id), key="b")
    await adapter.post(place, final("A lot.", answers=asked.platform_id), key="b")

    assert not caught.value.permanent
    assert bench.discord.texts("team") == ["I can talk.", "A lot."]


async def test_a_slow_store_does_not_cost_the_command(bench: Bench) -> None:
    await bench.running()
    bench.ear.delay = TAKE_SECONDS + 1.5
    await bench.discord.slash("ann", "help")
    await bench.discord.until(lambda: any(call.status == 204 for call in bench.discord.calls))
    assert bench.ear.taken == {}

    await bench.ear.heard("/help")

    assert bench.discord.interactions.failed == []


async def test_a_command_that_can_not_be_kept_is_not_acknowledged(bench: Bench) -> None:
    await bench.running()
    bench.ear.failures = 1
    await bench.discord.slash("ann", "help")
    await bench.ear.until(lambda: bench.ear.takes == 1)
    await bench.discord.slash("ann", "switch")
    await bench.ear.heard("/switch")
    await bench.discord.until(lambda: any(call.status == 204 for call in bench.discord.calls))

    assert [one.answered is None for one in bench.discord.interactions.all.values()] == [True, False]


@pytest.mark.parametrize("value", ["short", "~odd", "x" * 500])
async def test_a_button_is_known_after_a_restart_however_long_its_value_is(bench: Bench, value: str) -> None:
    buttons = (Button(label="Press", value=value), Button(label="Again", value=value))
    platform_id = await bench.adapter().post(bench.place("ann"), final("Well?", buttons=buttons), key="a")
    await bench.running()
    await bench.discord.click(platform_id, "Press")
    message = await bench.ear.heard(value)

    assert message.trigger is Trigger.BUTTON
    assert message.pressed == value
    assert message.target == platform_id
    await bench.discord.until(lambda: all(one.answered for one in bench.discord.interactions.all.values()))


async def test_presses_of_two_people_are_two_messages(bench: Bench) -> None:
    adapter = await bench.running()
    await bench.discord.user_says("team", "hi", direct=False)
    yes = (Button(label="Yes", value="/yes"),)
    platform_id = await adapter.post(bench.place("team", direct=False), final("Sure?", buttons=yes), key="a")
    await asyncio.gather(
        bench.discord.click(platform_id, "Yes", user="ann"),
        bench.discord.click(platform_id, "Yes", user="bob"),
    )
    await bench.ear.until(lambda: bench.ear.texts.count("/yes") == 2)

    assert {one.sender.name for one in bench.ear.taken.values() if one.pressed} == {"ann", "bob"}
    assert bench.discord.messages[platform_id].buttons == ["Yes"]
