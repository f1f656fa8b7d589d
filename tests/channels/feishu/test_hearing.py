"""What comes from Feishu over the SDK's socket."""

import asyncio
import threading

import pytest

from bot.errors import ChannelError
from bot.messages import Button, Kind, Trigger
from channels.base import Content
from tests.channels.feishu.conftest import Bot, Memory, hearing, made
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.feishu_world import BOT_ID


async def test_a_direct_message_arrives_with_its_author_and_place(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    said = await simulator.user_says("ann", "hello there")

    message = await bot.intake.heard()

    assert (message.text, message.platform_id, message.sender.name) == ("hello there", said, "ann")
    assert message.address == bot.address("ann")
    assert bot.intake.taken[0][1]
    await simulator.until(lambda: not simulator.push.waiting)


async def test_in_a_group_a_mention_addresses_the_bot_and_is_left_out_of_the_text(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    await simulator.user_says("team", "what now?", direct=False, mentions_bot=True)
    await simulator.user_says("team", "just talking", direct=False)

    await bot.intake.heard(2)

    (asked, is_asked), (overheard, is_overheard) = bot.intake.taken
    assert (asked.text, is_asked, asked.mentions) == ("what now?", True, (BOT_ID,))
    assert (overheard.text, is_overheard) == ("just talking", False)
    assert not asked.is_direct


async def test_a_reply_to_the_bot_addresses_it_and_a_reply_to_another_does_not(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    address = bot.address("team", is_direct=False)
    ours = await bot.adapter.post(address, Content(text="I said this"), key="one")
    theirs = await simulator.user_says("team", "ann says", direct=False)
    await simulator.user_says("team", "to you", direct=False, reply_to=ours)
    await simulator.user_says("team", "to ann", direct=False, reply_to=theirs)

    await bot.intake.heard(3)

    assert [is_addressed for _, is_addressed in bot.intake.taken] == [False, True, False]
    assert [message.reply_to for message, _ in bot.intake.taken] == [None, ours, theirs]


async def test_a_reply_to_what_an_earlier_process_said_addresses_the_bot(
    simulator: FeishuSimulator,
) -> None:
    before = made(simulator, Memory())
    ours = await before.adapter.post(before.address("team", is_direct=False), Content(text="x"), key="one")
    await before.adapter.aclose()

    async with hearing(simulator) as after:
        await simulator.user_says("team", "to you", direct=False, reply_to=ours)
        await after.intake.heard()

    assert after.intake.taken[0][1]


async def test_all_messages_of_a_thread_have_its_root_as_their_thread(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    first = await simulator.user_says("team", "one", direct=False, thread="topic", mentions_bot=True)
    await simulator.user_says("team", "two", direct=False, thread="topic", mentions_bot=True)

    await bot.intake.heard(2)

    one, two = (message for message, _ in bot.intake.taken)
    assert one.address == two.address
    assert one.address.thread == simulator.world.posts[first].root


async def test_a_message_that_could_not_be_kept_comes_again_and_is_confirmed_then(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    bot.intake.refusals = 1
    said = await simulator.user_says("ann", "keep me")

    message = await bot.intake.heard()

    assert message.platform_id == said
    await simulator.until(lambda: not simulator.push.waiting)
    assert len(simulator.push.sent) == 2


async def test_a_message_that_was_not_confirmed_in_time_is_the_same_when_it_comes_again() -> None:
    async with FeishuSimulator(ack_seconds=0.2) as simulator, hearing(simulator) as bot:
        bot.intake.delay = 0.5
        said = await simulator.user_says("ann", "slow")

        await bot.intake.heard(2)

        assert {message.platform_id for message, _ in bot.intake.taken} == {said}


async def test_an_event_that_is_sent_once_more_is_the_same(bot: Bot, simulator: FeishuSimulator) -> None:
    await simulator.user_says("ann", "once")
    await bot.intake.heard()
    await simulator.redeliver()
    await bot.intake.heard(2)

    first, second = (message for message, _ in bot.intake.taken)
    assert first.dedupe_key == second.dedupe_key


async def test_a_message_in_several_frames_is_put_together(bot: Bot, simulator: FeishuSimulator) -> None:
    text = "long " * 8_000
    await simulator.user_says("ann", text)

    message = await bot.intake.heard()

    assert message.text == text.strip()


async def test_an_edit_and_a_deletion_name_the_message_and_its_place(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    said = await simulator.user_says("ann", "frist")
    await bot.intake.heard()
    await simulator.user_edits("ann", said, "first")
    await bot.intake.heard(2)
    await simulator.user_deletes("ann", said)
    await bot.intake.heard(3)

    message, edit, deletion = (message for message, _ in bot.intake.taken)
    assert (edit.kind, edit.target, edit.text) == (Kind.EDIT, said, "first")
    assert (deletion.kind, deletion.target) == (Kind.DELETE, said)
    assert message.address == edit.address == deletion.address
    assert len({message.platform_id, edit.platform_id, deletion.platform_id}) == 3


async def test_a_press_arrives_with_its_value_and_place_and_is_answered(
    bot: Bot, simulator: FeishuSimulator
) -> None:
    root = simulator.world.root(simulator.world.chat("team", is_direct=False), "topic")
    address = bot.address("team", is_direct=False, thread=root)
    buttons = (Button(label="Yes", value="approve:1", style="primary"), Button(label="No", value="deny:1"))
    posted = await bot.adapter.post(address, Content(text="May I?", buttons=buttons), key="one")

    await simulator.click(posted, "Yes", user="bob")
    message = await bot.intake.heard()

    assert (message.trigger, message.pressed, message.text) == (Trigger.BUTTON, "approve:1", "approve:1")
    assert (message.address, message.reply_to, message.sender.name) == (address, posted, "bob")
    await simulator.until(lambda: bool(simulator.push.answers))
    assert simulator.push.answers.popitem()[1]["toast"]


async def test_messages_of_other_bots_are_marked(bot: Bot, simulator: FeishuSimulator) -> None:
    await simulator.user_says("ann", "beep", is_bot=True)

    message = await bot.intake.heard()

    assert message.sender.is_bot


async def test_people_have_no_names_where_the_app_may_not_look_them_up() -> None:
    async with FeishuSimulator(has_contacts=False) as simulator, hearing(simulator) as bot:
        await simulator.user_says("ann", "who am I?")
        message = await bot.intake.heard()

    assert message.sender.name == ""
    assert message.sender.id.startswith("ou_")


async def test_what_was_said_while_the_connection_was_gone_comes_on_the_next(
    simulator: FeishuSimulator,
) -> None:
    state = Memory()
    async with hearing(simulator, state):
        pass
    await simulator.user_says("ann", "are you there?")

    async with hearing(simulator, state) as again:
        message = await again.intake.heard()

    assert message.text == "are you there?"


async def test_a_cut_connection_ends_run_so_that_it_is_called_again(simulator: FeishuSimulator) -> None:
    bot = made(simulator, Memory())
    running = asyncio.create_task(bot.adapter.run())
    await simulator.until(lambda: bool(simulator.push.sockets))

    await simulator.drop()
    with pytest.raises(ChannelError, match="connection ended") as caught:
        async with asyncio.timeout(5):
            await running

    assert not caught.value.permanent
    assert not bot.adapter.liveness.is_connected
    await bot.adapter.aclose()


async def test_a_connection_that_has_gone_silent_ends_run() -> None:
    async with FeishuSimulator(ping_interval=1) as simulator:
        bot = made(simulator, Memory())
        running = asyncio.create_task(bot.adapter.run())
        await simulator.until(lambda: bool(simulator.push.sockets))
        simulator.push.is_silent = True

        with pytest.raises(ChannelError, match="nothing was heard"):
            await running
        await bot.adapter.aclose()


async def test_a_wrong_secret_is_permanent(simulator: FeishuSimulator) -> None:
    bot = made(simulator, Memory(), app_id="cli_other")

    with pytest.raises(ChannelError, match="secret is wrong") as caught:
        await bot.adapter.run()

    assert caught.value.permanent
    await bot.adapter.aclose()


async def test_two_accounts_hear_at_once_and_leave_no_thread(simulator: FeishuSimulator) -> None:
    async with hearing(simulator) as one, hearing(simulator, account="second") as two:
        for number in range(4):  # a random one of the connections gets each event; here they take turns
            await simulator.user_says("ann", f"message {number}")
        await simulator.until(lambda: len(one.intake.taken) == len(two.intake.taken) == 2)

    assert {message.address.account for message, _ in two.intake.taken} == {"second"}
    assert not [thread for thread in threading.enumerate() if thread.name == "feishu socket"]


async def test_run_can_be_called_again_after_it_has_ended(simulator: FeishuSimulator) -> None:
    state = Memory()
    bot = made(simulator, state)
    for count in (1, 2):
        running = asyncio.create_task(bot.adapter.run())
        await simulator.user_says("ann", f"message {count}")
        await bot.intake.heard(count)
        assert bot.adapter.liveness.is_connected
        running.cancel()
        await asyncio.wait({running})
    await bot.adapter.aclose()

    assert [message.text for message, _ in bot.intake.taken] == ["message 1", "message 2"]
    assert not bot.adapter.liveness.is_connected
