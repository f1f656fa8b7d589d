"""Files go out as Telegram shows them best, and come in whole or not at all."""

from pathlib import Path

import pytest

from bot.errors import ChannelError
from bot.messages import Attachment
from channels.telegram.files import MAX_DOWNLOAD, MAX_PHOTO, way_of
from tests.channels.telegram.conftest import Bench
from tests.simulators.platform import Fault, File

PNG = b"\x89PNG and so on"


def attachment(tmp_path: Path, kind: str, name: str, mime: str, data: bytes = PNG) -> Attachment:
    path = tmp_path / "stored"
    path.write_bytes(data)
    return Attachment(kind=kind, name=name, mime=mime, path=str(path))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "name", "mime", "method", "shown"),
    [
        ("image", "a.png", "image/png", "sendPhoto", "image"),
        ("image", "a.svg", "image/svg+xml", "sendDocument", "file"),
        ("image", "a.png", "application/octet-stream", "sendPhoto", "image"),
        ("voice", "v.ogg", "audio/ogg", "sendVoice", "voice"),
        ("audio", "s.mp3", "audio/mpeg", "sendAudio", "audio"),
        ("audio", "s.flac", "audio/flac", "sendDocument", "file"),
        ("video", "c.mp4", "video/mp4", "sendVideo", "video"),
        ("video", "c.mkv", "video/x-matroska", "sendDocument", "file"),
        ("file", "t.csv", "text/csv", "sendDocument", "file"),
    ],
)
async def test_a_file_is_sent_as_what_it_is(
    bench: Bench, tmp_path: Path, kind: str, name: str, mime: str, method: str, shown: str
) -> None:
    adapter, place = bench.adapter(), bench.place("team", direct=False, thread="plans")
    sent = await adapter.upload(place, attachment(tmp_path, kind, name, mime), key="k", answers=None)

    message = bench.telegram.messages[sent]
    (file,) = message.files
    assert (file.kind, file.name, file.data) == (shown, name, PNG)
    assert message.thread == "plans"
    assert [call.method for call in bench.telegram.calls] == [method]


async def test_an_image_that_telegram_takes_for_none_goes_as_a_document(bench: Bench, tmp_path: Path) -> None:
    adapter = bench.adapter()
    odd = attachment(tmp_path, "image", "a.png", "image/png", b"no image")
    sent = await adapter.upload(bench.place("ann"), odd, key="k", answers=None)

    assert bench.telegram.messages[sent].files[0].kind == "file"


def test_an_image_too_large_for_a_photo_is_a_document() -> None:
    image = Attachment(kind="image", mime="image/png")

    assert way_of(image, "a.png", MAX_PHOTO) == "photo"
    assert way_of(image, "a.png", MAX_PHOTO + 1) == "document"


async def test_a_file_that_is_not_there_is_permanent(bench: Bench) -> None:
    with pytest.raises(ChannelError, match="can't be read") as caught:
        await bench.adapter().upload(
            bench.place("ann"), Attachment(kind="file", path="/nowhere"), key="k", answers=None
        )

    assert caught.value.permanent


async def sent_file(bench: Bench, data: bytes) -> Attachment:
    """What the intake is given when somebody sends a file."""
    await bench.telegram.upload("ann", File(name="a.bin", data=data, mime="text/csv"), text="here")
    return (await bench.ear.heard("here")).attachments[0]


async def test_a_file_that_somebody_sent_is_fetched(bench: Bench, tmp_path: Path) -> None:
    adapter, target = await bench.running(), tmp_path / "got"
    await adapter.download(await sent_file(bench, b"x" * 100_000), target, max_bytes=100_000)

    assert target.read_bytes() == b"x" * 100_000


async def test_a_file_larger_than_allowed_is_refused_and_nothing_stays(bench: Bench, tmp_path: Path) -> None:
    adapter, target = await bench.running(), tmp_path / "got"
    file = await sent_file(bench, b"x" * 2_000)

    with pytest.raises(ChannelError, match="more than") as caught:
        await adapter.download(file, target, max_bytes=1_999)

    assert caught.value.permanent
    assert not target.exists()


async def test_a_file_over_telegrams_limit_is_refused_in_clear_words(bench: Bench, tmp_path: Path) -> None:
    adapter = await bench.running()
    file = await sent_file(bench, b"x" * (MAX_DOWNLOAD + 1))
    unsized = Attachment(kind="file", url=file.url)

    for one in (file, unsized):
        with pytest.raises(ChannelError, match="more than 20 MB") as caught:
            await adapter.download(one, tmp_path / "got", max_bytes=10**9)
        assert caught.value.permanent


@pytest.mark.parametrize("kind", ["status", "cut"])
async def test_a_download_that_breaks_can_be_tried_again_and_tells_no_token(
    bench: Bench, tmp_path: Path, kind: str
) -> None:
    adapter, target = await bench.running(), tmp_path / "got"
    file = await sent_file(bench, b"x")
    bench.telegram.fail(Fault(kind=kind, count=9, method="download"))  # type: ignore[arg-type]

    with pytest.raises(ChannelError) as caught:
        await adapter.download(file, target, max_bytes=10)

    assert not caught.value.permanent
    assert caught.value.__cause__ is None
    assert bench.telegram.token not in str(caught.value)
    assert not target.exists()
    bench.telegram.heal()
    await adapter.download(file, target, max_bytes=10)


async def test_a_page_in_place_of_a_file_is_no_file(bench: Bench, tmp_path: Path) -> None:
    adapter = await bench.running()
    file = await sent_file(bench, b"x")
    bench.telegram.fail(Fault(kind="status", status=200, method="download"))

    with pytest.raises(ChannelError, match="page") as caught:
        await adapter.download(file, tmp_path / "got", max_bytes=1_000)

    assert caught.value.permanent
