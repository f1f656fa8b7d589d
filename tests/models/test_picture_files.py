"""Pictures are told by their bytes, measured by their headers, and no more of them are read than may be."""

import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import Attachment
from bot.models.picture_files import MAX_BYTES, MAX_PICTURES, MAX_TOTAL, load_pictures, parse_picture
from tests.pictures import GIF, JPEG, WEBP_EXTENDED, WEBP_LOSSLESS, WEBP_LOSSY, png

KINDS = {
    "png": (png(), "image/png"),
    "jpeg": (JPEG, "image/jpeg"),
    "gif": (GIF, "image/gif"),
    "lossy": (WEBP_LOSSY, "image/webp"),
    "lossless": (WEBP_LOSSLESS, "image/webp"),
    "extended": (WEBP_EXTENDED, "image/webp"),
}
EXIF = b"\xff\xe1" + struct.pack(">H", 6_000) + b"Exif\x00\x00" + b"\xff\xc0" * 2_996


def put(place: Path, name: str, data: bytes) -> Attachment:
    path = place / name
    path.write_bytes(data)
    return Attachment(kind="image", name=name, path=str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_told_with_its_size(kind: str) -> None:
    data, mime = KINDS[kind]
    picture = parse_picture(data)

    assert picture is not None
    assert (picture.mime, picture.width, picture.height, picture.data) == (mime, 21, 13, data)


def test_what_a_camera_writes_in_front_of_a_picture_is_not_taken_for_its_size() -> None:
    picture = parse_picture(JPEG[:2] + EXIF + b"\xff\xff" + JPEG[2:])

    assert picture is not None
    assert (picture.width, picture.height) == (21, 13)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_left_of_a_broken_file_never_breaks_the_reader(kind: str, data: st.DataObject) -> None:
    whole = bytearray(KINDS[kind][0])
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, min(len(whole) - 1, 64)))] = data.draw(st.integers(0, 255))
    picture = parse_picture(bytes(whole[: data.draw(st.integers(0, len(whole)))]))

    assert picture is None or (picture.width > 0 and picture.height > 0)


@given(data=st.binary(max_size=64))
def test_bytes_that_are_no_picture_are_none(data: bytes) -> None:
    assert parse_picture(data) is None or data[:4] in (b"\x89PNG", b"GIF8", b"RIFF", JPEG[:4])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"BM" + bytes(60),
        png()[:20],
        png(0, 0),
        GIF[:8],
        JPEG[:40],
        WEBP_LOSSY[:28],
        b"RIFF\x00\x00\x00\x00WAVEfmt " + bytes(40),
        JPEG[:2] + b"\xff\xe0\x00\x02" * 100_000,
        b"\xff\xd8" + b"\xff" * 1_000_000,
        b"\xff\xd8\xff\xda" + bytes(40),
    ],
)
def test_what_models_do_not_take_is_no_picture(data: bytes) -> None:
    assert parse_picture(data) is None


async def test_files_keep_their_places_and_what_can_not_be_shown_leaves_a_gap(tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to(put(tmp_path, "a.png", png()).path or "")
    os.mkfifo(tmp_path / "pipe.png")
    names = ("a.png", "none.png", "link.png", "pipe.png", ".", "b\0.png", "note.png", "b.jpg")
    put(tmp_path, "note.png", b"no picture")
    put(tmp_path, "b.jpg", GIF)
    files = [Attachment(kind="image", path=str(tmp_path / name)) for name in names]

    loaded = await load_pictures([*files, Attachment(kind="image", name="not fetched")])

    assert [picture and picture.mime for picture in loaded] == [
        "image/png",
        *[None] * 6,
        "image/gif",
        None,
    ]


async def test_a_picture_may_be_so_large_and_no_larger(tmp_path: Path) -> None:
    files = [put(tmp_path, name, png(size=MAX_BYTES + more)) for name, more in (("a", 0), ("b", 1))]

    fits, too_large = await load_pictures(files)

    assert fits is not None
    assert len(fits.data) == MAX_BYTES
    assert too_large is None


async def test_no_more_are_read_than_a_message_may_have(tmp_path: Path) -> None:
    files = [put(tmp_path, "text.png", b"text"), *(put(tmp_path, f"{n}", png()) for n in range(10))]

    loaded = await load_pictures(files)

    assert [picture is not None for picture in loaded] == [False, *[True] * MAX_PICTURES, False, False]
    assert await load_pictures(files, most=0) == (None,) * 11
    assert await load_pictures(()) == ()


async def test_all_together_have_no_more_bytes_than_a_request_may(tmp_path: Path) -> None:
    sizes = random.Random(7).sample(range(2_500_000, MAX_BYTES), 7)
    files = [put(tmp_path, f"{size}", png(size=size)) for size in sizes]
    small = put(tmp_path, "small", png())

    loaded = await load_pictures([*files, small])
    total = sum(len(picture.data) for picture in loaded if picture is not None)

    assert total <= MAX_TOTAL
    assert None in loaded
    assert loaded[-1] is not None, "what is small still fits"


def test_the_form_for_the_wire_is_made_once() -> None:
    picture = parse_picture(png())

    assert picture is not None
    assert picture.base64 is picture.base64
    assert picture == parse_picture(png())
