"""Answers on Telegram look as they should, and what goes wrong is told as what it is."""

import json

import pytest
from telegram import Bot, MessageEntity

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from bot.messages import Address, Button
from channels.telegram.errors import telegram_errors
from channels.telegram.sending import draft_id
from tests.channels.telegram.conftest import Bench, failed, final, growing
from tests.simulators.platform import Fault


async def test_markdown_is_shown_as_what_it_means(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    posted = await adapter.post(
        place, final("**Hi** \N{GRINNING FACE} [you](https://a.example)\n\n`x`"), key="k"
    )

    shown = bench.telegram.messages[posted]
    kinds = [entity["type"] for entity in json.loads(shown.raw)["entities"]]
    assert shown.text == "Hi \N{GRINNING FACE} you\n\nx"
    assert kinds == ["bold", "text_link", "code"]


async def test_plain_text_keeps_its_signs(bench: Bench) -> None:
    adapter = bench.adapter()
    posted = await adapter.post(bench.place("ann"), final("**Hi**", is_plain=True), key="k")

    assert bench.telegram.messages[posted].text == "**Hi**"


async def test_a_text_that_would_show_nothing_is_shown_as_it_is(bench: Bench) -> None:
    adapter = bench.adapter()
    posted = await adapter.post(bench.place("ann"), final("[a]: https://b.example"), key="k")

    assert bench.telegram.messages[posted].text == "[a]: https://b.example"


async def test_the_longest_text_fits_and_a_longer_one_is_refused_for_good(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    most = adapter.capabilities_in(place).max_size
    text = "\N{GRINNING FACE}" * (most // 2)
    await adapter.post(place, final(text), key="k1")

    with pytest.raises(ChannelError, match="too long") as caught:
        await adapter.post(place, final(text + "!"), key="k2")

    assert adapter.measure(text) == most
    assert adapter.measure(text + "!") > most
    assert caught.value.permanent


async def test_an_answer_grows_by_edits_and_one_that_stands_is_no_error(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("team", direct=False)
    posted = await adapter.post(place, growing("One"), key="k")
    await adapter.edit(place, posted, growing("One, **two**"))
    await adapter.edit(place, posted, final("One, **two**"))
    await adapter.edit(place, posted, final("One, **two**", buttons=(Button(label="Yes"),)))

    shown = bench.telegram.messages[posted]
    assert (shown.text, shown.edits, shown.buttons) == ("One, two", 2, ["Yes"])


async def test_drafts_are_shown_in_private_chats_and_end_with_the_message(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    await adapter.preview(place, growing("Hm"), key="run:0")
    await adapter.preview(place, growing("Hm, **yes**"), key="run:0")
    (draft,) = bench.telegram.chat("ann")
    seen = (draft.text, draft.is_preview, draft.edits)
    await adapter.post(place, final("Hm, yes."), key="run:0")

    assert seen == ("Hm, yes", True, 1)
    assert bench.telegram.texts("ann") == ["Hm, yes."]
    assert adapter.capabilities_in(place).previews
    assert not adapter.capabilities_in(bench.place("team", direct=False)).previews
    with pytest.raises(ChannelError, match="private"):
        await adapter.preview(bench.place("team", direct=False), growing("Hm"), key="run:1")


def test_drafts_have_numbers_that_telegram_takes() -> None:
    numbers = {draft_id(f"run:{number}") for number in range(1_000)}

    assert len(numbers) == 1_000
    assert all(0 < number < 2**31 + 1 for number in numbers)


async def test_a_reply_quotes_the_message_also_when_that_is_gone(bench: Bench) -> None:
    adapter = bench.adapter()
    said = await bench.telegram.user_says("team", "why?", direct=False)
    place = bench.place("team", direct=False)
    quoting = await adapter.post(place, final("So.", answers=said, quotes=True), key="k1")
    silent = await adapter.post(place, final("So.", answers=said), key="k2")
    gone = await adapter.post(place, final("So.", answers=f"{place.chat}:999", quotes=True), key="k3")
    pressed = await adapter.post(place, final("So.", answers="press:1", quotes=True), key="k4")

    replies = [bench.telegram.messages[one].reply_to for one in (quoting, silent, gone, pressed)]
    assert replies == [said, None, None, None]


async def test_an_answer_in_a_topic_stays_there(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("team", direct=False, thread="plans")
    posted = await adapter.post(place, final("Here."), key="k")

    assert bench.telegram.messages[posted].thread == "plans"


async def test_a_message_is_taken_back_once_or_twice(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    posted = await adapter.post(place, final("Oops"), key="k")
    await adapter.delete(place, posted)
    await adapter.delete(place, posted)

    assert bench.telegram.chat("ann") == []
    with pytest.raises(MessageGone):
        await adapter.edit(place, posted, final("Oh"))


async def test_what_another_wrote_can_not_be_changed(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    said = await bench.telegram.user_says("ann", "mine")

    with pytest.raises(MessageGone):
        await adapter.edit(place, said, final("ours"))


async def test_typing_and_reactions_are_shown(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    said = await bench.telegram.user_says("ann", "hi")
    await adapter.type(place)
    await adapter.react(place, said, "\N{EYES}")
    first = list(bench.telegram.messages[said].reactions)
    await adapter.react(place, said, "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}")
    second = list(bench.telegram.messages[said].reactions)
    await adapter.react(place, said, None)

    assert bench.telegram.typing("ann") == 1
    assert (first, second) == (["\N{EYES}"], ["\N{HEAVY BLACK HEART}"])
    assert bench.telegram.messages[said].reactions == []


@pytest.mark.parametrize(("where", "emoji"), [("said", "\N{TOP HAT}"), ("press:1", "\N{EYES}")])
async def test_a_reaction_that_can_not_be_is_permanent(bench: Bench, where: str, emoji: str) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    said = await bench.telegram.user_says("ann", "hi")

    with pytest.raises(ChannelError) as caught:
        await adapter.react(place, said if where == "said" else where, emoji)

    assert caught.value.permanent


async def test_blocked_and_unknown_chats_are_permanent(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    bench.telegram.block("ann")
    nobody = Address(channel="telegram", chat="42")

    for address, cause in ((place, "blocked"), (nobody, "not found")):
        with pytest.raises(ChannelError, match=cause) as caught:
            await adapter.post(address, final("Hi"), key="k")
        assert caught.value.permanent


async def test_a_platform_that_wants_us_to_wait_says_how_long(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    bench.telegram.fail(Fault(kind="limit", seconds=2.5))

    with pytest.raises(RateLimited) as caught:
        await adapter.post(place, final("Hi"), key="k")

    assert caught.value.retry_after == 2.5
    assert caught.value.scope == "chat"
    assert bench.telegram.chat("ann") == []


@pytest.mark.parametrize("kind", ["lose", "status"])
async def test_a_post_without_an_answer_may_have_happened_and_is_not_repeated(
    bench: Bench, kind: str
) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    bench.telegram.fail(Fault(kind=kind, method="sendMessage"))  # type: ignore[arg-type]  # one of its kinds

    with pytest.raises(OutcomeUnknown):
        await adapter.post(place, final("Hi"), key="k")

    assert len([call for call in bench.telegram.calls if call.method == "sendMessage"]) == 1


async def test_a_platform_that_is_away_was_not_asked(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    async with bench.telegram.away():
        with pytest.raises(ChannelError, match="can't be reached") as caught:
            await adapter.post(place, final("Hi"), key="k")

    assert not isinstance(caught.value, OutcomeUnknown)
    assert not caught.value.permanent


async def test_a_group_that_became_a_supergroup_is_found_at_the_next_try(bench: Bench) -> None:
    adapter, place = await bench.running(), bench.place("team", direct=False)
    bench.telegram.upgrade("team")

    with pytest.raises(ChannelError, match="supergroup") as caught:
        await adapter.post(place, final("Hi"), key="k")
    await adapter.post(place, final("Hi"), key="k")
    await bench.stop()
    again = await bench.running()
    await again.post(place, final("Still"), key="k2")

    assert not caught.value.permanent
    assert bench.telegram.texts("team") == ["Hi", "Still"]


async def test_what_telegram_has_not_is_said_so(bench: Bench) -> None:
    adapter = bench.adapter()

    with pytest.raises(ChannelError, match="presence") as presence:
        await adapter.set_presence("idle", None)
    with pytest.raises(ChannelError, match="find") as found:
        await adapter.find(bench.place("ann"), key="k")

    assert presence.value.permanent
    assert found.value.permanent


async def test_entities_that_telegram_refuses_are_refused_markup(bench: Bench) -> None:
    chat = int(bench.place("ann").chat)

    async with Bot(bench.telegram.token, base_url=f"{bench.telegram.url}/bot") as bot:
        with pytest.raises(MarkupRefused), telegram_errors("sendMessage"):
            await bot.send_message(chat, "short", entities=[MessageEntity("bold", 0, 99)])


async def test_webhook_mode_without_a_public_url_is_permanent(bench: Bench) -> None:
    adapter = bench.adapter(mode="webhook")

    error = await failed(bench.run(adapter))
    bench.runs.clear()

    assert error.permanent
    assert "BOT_PUBLIC_URL" in str(error)
