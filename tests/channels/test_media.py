"""Files that people send: on our disk whole or not at all, under names that do no harm."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.errors import ChannelError, ModelError
from bot.messages import Attachment, InboundMessage
from channels.base import ChannelAdapter
from channels.media import MAX_FILES, Media, Transcribe, _safe_name
from tests.channels.delivery.platform import Clock, Platform, PlatformAdapter
from tests.factories import inbound


class Giving(PlatformAdapter):
    """Gives what a test put behind an address."""

    def __init__(self) -> None:
        super().__init__(Platform(Clock()))
        self.files: dict[str, bytes] = {"there": b"data"}
        self.asked: list[str] = []
        self.fault: Exception | None = None

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        assert attachment.url is not None
        self.asked.append(attachment.url)
        await asyncio.to_thread(target.write_bytes, self.files[attachment.url])
        if self.fault is not None:
            raise self.fault


@dataclass
class Shelf:
    """Where files go, and the one platform that they come from."""

    directory: Path
    giving: Giving = field(default_factory=Giving)
    is_on: bool = True

    def adapter(self, channel: str, account: str) -> ChannelAdapter | None:
        return self.giving if self.is_on else None

    def max_file_bytes(self, channel: str) -> int:
        return 1_000_000

    async def fetch(
        self, *attachments: Attachment, transcribe: Transcribe | None = None
    ) -> tuple[Attachment, ...]:
        message = self.sent(*attachments)
        return (await Media(self.directory, self, transcribe=transcribe).fetch(message)).attachments

    def sent(self, *attachments: Attachment) -> InboundMessage:
        return replace(inbound(session="other:default:main"), attachments=attachments)

    async def files(self) -> list[str]:
        """All that lies there."""
        return await asyncio.to_thread(
            lambda: sorted(str(path.name) for path in self.directory.rglob("*") if path.is_file())
        )


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "media")


def file(
    name: str = "a.txt",
    *,
    url: str = "there",
    kind: Literal["image", "voice", "file"] = "file",
    mime: str = "text/plain",
    size: int | None = None,
) -> Attachment:
    return Attachment(kind=kind, name=name, url=url, mime=mime, size=size)


async def test_a_file_is_fetched_and_its_address_forgotten(shelf: Shelf) -> None:
    (found,) = await shelf.fetch(file())

    assert found.path is not None
    assert await asyncio.to_thread(Path(found.path).read_bytes) == b"data"
    assert (found.size, found.url, found.fault) == (4, None, None)


async def test_files_of_one_name_lie_beside_each_other(shelf: Shelf) -> None:
    shelf.giving.files["two"] = b"other"
    first, second = await shelf.fetch(file(), file(url="two"))

    assert first.path != second.path
    assert await shelf.files() == ["1-a.txt", "2-a.txt"]


async def test_what_is_there_is_not_fetched_again(shelf: Shelf) -> None:
    message = shelf.sent(file())
    once = await Media(shelf.directory, shelf).fetch(message)
    again = await Media(shelf.directory, shelf).fetch(message)

    assert once == again
    assert shelf.giving.asked == ["there"]


async def test_a_file_that_lies_on_our_disk_already_stays_where_it_is(shelf: Shelf) -> None:
    attachment = Attachment(kind="file", name="a", path="/somewhere/a")

    assert await shelf.fetch(attachment) == (attachment,)
    assert shelf.giving.asked == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ChannelError("the link has run out"), "the link has run out"),
        (TimeoutError(), "it did not come in time"),
        (OSError(28, "No space left", "/home/secret"), "it could not be saved"),
    ],
)
async def test_a_file_that_can_not_be_had_says_why_and_leaves_nothing(
    shelf: Shelf, fault: Exception, told: str
) -> None:
    shelf.giving.fault = fault
    (found,) = await shelf.fetch(file())

    assert (found.fault, found.path, found.url) == (told, None, None)
    assert await shelf.files() == []


async def test_one_bad_file_costs_the_others_nothing(shelf: Shelf) -> None:
    shelf.giving.files["page"] = b"<html>sign in</html>"
    bad, good = await shelf.fetch(file("a.png", url="page", mime="image/png"), file())

    assert bad.fault == "it is not the image/png that it says it is"
    assert good.fault is None
    assert await shelf.files() == ["2-a.txt"]


async def test_a_picture_that_is_one_is_taken(shelf: Shelf) -> None:
    shelf.giving.files["picture"] = b"\x89PNG\r\n\x1a\n and so on"
    (found,) = await shelf.fetch(file("a.png", url="picture", mime="image/png"))

    assert found.fault is None


async def test_a_file_that_says_it_is_too_large_is_not_asked_for(shelf: Shelf) -> None:
    (found,) = await shelf.fetch(file(size=2_500_000))

    assert found.fault == "it has 2.5 MB, and at most 1 are taken"
    assert shelf.giving.asked == []


async def test_only_so_many_files_of_a_message_are_fetched(shelf: Shelf) -> None:
    found = await shelf.fetch(*(file() for _ in range(MAX_FILES + 2)))

    assert [attachment.fault is None for attachment in found] == [True] * MAX_FILES + [False] * 2
    assert len(shelf.giving.asked) == MAX_FILES


async def test_files_of_a_channel_that_is_off_are_told_of(shelf: Shelf) -> None:
    shelf.is_on = False
    (found,) = await shelf.fetch(file())

    assert found.fault == "channel 'other' is off"


async def test_a_directory_that_can_not_be_made_is_a_fault_of_the_file(shelf: Shelf) -> None:
    await asyncio.to_thread(shelf.directory.write_text, "a file stands in the way")
    (found,) = await shelf.fetch(file())

    assert found.fault == "it could not be saved"


async def test_a_voice_note_is_put_into_words(shelf: Shelf) -> None:
    async def transcribe(path: Path) -> str:
        return f"words of {path.name}"

    voice, other = await shelf.fetch(file("v.ogg", kind="voice"), file(), transcribe=transcribe)

    assert (voice.transcript, other.transcript) == ("words of 1-v.ogg", None)


async def test_a_voice_note_that_nobody_understands_stays_a_file(shelf: Shelf) -> None:
    async def refuse(path: Path) -> str:
        raise ModelError("no such model")

    (voice,) = await shelf.fetch(file(kind="voice"), transcribe=refuse)

    assert voice.transcript is None
    assert voice.path is not None


@given(st.text(max_size=300))
@example("../../etc/passwd")
@example("..\\..\\boot.ini")
@example("𠀀" * 200 + "." + "𠀀" * 50)
@example("..")
@example("a/.")
def test_no_name_leads_out_of_its_directory_or_is_too_long_for_a_disk(name: str) -> None:
    safe = _safe_name(Attachment(kind="file", name=name))

    assert safe
    assert Path(safe).name == safe
    assert safe not in (".", "..")
    assert "\\" not in safe
    assert "\0" not in safe
    assert len(f"20-{safe}.part".encode()) <= 255
