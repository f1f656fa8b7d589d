"""Files, both ways."""

from pathlib import Path

import pytest

from bot.errors import ChannelError
from bot.messages import Attachment
from tests.channels.feishu.conftest import Bot, Memory, hearing
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.platform import File, UploadKind


@pytest.mark.parametrize(
    ("name", "kind", "shown_as"),
    [
        ("plot.png", "image", "image"),
        ("note.ogg", "voice", "audio"),
        ("clip.mp4", "video", "media"),
        ("data.csv", "file", "file"),
        ("note.mp3", "voice", "file"),
    ],
)
async def test_a_file_is_sent_as_what_it_is(
    poster: Bot, simulator: FeishuSimulator, tmp_path: Path, name: str, kind: UploadKind, shown_as: str
) -> None:
    (tmp_path / name).write_bytes(b"what is in it")
    attachment = Attachment(kind=kind, name=name, path=str(tmp_path / name))

    posted = await poster.adapter.upload(poster.address(), attachment, key="one", answers=None)
    again = await poster.adapter.upload(poster.address(), attachment, key="one", answers=None)

    [shown] = simulator.chat("ann")
    assert posted == again == shown.id
    assert [(file.name, file.data) for file in shown.files] == [(name, b"what is in it")]
    assert simulator.world.posts[posted].kind == shown_as


async def test_an_empty_file_is_permanent(poster: Bot, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    attachment = Attachment(kind="file", name="empty.txt", path=str(tmp_path / "empty.txt"))

    with pytest.raises(ChannelError) as caught:
        await poster.adapter.upload(poster.address(), attachment, key="one", answers=None)

    assert caught.value.permanent


@pytest.mark.parametrize("kind", ["image", "voice", "video", "file"])
async def test_a_file_that_somebody_sends_can_be_fetched(
    bot: Bot, simulator: FeishuSimulator, tmp_path: Path, kind: UploadKind
) -> None:
    await simulator.upload("ann", File(name="a.bin", data=b"content", mime="image/png", kind=kind))
    [attachment] = (await bot.intake.heard()).attachments

    await bot.adapter.download(attachment, tmp_path / "target", max_bytes=100)

    assert attachment.kind == kind
    assert (tmp_path / "target").read_bytes() == b"content"


async def test_an_image_with_a_caption_is_one_message(bot: Bot, simulator: FeishuSimulator) -> None:
    file = File(name="a.png", data=b"content", mime="image/png", kind="image")
    await simulator.upload("ann", file, text="look at this")

    message = await bot.intake.heard()

    assert message.text == "look at this"
    assert [one.kind for one in message.attachments] == ["image"]


@pytest.mark.parametrize(
    ("mime", "max_bytes", "cause"), [("text/html", 1_000, "in place of"), ("image/png", 5, "more than")]
)
async def test_what_is_no_file_or_too_long_is_permanent_and_leaves_nothing(
    bot: Bot, simulator: FeishuSimulator, tmp_path: Path, mime: str, max_bytes: int, cause: str
) -> None:
    await simulator.upload("ann", File(name="a", data=b"content", mime=mime, kind="file"))
    [attachment] = (await bot.intake.heard()).attachments

    with pytest.raises(ChannelError, match=cause) as caught:
        await bot.adapter.download(attachment, tmp_path / "target", max_bytes=max_bytes)

    assert caught.value.permanent
    assert not (tmp_path / "target").exists()


async def test_a_file_of_a_message_that_was_taken_back_is_an_error(
    simulator: FeishuSimulator, tmp_path: Path
) -> None:
    async with hearing(simulator, Memory()) as bot:
        said = await simulator.upload("ann", File(name="a", data=b"content", mime="image/png"))
        [attachment] = (await bot.intake.heard()).attachments
        await simulator.user_deletes("ann", said)

        with pytest.raises(ChannelError):
            await bot.adapter.download(attachment, tmp_path / "target", max_bytes=100)


@pytest.mark.parametrize("url", [None, "https://example.org/x", "om_1", "om_1/key/other"])
async def test_only_files_of_messages_are_fetched(poster: Bot, tmp_path: Path, url: str | None) -> None:
    with pytest.raises(ChannelError) as caught:
        await poster.adapter.download(Attachment(kind="file", url=url), tmp_path / "target", max_bytes=100)

    assert caught.value.permanent
