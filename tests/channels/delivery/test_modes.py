"""Ways in which an answer can come: previews, blocks, whole; with files, buttons and code."""

from pathlib import Path

from msgspec.structs import replace

from bot.agent.store import Posted as Record
from bot.errors import ChannelError, MarkupRefused
from bot.messages import Attachment, Button
from tests.channels.delivery.platform import EDITING, DeafOutbox, Setup
from tests.factories import chunk_of, end_of

WIDE = replace(EDITING, max_size=2_000)


async def test_a_preview_becomes_one_message_at_the_end(setup: Setup) -> None:
    setup.platform.capabilities = replace(WIDE, previews=True)
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "Hel")
        await setup.platform.until(lambda: setup.platform.previews == ["Hel"])
        setup.bus.send(await setup.saved(message, "Hello"))

    assert setup.platform.texts() == ["Hello"]
    assert [kind for _, kind, _ in setup.platform.calls] == ["preview", "post"]


async def test_what_does_not_fit_a_preview_is_posted_while_the_rest_grows(setup: Setup) -> None:
    setup.platform.capabilities = replace(EDITING, previews=True)
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "one two three four five six")
        await setup.platform.until(lambda: setup.platform.previews == ["five six"])

    assert setup.platform.texts() == ["one two three four"]


async def test_off_shows_nothing_before_the_end(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering(streaming="off"):
        setup.say(message, "pre", "view")
        setup.bus.send(await setup.saved(message, "preview"))

    assert [kind for _, kind, _ in setup.platform.calls] == ["post"]


async def test_blocks_are_posted_when_finished_and_never_changed(setup: Setup) -> None:
    setup.platform.capabilities = WIDE
    message = await setup.asked()
    first, second = "a" * 30 + ".\n\n", "b" * 30 + ".\n\n"
    async with setup.delivering(streaming="block", block_min=20, block_max=60, block_idle=0.0):
        setup.say(message, first + second + "tail")
        await setup.platform.until(lambda: len(setup.platform.texts()) >= 2)
        setup.bus.send(await setup.saved(message, first + second + "tail of it"))
        await setup.platform.until(lambda: "of it" in setup.platform.texts()[-1])

    assert setup.platform.texts()[:2] == [first.strip(), second.strip()]
    assert "".join(setup.platform.texts()[2:]).replace(" ", "") == "tailofit"
    assert {kind for _, kind, _ in setup.platform.calls} == {"post"}


async def test_blocks_that_were_posted_before_a_crash_are_not_posted_again(setup: Setup) -> None:
    setup.platform.capabilities = WIDE
    message = await setup.asked()
    first = "a" * 30 + ".\n\n"
    async with setup.delivering(streaming="block", block_min=20, block_max=60, block_idle=0.0):
        setup.say(message, first + "b")
        await setup.platform.until(lambda: bool(setup.platform.texts()))
    shown = setup.platform.texts()
    await setup.saved(message, first + "bbb")

    async with setup.delivering(streaming="block", block_min=20, block_max=60):
        pass

    assert setup.platform.texts()[: len(shown)] == shown
    assert "".join(setup.platform.texts()).replace("\n", "") == first.strip() + "bbb"


async def test_people_are_given_time_between_blocks(setup: Setup) -> None:
    setup.platform.capabilities = replace(WIDE, rates=())
    message = await setup.asked()
    text = "".join(f"{letter * 30}.\n\n" for letter in "abc")
    async with setup.delivering(streaming="block", block_min=20, block_max=60, human_delay=True):
        setup.say(message, text)
        await setup.platform.until(lambda: len(setup.platform.texts()) >= 2)

    first, second = (at for at, _, _ in setup.platform.calls[:2])
    assert 0.8 <= second - first <= 2.5


async def test_a_message_that_can_be_changed_no_more_is_continued_in_a_new_one(setup: Setup) -> None:
    setup.platform.capabilities = WIDE
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "It began ")
        await setup.platform.until(
            lambda: setup.platform.texts() == ["It began "] or bool(setup.platform.texts())
        )
        setup.platform.gone.add("m1")
        setup.bus.send(await setup.saved(message, "It began and went on"))

    assert " ".join(text.strip() for text in setup.platform.texts()) == "It began and went on"
    assert len(setup.platform.texts()) == 2
    assert await setup.waiting() == []


async def test_a_message_of_which_only_the_id_is_known_is_posted_anew_when_it_is_gone(setup: Setup) -> None:
    message = await setup.asked()
    end = await setup.saved(message, "the answer")
    await setup.store.outbox.record(end.run, Record(part=0, platform_id="m77", attempt=1))

    async with setup.delivering():
        pass

    assert setup.platform.texts() == ["the answer"]


async def test_markup_that_is_refused_is_sent_as_plain_text(setup: Setup) -> None:
    setup.platform.failures = [MarkupRefused("can't parse entities")]
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "**bold**"))

    (posted,) = setup.platform.messages.values()
    assert posted.content is not None
    assert posted.content.is_plain
    assert await setup.waiting() == []


