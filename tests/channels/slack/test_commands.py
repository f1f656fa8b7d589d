"""Slash commands are understood in all their forms, and answered where they may be seen."""

import pytest

from bot.errors import ChannelError
from bot.messages import InboundMessage, Trigger
from tests.channels.slack.conftest import Bench, final, growing


async def used(
    bench: Bench, command: str, arguments: str, text: str, *, direct: bool = False
) -> InboundMessage:
    await bench.slack.slash("team", command, arguments, user="bob", direct=direct)
    return await bench.ear.heard(text)


@pytest.mark.parametrize(
    ("command", "arguments", "text", "trigger"),
    [
        ("help", "", "/help", Trigger.COMMAND),
        ("help", "me", "/help me", Trigger.COMMAND),
        ("switchboard", "help me", "/help me", Trigger.COMMAND),
        ("switchboard", "admin info", "/admin info", Trigger.COMMAND),
        ("switchboard", "", "/help", Trigger.COMMAND),
        ("switchboard", "what is new?", "what is new?", Trigger.MESSAGE),
    ],
)
async def test_a_command_is_read_with_and_without_a_word_before_it(
    bench: Bench, command: str, arguments: str, text: str, trigger: Trigger
) -> None:
    await bench.running()
    message = await used(bench, command, arguments, text)
    await bench.slack.until(lambda: bench.slack.push.acknowledged == 1)

    assert message.trigger is trigger
    assert bench.ear.addressed[message.platform_id]
    assert message.address == bench.place("team", direct=False)


async def test_a_command_is_answered_in_the_channel(bench: Bench) -> None:
    adapter = await bench.running()
    message = await used(bench, "help", "", "/help")
    await adapter.post(message.address, final("I can help.", answers=message.platform_id), key="k1")

    assert bench.slack.chat("team")[0].ephemeral_to is None


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_the_answer_to_an_admin_is_seen_by_nobody_else(bench: Bench, is_restarted: bool) -> None:
    adapter = await bench.running()
    message = await used(bench, "admin", "info", "/admin info")
    answers = message.platform_id
    if is_restarted:
        adapter = bench.adapter()
    posted = await adapter.post(message.address, growing("All", answers=answers), key="k1")
    await adapter.edit(message.address, posted, growing("All is", answers=answers))
    await adapter.edit(message.address, posted, final("All is well.", answers=answers))
    await adapter.edit(message.address, posted, final("All is well.", answers=answers))

    assert [(one.text, one.ephemeral_to) for one in bench.slack.chat("team")] == [("All is well.", "bob")]
    assert ("response_url" in [call.method for call in bench.slack.calls]) is not is_restarted


async def test_with_the_bot_alone_an_admin_gets_a_common_answer(bench: Bench) -> None:
    adapter = await bench.running()
    message = await used(bench, "admin", "info", "/admin info", direct=True)
    await adapter.post(message.address, final("Fine.", answers=message.platform_id), key="k1")

    assert bench.slack.chat("team")[0].ephemeral_to is None


async def test_a_command_is_answered_where_the_bot_is_no_member(bench: Bench) -> None:
    adapter = await bench.running()
    message = await used(bench, "help", "", "/help")
    bench.slack.world.chats[message.address.chat].has_bot = False
    await adapter.post(message.address, final("I can help.", answers=message.platform_id), key="k1")

    assert bench.slack.texts("team") == ["I can help."]
    with pytest.raises(ChannelError) as caught:
        await adapter.post(message.address, final("More."), key="k2")
    assert caught.value.permanent
