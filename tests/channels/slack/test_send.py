"""What is said to people on Slack looks right, and its failures have the right names."""

import aiohttp
import pytest
import slack_sdk.errors
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from bot.messages import Button
from channels.slack.errors import slack_errors
from tests.channels.slack.conftest import Bench, final
from tests.simulators.platform import Fault


async def test_a_post_reads_as_its_markdown_and_can_be_edited(bench: Bench) -> None:
    adapter = bench.adapter()
    place = bench.place("ann")
    posted = await adapter.post(place, final("**Hello** `a*b*`"), key="k1")
    await adapter.edit(place, posted, final("# Bye", buttons=(Button(label="Back", value="b"),)))

    shown = await bench.slack.said("ann", "Bye")

    assert (shown.id, shown.edits, shown.buttons) == (posted, 1, ["Back"])


async def test_a_plain_text_is_shown_as_it_is_however_long(bench: Bench) -> None:
    adapter = bench.adapter()
    text = "*x* <!channel> & " * 600
    posted = await adapter.post(bench.place("ann"), final(text, is_plain=True), key="k1")
    await adapter.edit(bench.place("ann"), posted, final(text + "!", is_plain=True))

    shown = bench.slack.chat("ann")[0]

    assert shown.text.replace("\n", "") == text + "!"
    assert shown.pinged == []


async def test_the_longest_text_can_be_posted_and_edited(bench: Bench) -> None:
    adapter = bench.adapter()
    size = adapter.capabilities_in(bench.place("ann")).max_size
    text = ("word & <tag> " * 1_000)[:size]
    while adapter.measure(text) > size:
        text = text[:-500]

    posted = await adapter.post(bench.place("ann"), final(text), key="k1")
    await adapter.edit(bench.place("ann"), posted, final(text[::-1]))

    assert bench.slack.chat("ann")[0].edits == 1


async def test_nobody_is_notified_unless_it_is_allowed(bench: Bench) -> None:
    text = "<!channel> and <@U0123456789>"
    await bench.adapter().post(bench.place("ann"), final(text), key="k1")
    await bench.adapter(allow_pings=True).post(bench.place("ann"), final(text), key="k2")

    quiet, loud = bench.slack.chat("ann")

    assert quiet.pinged == []
    assert loud.pinged == ["everyone", "U0123456789"]


async def test_a_lost_answer_is_unknown_and_the_post_is_found_by_its_key(bench: Bench) -> None:
    adapter = bench.adapter()
    bench.slack.fail(Fault(kind="lose", method="chat.postMessage"))
    with pytest.raises(OutcomeUnknown):
        await adapter.post(bench.place("ann"), final("once"), key="k1")

    found = await adapter.find(bench.place("ann"), key="k1")

    assert [found] == [one.id for one in bench.slack.chat("ann")]
    assert await adapter.find(bench.place("ann"), key="k2") is None


async def test_a_post_in_a_long_thread_is_found(bench: Bench) -> None:
    adapter = bench.adapter()
    place = bench.place("team", direct=False, thread="plans")
    for number in range(150):
        await bench.slack.user_says("team", str(number), direct=False, thread="plans")
    posted = await adapter.post(place, final("here"), key="k1")

    assert await adapter.find(place, key="k1") == posted


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="limit", seconds=7), RateLimited),
        (Fault(kind="status", status=502), OutcomeUnknown),
        (Fault(kind="cut"), OutcomeUnknown),
    ],
)
async def test_failures_of_the_wire_are_told_apart(
    bench: Bench, fault: Fault, kind: type[ChannelError]
) -> None:
    adapter = bench.adapter()
    bench.slack.fail(fault)

    with pytest.raises(kind) as caught:
        await adapter.post(bench.place("ann"), final("hello"), key="k1")

    assert caught.value.retry_after == (7 if kind is RateLimited else None)
    assert not caught.value.permanent
    assert bench.slack.texts("ann") == []


async def test_a_platform_that_is_away_did_nothing(bench: Bench) -> None:
    adapter = bench.adapter()
    async with bench.slack.away():
        with pytest.raises(ChannelError) as caught:
            await adapter.post(bench.place("ann"), final("hello"), key="k1")

    assert type(caught.value) is ChannelError
    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("code", "kind", "permanent"),
    [
        ("invalid_blocks", MarkupRefused, False),
        ("message_not_found", MessageGone, False),
        ("edit_window_closed", MessageGone, False),
        ("msg_too_long", ChannelError, True),
        ("is_archived", ChannelError, True),
        ("token_revoked", ChannelError, True),
        ("internal_error", OutcomeUnknown, False),
        ("something_new", ChannelError, False),
    ],
)
async def test_each_refusal_says_what_can_be_done(
    bench: Bench, code: str, kind: type[ChannelError], permanent: bool
) -> None:
    bench.slack.api.refused["chat.postMessage"] = code

    with pytest.raises(kind, match=code) as caught:
        await bench.adapter().post(bench.place("ann"), final("hello"), key="k1")

    assert caught.value.permanent is permanent


def error_classes() -> list[type[Exception]]:
    sdk = [one for one in vars(slack_sdk.errors).values() if isinstance(one, type)]
    http = [one for one in vars(aiohttp.client_exceptions).values() if isinstance(one, type)]
    return [
        one
        for one in (*sdk, *http)
        if issubclass(one, slack_sdk.errors.SlackClientError | aiohttp.ClientError)
    ]


@pytest.mark.parametrize("kind", error_classes())
def test_every_error_of_the_sdk_has_a_counterpart(kind: type[Exception]) -> None:
    error = kind.__new__(kind)  # their constructors want what only a failed request has
    if isinstance(error, SlackApiError):
        error.response = AsyncSlackResponse(
            client=None, http_verb="POST", api_url="", req_args={}, data={}, headers={}, status_code=200
        )
    with pytest.raises(ChannelError), slack_errors("chat.postMessage"):
        raise error


async def test_a_deleted_message_stays_deleted(bench: Bench) -> None:
    adapter = bench.adapter()
    posted = await adapter.post(bench.place("ann"), final("oops"), key="k1")
    await adapter.delete(bench.place("ann"), posted)
    await adapter.delete(bench.place("ann"), posted)

    assert bench.slack.texts("ann") == []
    with pytest.raises(MessageGone):
        await adapter.edit(bench.place("ann"), posted, final("back"))


async def test_one_reaction_stands_on_a_message_at_a_time(bench: Bench) -> None:
    adapter = bench.adapter(ack_reaction="\N{EYES}")
    said = await bench.slack.user_says("ann", "hello")
    place, shown = bench.place("ann"), bench.slack.messages[said]
    await adapter.react(place, said, "\N{EYES}")
    await adapter.react(place, said, ":tada:")
    assert shown.reactions == ["tada"]

    await adapter.react(place, said, None)
    await adapter.react(place, said, "\N{EYES}")
    await bench.adapter(ack_reaction="\N{EYES}").react(place, said, None)

    assert shown.reactions == []
    with pytest.raises(ChannelError, match="name"):
        await adapter.react(place, said, "\N{CAT FACE}")


async def test_thinking_shows_in_threads_with_the_bot_alone(bench: Bench) -> None:
    adapter = bench.adapter()
    thread = bench.place("ann", thread="first")
    await adapter.type(thread)

    assert bench.slack.typing("ann") == 1
    assert adapter.capabilities_in(thread).typing_seconds is not None
    assert adapter.capabilities_in(bench.place("ann")).typing_seconds is None
