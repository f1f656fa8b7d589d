"""What the bot says on Discord: posts, edits, files, and how refusals come back."""

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import discord
import pytest

from bot.errors import ChannelError, MessageGone, OutcomeUnknown, RateLimited
from bot.messages import Address, Attachment, Button
from channels.discord.errors import CLOSED_FOR_GOOD, discord_errors, translate
from channels.discord.files import MAX_UPLOAD
from tests.channels.discord.conftest import Bench, final, growing
from tests.simulators.platform import Fault, File


async def test_a_post_grows_by_edits(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    platform_id = await adapter.post(place, growing("**Half"), key="a")
    await adapter.edit(place, platform_id, final("**Half** and half."))

    (shown,) = bench.discord.chat("ann")
    assert shown.text == "Half and half."
    assert shown.id == platform_id


async def test_a_post_under_the_same_key_shows_once(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    bench.discord.fail(Fault(kind="lose"))
    with pytest.raises(OutcomeUnknown):
        await adapter.post(place, final("Once."), key="a")

    await adapter.post(place, final("Once."), key="a")
    await adapter.post(place, final("Twice."), key="b")

    assert bench.discord.texts("ann") == ["Once.", "Twice."]


async def test_an_answer_quotes_and_notifies_nobody(bench: Bench) -> None:
    adapter = bench.adapter()
    asked = await bench.discord.user_says("team", "who?", direct=False)
    content = final("@everyone <@1> see", answers=asked, quotes=True)
    await adapter.post(bench.place("team", direct=False), content, key="a")

    (shown,) = bench.discord.chat("team")
    assert shown.reply_to == asked
    assert shown.pinged == []


async def test_a_quoted_message_may_be_gone(bench: Bench) -> None:
    adapter = bench.adapter()
    await adapter.post(bench.place("team", direct=False), final("Yes.", answers="42", quotes=True), key="a")

    assert bench.discord.texts("team") == ["Yes."]


async def test_pings_go_out_where_they_are_allowed(bench: Bench) -> None:
    adapter = bench.adapter(allow_pings=True)
    await adapter.post(bench.place("team", direct=False), final("@everyone look"), key="a")

    assert bench.discord.chat("team")[0].pinged == ["everyone"]


async def test_an_answer_to_a_thread_stands_in_it(bench: Bench) -> None:
    adapter = bench.adapter()
    root = await bench.discord.user_says("team", "topic", direct=False)
    await adapter.post(bench.place("team", direct=False, thread=root), final("In here."), key="a")

    assert bench.discord.chat("team")[0].thread == root


async def test_25_buttons_stand_in_five_rows_and_disappear_with_an_edit(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    buttons = tuple(Button(label=f"{number}" * 90, value=f"{number}") for number in range(26))
    platform_id = await adapter.post(place, final("Which?", buttons=buttons), key="a")
    (shown,) = bench.discord.chat("ann")
    assert len(shown.buttons) == 25

    await adapter.edit(place, platform_id, final("Chosen."))

    assert shown.buttons == []


async def test_a_refusal_for_the_rate_says_when_to_come_again(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    bench.discord.fail(Fault(kind="limit", seconds=1.25))

    with pytest.raises(RateLimited) as caught:
        await adapter.post(place, final("Hello."), key="a")

    assert caught.value.retry_after == 1.25
    assert caught.value.scope == "chat"


async def test_an_empty_bucket_is_not_asked(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    for number in range(5):
        await adapter.post(place, final(f"{number}"), key=f"{number}")

    with pytest.raises(RateLimited) as caught:
        await adapter.post(place, final("5"), key="5")

    assert 0 < (caught.value.retry_after or 0) <= 5
    assert all(call.status == 200 for call in bench.discord.calls)


async def test_an_old_message_that_was_edited_too_often_is_gone(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    platform_id = await adapter.post(place, growing("0"), key="a")
    bench.discord.age(platform_id)

    async def edit_often() -> None:
        for number in range(10):
            await adapter.edit(place, platform_id, growing(f"{number}"))

    with pytest.raises(MessageGone):
        await edit_often()


async def test_a_deleted_message_is_gone_for_edits_and_no_error_for_deletions(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    platform_id = await adapter.post(place, growing("0"), key="a")
    await adapter.delete(place, platform_id)
    await adapter.delete(place, platform_id)

    with pytest.raises(MessageGone):
        await adapter.edit(place, platform_id, final("1"))


async def test_a_person_who_takes_no_messages_is_told_of_for_good(bench: Bench) -> None:
    bench.discord.world.person("ann").takes_messages = False

    with pytest.raises(ChannelError) as caught:
        await bench.adapter().post(bench.place("ann"), final("Hello."), key="a")

    assert caught.value.permanent


@pytest.mark.parametrize("chat", ["42", "not-an-id"])
async def test_an_unknown_chat_is_told_of_for_good(bench: Bench, chat: str) -> None:
    with pytest.raises(ChannelError) as caught:
        await bench.adapter().post(Address(channel="discord", chat=chat), final("Hello."), key="a")

    assert caught.value.permanent


@pytest.mark.parametrize(("status", "is_unknown"), [(500, True), (502, True), (503, False)])
async def test_a_broken_server_is_asked_once(bench: Bench, status: int, is_unknown: bool) -> None:
    bench.discord.fail(Fault(kind="status", status=status))

    with pytest.raises(ChannelError) as caught:
        await bench.adapter().post(bench.place("ann"), final("Hello."), key="a")

    assert not caught.value.permanent
    assert isinstance(caught.value, OutcomeUnknown) == is_unknown
    assert len(bench.discord.calls) == 1


async def test_typing_and_reactions_are_shown_and_taken_away(bench: Bench) -> None:
    adapter, place = bench.adapter(), bench.place("ann")
    asked = await bench.discord.user_says("ann", "hello")
    await adapter.type(place)
    await adapter.react(place, asked, "\N{EYES}")
    assert bench.discord.messages[asked].reactions == ["\N{EYES}"]

    await adapter.react(place, asked, None)
    await adapter.react(place, "press:1", "\N{EYES}")

    assert bench.discord.messages[asked].reactions == []
    assert bench.discord.typing("ann") == 1


async def test_a_file_goes_up_once(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_bytes(b"the plan")
    attachment = Attachment(kind="file", mime="text/plain", path=str(tmp_path / "plan.txt"))
    adapter, place = bench.adapter(), bench.place("ann")
    first = await adapter.upload(place, attachment, key="a", answers=None)
    second = await adapter.upload(place, attachment, key="a", answers=None)

    (shown,) = bench.discord.chat("ann")
    assert first == second == shown.id
    assert [(one.name, one.data) for one in shown.files] == [("plan.txt", b"the plan")]
    assert adapter.capabilities_in(place).max_upload == MAX_UPLOAD


async def test_a_file_that_is_not_there_is_told_of_for_good(bench: Bench, tmp_path: Path) -> None:
    attachment = Attachment(kind="file", path=str(tmp_path / "gone.txt"))

    with pytest.raises(ChannelError) as caught:
        await bench.adapter().upload(bench.place("ann"), attachment, key="a", answers=None)

    assert caught.value.permanent


async def test_a_file_is_fetched_up_to_its_limit(bench: Bench, tmp_path: Path) -> None:
    adapter = await bench.running()
    await bench.discord.upload("ann", File(name="a.txt", data=b"0123456789", mime="text/plain"), text="take")
    (attachment,) = (await bench.ear.heard("take")).attachments
    await adapter.download(attachment, tmp_path / "fits", max_bytes=10)
    with pytest.raises(ChannelError) as caught:
        await adapter.download(attachment, tmp_path / "long", max_bytes=9)

    assert (tmp_path / "fits").read_bytes() == b"0123456789"
    assert not (tmp_path / "long").exists()
    assert caught.value.permanent


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "https://example.org/x", "file:///etc/passwd", ""])
async def test_nothing_is_fetched_from_elsewhere(bench: Bench, tmp_path: Path, url: str) -> None:
    attachment = Attachment(kind="file", url=url)

    with pytest.raises(ChannelError, match="not on Discord") as caught:
        await bench.adapter().download(attachment, tmp_path / "x", max_bytes=10)

    assert caught.value.permanent


def test_an_address_that_may_hold_a_token_is_in_no_traceback() -> None:
    told = "Connection timeout to host https://discord.com/webhooks/1/secret"
    with pytest.raises(ChannelError) as caught, discord_errors("answer"):
        raise aiohttp.ConnectionTimeoutError(told)

    assert not isinstance(caught.value, OutcomeUnknown)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def _kinds(kind: type[discord.DiscordException]) -> Iterator[type[discord.DiscordException]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


def _name(kind: type[discord.DiscordException]) -> str:
    return kind.__name__


KINDS = sorted(set(_kinds(discord.DiscordException)), key=_name)


@pytest.mark.parametrize("kind", KINDS, ids=_name)
def test_every_error_of_the_sdk_has_a_counterpart(kind: type[discord.DiscordException]) -> None:
    error = kind.__new__(kind)
    error.__dict__.update(status=404, code=10003, retry_after=3.0)

    found = translate(error, "test")

    assert isinstance(found, ChannelError)
    assert (
        found.permanent
        or kind in (discord.RateLimited, discord.InvalidData, discord.GatewayNotFound)
        or (issubclass(kind, discord.ConnectionClosed))
    )


@pytest.mark.parametrize("code", CLOSED_FOR_GOOD)
def test_a_gateway_that_closes_for_good_says_why(code: int) -> None:
    socket = SimpleNamespace(close_code=code)
    found = translate(discord.ConnectionClosed(socket, shard_id=None), "gateway")  # type: ignore[arg-type]

    assert found.permanent
    assert str(found) == CLOSED_FOR_GOOD[code]
