"""What people do on Slack reaches the intake, once, in order, and is acknowledged when it is kept."""

import pytest

from bot.errors import ChannelError
from bot.messages import Button, Kind, Role, Trigger
from tests.channels.slack.conftest import Bench, final, user_id
from tests.simulators.platform import File
from tests.simulators.slack_push import Parcel
from tests.simulators.slack_world import BOT_USER, Person


async def test_a_direct_message_is_heard_with_its_author_and_place(bench: Bench) -> None:
    await bench.running()
    said = await bench.slack.user_says("ann", "Hello &amp; welcome <https://a.example|here>")

    message = await bench.ear.heard("Hello & welcome here (https://a.example)")

    assert message.platform_id == said
    assert message.address == bench.place("ann")
    assert (message.sender.id, message.sender.name) == (user_id("ann"), "ann")
    assert message.sender.role is Role.MEMBER
    assert bench.ear.addressed[said]


async def test_a_mention_comes_twice_and_is_one_message_in_a_thread_of_its_own(bench: Bench) -> None:
    await bench.running()
    said = await bench.slack.user_says("team", "what is new?", direct=False, mentions_bot=True)

    message = await bench.ear.heard("what is new?")
    await bench.ear.until(lambda: bench.ear.takes == 2)

    assert len(bench.ear.taken) == 1
    assert bench.ear.addressed[said]
    assert message.address.thread == said.partition(":")[2]
    assert message.mentions == (BOT_USER,)


async def test_what_is_said_in_a_channel_to_others_is_not_addressed(bench: Bench) -> None:
    await bench.running()
    said = await bench.slack.user_says("team", "lunch?", direct=False)

    message = await bench.ear.heard("lunch?")

    assert not bench.ear.addressed[said]
    assert message.address.thread is None
    assert not message.is_direct


async def test_a_thread_that_the_bot_posts_in_addresses_it_also_after_a_restart(bench: Bench) -> None:
    adapter = await bench.running()
    root = await bench.slack.user_says("team", "hm", direct=False)
    await adapter.post(bench.place("team", direct=False, thread=root), final("Yes?"), key="k1")
    await bench.stop()
    await bench.running()
    follow = await bench.slack.user_says("team", "go on", direct=False, thread=root)
    aside = await bench.slack.user_says("team", f"<@{user_id('bob')}> and you?", direct=False, thread=root)

    await bench.ear.heard("go on")
    await bench.ear.until(lambda: aside in bench.ear.addressed)

    assert bench.ear.addressed[follow]
    assert not bench.ear.addressed[aside]


async def test_edits_and_deletions_name_the_message_that_they_change(bench: Bench) -> None:
    await bench.running()
    said = await bench.slack.user_says("team", "teh plan", direct=False, mentions_bot=True)
    first = await bench.ear.heard("teh plan")
    await bench.slack.user_edits("team", said, "the plan")
    edit = await bench.ear.heard("the plan")
    await bench.slack.user_deletes("team", said)
    await bench.ear.until(lambda: any(one.kind is Kind.DELETE for one in bench.ear.taken.values()))

    deletion = next(one for one in bench.ear.taken.values() if one.kind is Kind.DELETE)
    assert (edit.kind, edit.target, edit.address) == (Kind.EDIT, said, first.address)
    assert (deletion.target, deletion.address) == (said, first.address)
    assert len({first.platform_id, edit.platform_id, deletion.platform_id}) == 3


async def test_previews_of_links_and_our_own_posts_are_no_messages(bench: Bench) -> None:
    adapter = await bench.running()
    said = await bench.slack.user_says("ann", "see https://a.example")
    await bench.slack.unfurl(said)
    posted = await adapter.post(bench.place("ann"), final("I see."), key="k1")
    await adapter.edit(bench.place("ann"), posted, final("I saw."))
    await bench.slack.user_says("ann", "done")

    await bench.ear.heard("done")

    assert [one.text for one in bench.ear.taken.values()] == ["see https://a.example", "done"]


async def test_another_bot_is_known_as_one(bench: Bench) -> None:
    await bench.running()
    await bench.slack.user_says("team", "beep", user="robo", direct=False, is_bot=True)

    assert (await bench.ear.heard("beep")).sender.is_bot


