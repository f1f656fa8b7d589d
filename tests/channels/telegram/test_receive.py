"""What people do on Telegram reaches the intake, once, in order, as what it is."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.messages import Button, Kind, Role, Trigger
from tests.channels.telegram.conftest import Bench, final
from tests.simulators.platform import File
from tests.simulators.telegram_world import BOT_ID, user_id

PNG = b"\x89PNG and more"


async def test_a_direct_message_is_heard_with_its_author_and_place(bench: Bench) -> None:
    await bench.running()
    said = await bench.telegram.user_says("ann", "Hello <b>& welcome</b>")

    message = await bench.ear.heard("Hello <b>& welcome</b>")

    assert message.platform_id == said
    assert message.address == bench.place("ann")
    assert message.session == message.address.session()
    assert (message.sender.id, message.sender.name) == (str(user_id("ann")), "ann")
    assert message.sender.role is Role.MEMBER
    assert abs(message.received_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert bench.ear.addressed[said]


async def test_in_a_group_a_mention_or_a_reply_addresses_the_bot_and_nothing_else(bench: Bench) -> None:
    adapter = await bench.running()
    posted = await adapter.post(bench.place("team", direct=False), final("Hi"), key="k1")
    lunch = await bench.telegram.user_says("team", "lunch?", direct=False)
    named = await bench.telegram.user_says("team", "what is new?", direct=False, mentions_bot=True)
    reply = await bench.telegram.user_says("team", "and why?", direct=False, reply_to=posted)
    other = await bench.telegram.user_says("team", "no idea, @bob", direct=False, reply_to=lunch)

    message = await bench.ear.heard("what is new?")
    answer = await bench.ear.heard("and why?")
    aside = await bench.ear.heard("no idea, @bob")

    assert bench.ear.addressed == {lunch: False, named: True, reply: True, other: False}
    assert not message.is_direct
    assert message.mentions == (str(BOT_ID),)
    assert (answer.reply_to, aside.reply_to) == (posted, lunch)
    assert aside.mentions == ("bob",)


async def test_a_topic_is_a_thread_and_its_first_message_is_not_replied_to(bench: Bench) -> None:
    await bench.running()
    said = await bench.telegram.user_says("team", "in here", direct=False, thread="plans")

    message = await bench.ear.heard("in here")

    assert message.address == bench.place("team", direct=False, thread="plans")
    assert message.reply_to is None
    assert not bench.ear.addressed[said]


async def test_an_edit_names_the_message_that_it_changes_and_each_is_its_own(bench: Bench) -> None:
    await bench.running()
    said = await bench.telegram.user_says("team", "teh plan", direct=False, mentions_bot=True)
    await bench.telegram.user_edits("team", said, "the plan")
    await bench.telegram.user_edits("team", said, "the big plan")

    first = await bench.ear.heard("the plan")
    second = await bench.ear.heard("the big plan")

    assert (first.kind, first.target, second.target) == (Kind.EDIT, said, said)
    assert len({said, first.platform_id, second.platform_id}) == 3


async def test_commands_come_under_our_names_and_those_of_other_bots_not_at_all(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.slash("team", "admin_info", "now please", direct=False)
    await bench.telegram.user_says("team", "/help", direct=False)
    await bench.telegram.user_says("team", "/help@other_bot", direct=False)
    weather = await bench.telegram.user_says("team", "/weather", direct=False)
    await bench.telegram.slash("ann", "help")

    admin = await bench.ear.heard("/admin info now please")
    await bench.ear.until(lambda: bench.ear.texts.count("/help") == 2)

    assert admin.trigger is Trigger.COMMAND
    assert sorted(bench.ear.texts) == ["/admin info now please", "/help", "/help", "/weather"]
    assert [name for name, is_for_us in bench.ear.addressed.items() if not is_for_us] == [weather]


async def test_other_bots_are_known_as_such(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.user_says("team", "beep", user="robo", direct=False, is_bot=True)

    assert (await bench.ear.heard("beep")).sender.is_bot


@pytest.mark.parametrize(
    ("kind", "name", "mime", "shown"),
    [
        ("image", "a.png", "image/png", ("image", "photo.jpg", "image/jpeg")),
        ("voice", "v.ogg", "audio/ogg", ("voice", "voice.ogg", "audio/ogg")),
        ("audio", "song.mp3", "audio/mpeg", ("audio", "song.mp3", "audio/mpeg")),
        ("video", "clip.mp4", "video/mp4", ("video", "clip.mp4", "video/mp4")),
        ("file", "table.csv", "text/csv", ("file", "table.csv", "text/csv")),
        ("file", "photo.png", "image/png", ("image", "photo.png", "image/png")),
    ],
)
async def test_files_come_as_what_they_are_with_their_caption(
    bench: Bench, kind: str, name: str, mime: str, shown: tuple[str, str, str]
) -> None:
    await bench.running()
    file = File(name=name, data=PNG, mime=mime, kind=kind)  # type: ignore[arg-type]  # one of its kinds
    await bench.telegram.upload("ann", file, text="look")

    message = await bench.ear.heard("look")

    (attachment,) = message.attachments
    assert (attachment.kind, attachment.name, attachment.mime) == shown
    assert attachment.size == len(PNG)
    assert bench.telegram.token not in repr(message)


async def test_stickers_places_and_contacts_come_in_words_and_services_not_at_all(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.user_sends("ann", sticker={"emoji": "\N{WHITE HEAVY CHECK MARK}"})
    await bench.telegram.user_sends("ann", location={"latitude": 52.5, "longitude": 13.4})
    await bench.telegram.user_sends("ann", contact={"phone_number": "+49 1", "first_name": "Bob"})
    await bench.telegram.user_sends("ann", new_chat_title="News")
    await bench.telegram.user_says("ann", "done")
    await bench.ear.heard("done")

    assert bench.ear.texts == [
        "\N{WHITE HEAVY CHECK MARK}",
        "[location: 52.5, 13.4]",
        "[contact: Bob, +49 1]",
        "done",
    ]


async def test_an_update_of_an_unknown_form_holds_nothing_up(bench: Bench) -> None:
    await bench.running()
    bench.telegram.push.send("message", {"message_id": "odd", "chat": 7})
    bench.telegram.push.send("poll", {"id": "1"})
    await bench.telegram.user_says("ann", "still there?")

    await bench.ear.heard("still there?")

    assert len(bench.ear.taken) == 1


async def test_a_pressed_button_comes_with_its_value_and_stops_spinning(bench: Bench) -> None:
    adapter = await bench.running()
    place, long = bench.place("team", direct=False, thread="plans"), "approve:" + "x" * 80
    buttons = (
        Button(label="Yes", value=long),
        Button(label="No", value="~no"),
        Button(label="More", url="https://a.example"),
    )
    posted = await adapter.post(place, final("Shall I?", buttons=buttons), key="k1")
    for label in ("More", "No", "Yes"):
        await bench.telegram.click(posted, label, user="bob")

    no = await bench.ear.heard("~no")
    yes = await bench.ear.heard(long)
    await bench.telegram.until(lambda: all(bench.telegram.api.presses.values()))

    assert (yes.trigger, yes.pressed, yes.target) == (Trigger.BUTTON, long, posted)
    assert (yes.address, yes.sender.name) == (place, "bob")
    assert no.pressed == "~no"
    assert no.platform_id != yes.platform_id
    assert bench.telegram.chat("team")[0].buttons == ["Yes", "No", "More"]


async def test_messages_of_a_chat_keep_their_order(bench: Bench) -> None:
    for number in range(150):
        await bench.telegram.user_says("ann", str(number))
    await bench.running()

    await bench.ear.heard("149")

    assert bench.ear.texts == [str(number) for number in range(150)]
