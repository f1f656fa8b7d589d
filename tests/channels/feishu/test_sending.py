"""What people on Feishu see of what the bot says."""

import asyncio
import json

import pytest

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from bot.messages import Button
from channels.base import Content
from channels.feishu.sending import request_id
from tests.channels.feishu.conftest import Bot, Memory, made
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.platform import Fault


async def test_a_whole_answer_is_one_message(poster: Bot, simulator: FeishuSimulator) -> None:
    posted = await poster.adapter.post(poster.address(), Content(text="It is **bold**."), key="one")

    [shown] = simulator.chat("ann")
    assert (shown.id, shown.text) == (posted, "It is bold.")
    assert [call.method for call in simulator.calls] == ["messages.create"]


async def test_a_growing_answer_is_one_message_that_ends_finished(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    adapter, address = poster.adapter, poster.address()
    posted = await adapter.post(address, Content(text="One", is_final=False), key="one")
    for text in ("One two", "One two three"):
        await adapter.edit(address, posted, Content(text=text, is_final=False))
        assert simulator.texts("ann") == [text]
    await adapter.edit(address, posted, Content(text="One two three.", buttons=(Button(label="More"),)))

    [shown] = simulator.chat("ann")
    assert (shown.text, shown.buttons) == ("One two three.", ["More"])
    [card] = simulator.world.cards.values()
    assert not card.is_streaming
    assert shown.id in posted


async def test_a_growing_answer_goes_on_in_the_next_process(simulator: FeishuSimulator) -> None:
    state = Memory()
    before = made(simulator, state)
    address = before.address()
    posted = await before.adapter.post(address, Content(text="One", is_final=False), key="one")
    for number in range(5):
        await before.adapter.edit(address, posted, Content(text=f"One {number}", is_final=False))
    await before.adapter.aclose()

    after = made(simulator, state)
    await after.adapter.edit(address, posted, Content(text="One 9 and more", is_final=False))
    await after.adapter.edit(address, posted, Content(text="The end"))
    await after.adapter.aclose()

    assert simulator.texts("ann") == ["The end"]


@pytest.mark.parametrize("is_final", [True, False])
async def test_a_post_whose_answer_was_lost_does_not_show_twice_in_the_next_process(
    simulator: FeishuSimulator, is_final: bool
) -> None:
    state = Memory()
    before = made(simulator, state)
    address = before.address()
    simulator.fail(Fault(kind="lose", method="messages.create"))
    with pytest.raises(OutcomeUnknown):
        await before.adapter.post(address, Content(text="On", is_final=is_final), key="one")
    await before.adapter.aclose()

    after = made(simulator, state)
    posted = await after.adapter.post(address, Content(text="Once", is_final=is_final), key="one")
    await after.adapter.edit(address, posted, Content(text="Once."))
    await after.adapter.aclose()

    assert simulator.texts("ann") == ["Once."]


async def test_a_post_that_had_begun_to_grow_is_finished_by_its_next_try(
    simulator: FeishuSimulator, poster: Bot
) -> None:
    simulator.fail(Fault(kind="lose", method="messages.create"))
    with pytest.raises(OutcomeUnknown):
        await poster.adapter.post(poster.address(), Content(text="Whol", is_final=False), key="one")

    await poster.adapter.post(poster.address(), Content(text="Whole."), key="one")

    assert simulator.texts("ann") == ["Whole."]
    assert not any(card.is_streaming for card in simulator.world.cards.values())


async def test_growing_goes_on_after_streaming_has_ended_by_itself() -> None:
    async with FeishuSimulator(streaming_seconds=0.0) as simulator:
        bot = made(simulator, Memory())
        posted = await bot.adapter.post(bot.address(), Content(text="One", is_final=False), key="one")
        await bot.adapter.edit(bot.address(), posted, Content(text="One two", is_final=False))
        shown = simulator.texts("ann")
        await bot.adapter.aclose()

    assert shown == ["One two"]


async def test_a_finished_answer_can_grow_and_be_changed_again(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    adapter, address = poster.adapter, poster.address()
    posted = await adapter.post(address, Content(text="One", is_final=False), key="one")
    await adapter.edit(address, posted, Content(text="Two"))
    await adapter.edit(address, posted, Content(text="Three", is_final=False))
    await adapter.edit(address, posted, Content(text="Four", is_plain=True))

    assert simulator.texts("ann") == ["Four"]


async def test_a_message_that_was_posted_whole_can_be_changed(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    posted = await poster.adapter.post(poster.address(), Content(text="One"), key="one")
    await poster.adapter.edit(poster.address(), posted, Content(text="Two"))

    [shown] = simulator.chat("ann")
    assert (shown.text, shown.edits) == ("Two", 1)


async def test_plain_text_is_shown_as_it_is(poster: Bot, simulator: FeishuSimulator) -> None:
    content = Content(text="**not bold** <at id=all></at>", is_plain=True)
    await poster.adapter.post(poster.address(), content, key="one")

    [shown] = simulator.chat("ann")
    assert (shown.text, shown.pinged) == ("**not bold** <at id=all></at>", [])


@pytest.mark.parametrize("is_final", [True, False])
@pytest.mark.parametrize("tag", ["<at id=all></at>", "<AT  id='all'>", "< at user_id=ou_1></at>"])
async def test_the_model_can_notify_nobody(
    poster: Bot, simulator: FeishuSimulator, tag: str, is_final: bool
) -> None:
    content = Content(text=f"Hey {tag}", is_final=is_final)
    await poster.adapter.post(poster.address(), content, key="one")

    [shown] = simulator.chat("ann")
    assert shown.pinged == []


async def test_a_quote_replies_and_a_button_press_can_not_be_quoted(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    asked = await simulator.user_says("team", "why?", direct=False)
    address = poster.address("team", is_direct=False)
    await poster.adapter.post(address, Content(text="So.", answers=asked, quotes=True), key="one")
    await poster.adapter.post(address, Content(text="Done.", answers="f7984f25", quotes=True), key="two")

    assert [shown.reply_to for shown in simulator.chat("team")] == [asked, None]


async def test_an_answer_whose_question_was_taken_back_is_still_given(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    asked = await simulator.user_says("team", "why?", direct=False)
    await simulator.user_deletes("team", asked)
    content = Content(text="So.", answers=asked, quotes=True)
    await poster.adapter.post(poster.address("team", is_direct=False), content, key="one")

    assert simulator.texts("team") == ["So."]


async def test_an_answer_stays_in_its_thread(poster: Bot, simulator: FeishuSimulator) -> None:
    root = simulator.world.root(simulator.world.chat("team", is_direct=False), "topic")
    address = poster.address("team", is_direct=False, thread=root)
    posted = await poster.adapter.post(address, Content(text="Here", is_final=False), key="one")
    await poster.adapter.edit(address, posted, Content(text="Here."))

    [shown] = simulator.chat("team", thread="topic")
    assert shown.text == "Here."


async def test_a_thread_that_is_gone_is_permanent(poster: Bot, simulator: FeishuSimulator) -> None:
    root = simulator.world.root(simulator.world.chat("team", is_direct=False), "topic")
    simulator.world.recall(simulator.world.posts[root])
    address = poster.address("team", is_direct=False, thread=root)

    with pytest.raises(ChannelError) as caught:
        await poster.adapter.post(address, Content(text="Here"), key="one")

    assert caught.value.permanent


async def test_buttons_carry_links_and_values(poster: Bot, simulator: FeishuSimulator) -> None:
    buttons = (
        Button(label="Open", url="https://example.org"),
        Button(label="Go", value="go", style="danger"),
    )
    await poster.adapter.post(poster.address(), Content(text="Choose", buttons=buttons), key="one")

    [shown] = simulator.chat("ann")
    assert shown.buttons == ["Open", "Go"]
    assert "https://example.org" in json.dumps(json.loads(shown.raw))


async def test_a_deleted_message_is_gone_and_may_be_deleted_again(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    address = poster.address()
    for key, is_final in (("one", True), ("two", False)):
        posted = await poster.adapter.post(address, Content(text="Oops", is_final=is_final), key=key)
        await poster.adapter.delete(address, posted)
        await poster.adapter.delete(address, posted)

    assert simulator.texts("ann") == []


async def test_changing_a_message_that_was_taken_back_says_that_it_is_gone(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    posted = await poster.adapter.post(poster.address(), Content(text="One"), key="one")
    simulator.world.recall(simulator.world.posts[posted])

    with pytest.raises(MessageGone):
        await poster.adapter.edit(poster.address(), posted, Content(text="Two"))


def fits(text: str, bot: Bot, limit: int) -> int:
    """How much a text takes, where that is not too much."""
    size = bot.adapter.measure(text)
    return size if size <= limit else 0


async def test_the_most_that_fits_by_measure_is_taken(poster: Bot, simulator: FeishuSimulator) -> None:
    address = poster.address()
    limit = poster.adapter.capabilities_in(address).max_size
    word = 'say "你好" \\ and so on\n'
    text = max((word * count for count in range(100, 1_000, 20)), key=lambda one: fits(one, poster, limit))
    buttons = tuple(Button(label=f"Button {number}", value="v" * 60) for number in range(10))

    posted = await poster.adapter.post(address, Content(text=text, is_final=False), key="one")
    await poster.adapter.edit(address, posted, Content(text=text + "\n", is_final=False))
    await poster.adapter.edit(address, posted, Content(text=text, buttons=buttons))
    await poster.adapter.post(address, Content(text=text, buttons=buttons), key="two")

    assert len(simulator.chat("ann")) == 2


async def test_a_card_that_is_refused_may_be_tried_as_plain_text(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    with pytest.raises(MarkupRefused):
        await poster.adapter.post(poster.address(), Content(text="x" * 40_000), key="one")


async def test_asking_too_often_says_exactly_how_long_to_wait(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    simulator.fail(Fault(kind="limit", seconds=7.25))

    with pytest.raises(RateLimited) as caught:
        await poster.adapter.post(poster.address(), Content(text="x"), key="one")

    assert (caught.value.retry_after, caught.value.scope) == (7.25, "account")


async def test_a_chat_and_a_message_have_rates_of_their_own(poster: Bot, simulator: FeishuSimulator) -> None:
    address = poster.address()
    posted = [
        await poster.adapter.post(address, Content(text="x"), key=f"key {number}") for number in range(5)
    ]
    with pytest.raises(RateLimited) as of_chat:
        await poster.adapter.post(address, Content(text="x"), key="one more")
    for number in range(5):
        await poster.adapter.edit(address, posted[0], Content(text=str(number)))
    with pytest.raises(RateLimited) as of_message:
        await poster.adapter.edit(address, posted[0], Content(text="one more"))

    assert (of_chat.value.scope, of_message.value.scope) == ("chat", "message")


async def test_a_chat_that_the_bot_has_left_is_permanent(poster: Bot, simulator: FeishuSimulator) -> None:
    address = poster.address("team", is_direct=False)
    simulator.world.chat("team", is_direct=False).is_left = True

    with pytest.raises(ChannelError) as caught:
        await poster.adapter.post(address, Content(text="x"), key="one")

    assert caught.value.permanent


@pytest.mark.parametrize("kind", ["status", "cut", "lose"])
async def test_without_an_answer_the_outcome_is_unknown_and_a_second_try_shows_once(
    poster: Bot, simulator: FeishuSimulator, kind: str
) -> None:
    simulator.fail(Fault(kind=kind, method="messages.create", status=502))  # type: ignore[arg-type]  # of a list
    with pytest.raises(OutcomeUnknown):
        await poster.adapter.post(poster.address(), Content(text="x"), key="one")

    await poster.adapter.post(poster.address(), Content(text="x"), key="one")

    assert simulator.texts("ann") == ["x"]


async def test_when_nobody_is_there_nothing_was_done(poster: Bot, simulator: FeishuSimulator) -> None:
    address = poster.address()
    async with simulator.away():
        with pytest.raises(ChannelError) as caught:
            await poster.adapter.post(address, Content(text="x"), key="one")

    assert not isinstance(caught.value, OutcomeUnknown)


async def test_a_reaction_is_put_on_replaced_and_taken_away(poster: Bot, simulator: FeishuSimulator) -> None:
    said = await simulator.user_says("ann", "nice")
    address = poster.address()
    await poster.adapter.react(address, said, "\N{EYES}")
    assert simulator.messages[said].reactions == ["GLANCE"]
    await poster.adapter.react(address, said, "\N{THUMBS UP SIGN}")
    assert simulator.messages[said].reactions == ["THUMBSUP"]
    await poster.adapter.react(address, said, None)

    assert simulator.messages[said].reactions == []


async def test_a_reaction_of_an_earlier_process_is_taken_away(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    said = await simulator.user_says("ann", "nice")
    await poster.adapter.react(poster.address(), said, "\N{EYES}")

    after = made(simulator, Memory())
    await after.adapter.react(after.address(), said, None)
    await after.adapter.aclose()

    assert simulator.messages[said].reactions == []


async def test_an_emoji_without_a_name_is_permanent(poster: Bot) -> None:
    with pytest.raises(ChannelError, match="no reaction") as caught:
        await poster.adapter.react(poster.address(), "om_1", "\N{AUBERGINE}")

    assert caught.value.permanent


async def test_a_card_that_feishu_would_recognise_no_more_is_made_anew(simulator: FeishuSimulator) -> None:
    bot = made(simulator, Memory({"card-slot:0": f"{request_id('one')} 7000000000000000009|1000"}))
    await bot.adapter.post(bot.address(), Content(text="Fresh", is_final=False), key="one")
    await bot.adapter.aclose()

    assert simulator.texts("ann") == ["Fresh"]


async def test_posts_at_once_keep_their_cards_apart(simulator: FeishuSimulator) -> None:
    state = Memory()
    bot = made(simulator, state)
    chats = [bot.address(f"chat {number}") for number in range(6)]
    posted = await asyncio.gather(
        *(bot.adapter.post(chat, Content(text=chat.chat, is_final=False), key=chat.chat) for chat in chats)
    )
    await bot.adapter.aclose()

    assert len(state.values) == len(set(posted)) == 6
    assert {shown.text for shown in simulator.messages.values()} == {chat.chat for chat in chats}