async def test_plain_text_that_is_refused_too_is_no_endless_try(setup: Setup) -> None:
    setup.platform.failures = [MarkupRefused("no"), MarkupRefused("no"), ChannelError("no", permanent=True)]
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "**bold**"))
        await setup.platform.until(lambda: len(setup.platform.calls) == 3)

    assert setup.platform.texts() == []


async def test_an_answer_can_ask_to_be_shown_as_a_reply(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(replace(chunk_of(message, "[[reply_to"), reply_to="p9"))
        setup.bus.send(await setup.saved(message, "[[reply_to_current]] Yes.", reply_to="p9"))

    (posted,) = setup.platform.messages.values()
    assert posted.content is not None
    assert (posted.text, posted.content.quotes, posted.content.answers) == ("Yes.", True, "p9")


async def test_brackets_that_are_no_tag_are_text(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "[[x]] is a list"))

    assert setup.platform.texts() == ["[[x]] is a list"]


async def test_buttons_stand_under_the_last_message(setup: Setup) -> None:
    buttons = (Button(label="Yes", value="/clear yes"),)
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "Sure? ")
        await setup.platform.until(lambda: bool(setup.platform.texts()))
        setup.bus.send(await setup.saved(message, "Sure? Really sure, now and always?", buttons=buttons))

    contents = [posted.content for posted in setup.platform.messages.values()]
    assert [content and content.buttons for content in contents] == [(), buttons]


async def test_buttons_come_though_the_text_stands_already(setup: Setup) -> None:
    buttons = (Button(label="Yes", value="yes"),)
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "Sure?")
        await setup.platform.until(lambda: setup.platform.texts() == ["Sure?"])
        setup.bus.send(await setup.saved(message, "Sure?", buttons=buttons))

    (posted,) = setup.platform.messages.values()
    assert posted.content is not None
    assert posted.content.buttons == buttons


async def test_a_message_that_has_to_be_closed_is_closed(setup: Setup) -> None:
    setup.platform.capabilities = replace(EDITING, finishes=True)
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "all")
        await setup.platform.until(lambda: setup.platform.texts() == ["all"])
        setup.bus.send(await setup.saved(message, "all"))

    (posted,) = setup.platform.messages.values()
    assert posted.content is not None
    assert posted.content.is_final


async def test_a_file_is_sent_once_though_the_process_dies_before_it_is_confirmed(
    setup: Setup, tmp_path: Path
) -> None:
    file = tmp_path / "plan.txt"
    file.write_text("the plan")
    attachment = Attachment(kind="file", name="plan.txt", path=str(file))
    message = await setup.asked()
    async with setup.delivering(outbox=DeafOutbox(setup.store)):
        setup.bus.send(await setup.saved(message, "Here", attachments=(attachment,)))

    async with setup.delivering():
        pass

    assert [(one.text, one.file) for one in setup.platform.messages.values()] == [
        ("Here", None),
        ("plan.txt", "the plan"),
    ]


async def test_a_file_that_is_too_large_is_told_of(setup: Setup, tmp_path: Path) -> None:
    setup.platform.capabilities = replace(WIDE, max_upload=10)
    file = tmp_path / "big.bin"
    file.write_bytes(b"x" * 11)
    message = await setup.asked()
    async with setup.delivering():
        attachment = Attachment(kind="file", name="big.bin", path=str(file))
        setup.bus.send(await setup.saved(message, "Here", attachments=(attachment,)))

    assert "`big.bin`" in setup.platform.texts()[1]
    assert await setup.waiting() == []


async def test_long_code_becomes_a_file(setup: Setup) -> None:
    setup.platform.capabilities = replace(WIDE, long_code=50, max_upload=10_000)
    code = "print('hello')\n" * 10
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, f"Look:\n```python\n{code}```\nThat is all."))

    said, sent = setup.platform.messages.values()
    assert said.text.startswith("Look:\n`code-1.py` (10 lines")
    assert sent.file == code


async def test_a_silent_end_takes_back_what_was_shown(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "Hm")
        await setup.platform.until(lambda: setup.platform.texts() == ["Hm"])
        setup.bus.send(end_of(message, "", reason="silent"))

    assert setup.platform.texts() == []


async def test_two_answers_grow_in_one_chat_side_by_side(setup: Setup) -> None:
    first, second = await setup.asked(), await setup.asked()
    async with setup.delivering():
        setup.say(first, "one")
        setup.say(second, "two")
        await setup.platform.until(lambda: sorted(setup.platform.texts()) == ["one", "two"])
        setup.bus.send(await setup.saved(second, "two!"))
        setup.bus.send(await setup.saved(first, "one!"))

    assert sorted(setup.platform.texts()) == ["one!", "two!"]
    assert len(setup.platform.messages) == 2