async def test_admins_of_the_workspace_are_admins_only_where_they_are_trusted(bench: Bench) -> None:
    people = bench.slack.world.people
    people[user_id("eve")] = Person(id=user_id("eve"), name="eve", is_admin=True, team="T0ELSEWHERE")
    people[user_id("ann")] = Person(id=user_id("ann"), name="ann", is_admin=True)
    await bench.running(trust_admins=True)
    await bench.slack.user_says("ann", "mine")
    await bench.slack.user_says("eve", "theirs", user="eve")

    assert (await bench.ear.heard("mine")).sender.role is Role.ADMIN
    assert (await bench.ear.heard("theirs")).sender.role is Role.MEMBER

    await bench.stop()
    await bench.running()
    await bench.slack.user_says("ann", "again")
    assert (await bench.ear.heard("again")).sender.role is Role.MEMBER


async def test_a_pressed_button_comes_with_its_value_and_its_thread(bench: Bench) -> None:
    adapter = await bench.running()
    place = bench.place("team", direct=False, thread="plans")
    yes = Button(label="Yes", value="yes:1", style="primary")
    more = Button(label="More", url="https://a.example")
    posted = await adapter.post(place, final("Shall I?", buttons=(yes, more)), key="k1")
    await bench.slack.click(posted, "More", user="bob")
    await bench.slack.click(posted, "Yes", user="bob")

    message = await bench.ear.heard("yes:1")
    await bench.slack.until(lambda: bench.slack.push.acknowledged >= 2)

    assert (message.trigger, message.pressed, message.target) == (Trigger.BUTTON, "yes:1", posted)
    assert message.address == place
    assert message.sender.name == "bob"
    assert bench.slack.chat("team")[0].buttons == ["Yes", "More"]


async def test_a_voice_clip_is_a_voice_note_and_can_be_fetched(bench: Bench) -> None:
    adapter = await bench.running()
    await bench.slack.upload(
        "ann", File(name="a.m4a", data=b"sound", mime="audio/mp4", kind="voice"), text="hi"
    )

    message = await bench.ear.heard("hi")

    assert [(one.kind, one.name, one.size) for one in message.attachments] == [("voice", "a.m4a", 5)]
    assert adapter.liveness.is_connected


async def test_what_could_not_be_kept_comes_again(bench: Bench) -> None:
    bench.ear.failures = 1
    bench.slack.push.ack_seconds = 0.3
    await bench.running()
    await bench.slack.user_says("ann", "keep me")

    await bench.ear.heard("keep me")
    await bench.slack.push.settled()

    assert bench.slack.push.deliveries == [("events_api", 0), ("events_api", 1)]
    assert bench.slack.push.acknowledged == 1


async def test_a_redelivered_message_is_the_same_message(bench: Bench) -> None:
    await bench.running()
    await bench.slack.user_says("ann", "once")
    await bench.ear.heard("once")
    await bench.slack.redeliver()

    await bench.ear.until(lambda: bench.ear.takes == 2)

    assert len(bench.ear.taken) == 1


async def test_messages_of_a_chat_keep_their_order_while_names_are_looked_up(bench: Bench) -> None:
    await bench.running()
    for number in range(20):
        await bench.slack.user_says("ann", str(number), user=f"user{number % 7}")

    await bench.ear.heard("19")

    assert [one.text for one in bench.ear.taken.values()] == [str(number) for number in range(20)]


async def test_a_wrong_token_is_permanent(bench: Bench) -> None:
    adapter = bench.adapter(bot_token="xoxb-wrong")

    with pytest.raises(ChannelError, match="invalid_auth") as caught:
        await adapter.run()

    assert caught.value.permanent
    assert not adapter.liveness.is_connected
    assert "invalid_auth" in (adapter.liveness.cause or "")


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (
            "events_api",
            {"type": "event_callback", "event": {"type": "channel_rename", "channel": {"id": "C1"}}},
        ),
        ("events_api", {"type": "event_callback", "event": {"type": "message", "channel": 7}}),
        ("events_api", {"type": "event_callback", "event": {"type": "message", "channel": "C1", "ts": "x"}}),
        ("events_api", {}),
        ("interactive", {"type": "view_submission", "user": {"id": "U1"}}),
        ("interactive", {"type": "block_actions"}),
        ("slash_commands", {"command": "/help"}),
        ("something_new", {"a": 1}),
    ],
)
async def test_what_is_not_known_is_acknowledged_and_harms_nothing(
    bench: Bench, kind: str, payload: dict[str, object]
) -> None:
    await bench.running()
    bench.slack.push.send(Parcel(kind=kind, payload=payload))
    await bench.slack.user_says("ann", "hello")

    await bench.ear.heard("hello")
    await bench.slack.push.settled()

    assert bench.slack.push.acknowledged == 2
