"""Files go both ways, and the token goes to Slack only."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.errors import ChannelError, OutcomeUnknown
from bot.messages import Attachment
from tests.channels.slack.conftest import Bench
from tests.simulators.platform import Fault, File


async def test_a_file_of_a_person_can_be_fetched(bench: Bench, tmp_path: Path) -> None:
    adapter = await bench.running()
    await bench.slack.upload("ann", File(name="a.png", data=b"x" * 100_000, mime="image/png"), text="look")
    (attachment,) = (await bench.ear.heard("look")).attachments
    await adapter.download(attachment, tmp_path / "a.png", max_bytes=100_000)

    assert attachment.kind == "image"
    assert (tmp_path / "a.png").read_bytes() == b"x" * 100_000


async def test_a_file_of_which_only_the_id_came_can_be_fetched(bench: Bench, tmp_path: Path) -> None:
    bench.slack.world.files["F1"] = File(name="a.txt", data=b"text", mime="text/plain")
    await bench.adapter().download(Attachment(kind="file", url="slack:F1"), tmp_path / "a.txt", max_bytes=10)

    assert (tmp_path / "a.txt").read_bytes() == b"text"


async def test_a_file_that_is_too_large_is_not_kept(bench: Bench, tmp_path: Path) -> None:
    adapter = await bench.running()
    await bench.slack.upload("ann", File(name="a.bin", data=b"x" * 1_000, mime="video/mp4"), text="big")
    (attachment,) = (await bench.ear.heard("big")).attachments

    with pytest.raises(ChannelError, match="larger") as caught:
        await adapter.download(attachment, tmp_path / "a.bin", max_bytes=999)

    assert caught.value.permanent
    assert not (tmp_path / "a.bin").exists()


async def test_a_sign_in_page_is_no_file(bench: Bench, tmp_path: Path) -> None:
    bench.slack.world.files["F1"] = File(name="a.png", data=b"x", mime="image/png")
    adapter = bench.adapter(bot_token=SecretStr("xoxb-without-the-scope"))
    picture = Attachment(kind="image", mime="image/png", url=f"{bench.slack.url}/files-pri/F1/a.png")

    with pytest.raises(ChannelError, match="sign-in page") as caught:
        await adapter.download(picture, tmp_path / "a.png", max_bytes=10)

    assert caught.value.permanent


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a",
        "https://slack.com.evil.example/a",
        "http://files.slack.com/a",
        "file:///etc/passwd",
    ],
)
async def test_the_token_goes_nowhere_else(bench: Bench, tmp_path: Path, url: str) -> None:
    with pytest.raises(ChannelError, match="not on Slack") as caught:
        await bench.adapter().download(Attachment(kind="file", url=url), tmp_path / "a", max_bytes=10)

    assert caught.value.permanent


async def test_a_file_is_sent_into_the_thread_and_can_be_taken_back(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("all is well")
    adapter, place = bench.adapter(), bench.place("ann", thread="t")
    attachment = Attachment(kind="file", name="report.txt", path=str(path))
    sent = await adapter.upload(place, attachment, key="k1", answers=None)

    (shown,) = bench.slack.chat("ann", thread="t")
    assert [(file.name, file.data) for file in shown.files] == [("report.txt", b"all is well")]

    await adapter.delete(place, sent)
    await adapter.delete(place, sent)
    assert bench.slack.chat("ann") == []


async def test_a_file_whose_completion_is_lost_is_found(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("once")
    adapter, place = bench.adapter(), bench.place("ann")
    attachment = Attachment(kind="file", path=str(path))
    bench.slack.fail(Fault(kind="lose", method="files.completeUploadExternal"))
    with pytest.raises(OutcomeUnknown):
        await adapter.upload(place, attachment, key="k1", answers=None)

    assert await adapter.find(place, key="k1") is not None
    assert await adapter.find(place, key="k2") is None
    assert len(bench.slack.chat("ann")) == 1


async def test_bytes_that_did_not_arrive_can_be_sent_again(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("once")
    adapter, place = bench.adapter(), bench.place("ann")
    bench.slack.fail(Fault(kind="lose", method="upload"))

    with pytest.raises(ChannelError) as caught:
        await adapter.upload(place, Attachment(kind="file", path=str(path)), key="k1", answers=None)

    assert type(caught.value) is ChannelError
    assert bench.slack.chat("ann") == []
