"""Pictures read from files: what kind they are and how large, by their own bytes.

PNG, JPEG, GIF and WebP are read; these are what models' servers take. Nothing is decoded: the size in pixels
stands in the header. A file whose header makes no sense is no picture, whatever it is called.
"""

import asyncio
import base64
import logging
import os
import stat
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from bot.messages import Attachment
from bot.models.base import Picture

log = logging.getLogger(__name__)

MAX_BYTES = 5_000_000  # of one picture; servers refuse more
MAX_PICTURES = 8  # of one message
MAX_TOTAL = 20_000_000  # bytes of all that are read together
LOAD_SECONDS = 10.0
MAX_SEGMENTS = 2_000  # of a JPEG before its frame; metadata takes some hundreds at most

# A link that was put in the file's place is not followed, and a pipe does not block.
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # the markers that begin a frame
ALONE = frozenset({0x01, *range(0xD0, 0xD8)})  # those without a length
TOO_LATE = frozenset({0xD9, 0xDA})  # end of the image, and begin of the scan: a frame comes before


class Size(NamedTuple):
    """Pixels."""

    width: int
    height: int


class FilePicture(Picture, frozen=True, kw_only=True, dict=True):
    """A picture whose form for the wire is made once, and kept as long as the picture."""

    @cached_property
    def base64(self) -> bytes:
        """The bytes of the file in base64."""
        return base64.b64encode(self.data)


async def load_pictures(
    files: Sequence[Attachment], *, most: int = MAX_PICTURES
) -> tuple[FilePicture | None, ...]:
    """Read files on our disk, in a thread; `None` in the place of each that can't be shown.

    Those are no pictures, are gone, have more than `MAX_BYTES`, or come after `most` pictures or `MAX_TOTAL`
    bytes of them.
    """
    if not files:
        return ()
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            return await asyncio.to_thread(_load, files, most)
    except TimeoutError:
        log.warning("pictures not read in time", extra={"files": len(files)})
        return (None,) * len(files)


def _load(files: Sequence[Attachment], most: int) -> tuple[FilePicture | None, ...]:
    found: list[FilePicture | None] = []
    room = MAX_TOTAL
    for file in files:
        picture = _read(file.path, min(MAX_BYTES, room)) if file.path is not None and most > 0 else None
        if picture is not None:
            most -= 1
            room -= len(picture.data)
        found.append(picture)
    return tuple(found)


def _read(path: str, max_bytes: int) -> FilePicture | None:
    try:
        with os.fdopen(os.open(path, OPEN_FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
                return None
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # the latter for a path that can be none
        log.debug("picture not read", extra={"cause": type(error).__name__})
        return None
    return parse_picture(data) if len(data) <= max_bytes else None


def parse_picture(data: bytes) -> FilePicture | None:
    """A picture of these bytes; `None` where they are none that models take."""
    match data[:4]:
        case b"\x89PNG":
            mime, size = "image/png", _png_size(data)
        case b"GIF8":
            mime, size = "image/gif", _gif_size(data)
        case b"RIFF":
            mime, size = "image/webp", _webp_size(data)
        case _:
            mime, size = "image/jpeg", _jpeg_size(data)
    if size is None or size.width < 1 or size.height < 1:
        return None
    return FilePicture(mime=mime, data=data, width=size.width, height=size.height)


def _png_size(data: bytes) -> Size | None:
    """Source: PNG specification, section 11.2.1: the header chunk comes first."""
    if not data.startswith(PNG) or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return Size(*struct.unpack_from(">II", data, 16))


def _gif_size(data: bytes) -> Size | None:
    """Source: GIF89a specification, section 18."""
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return Size(*struct.unpack_from("<HH", data, 6))


def _webp_size(data: bytes) -> Size | None:
    """Source: RFC 9649 for the container and the lossless form, RFC 6386, section 9.1, for the lossy one."""
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack_from("<HH", data, 26)
            return Size(width & 0x3FFF, height & 0x3FFF)
        case b"VP8L" if data[20] == 0x2F:
            bits = int.from_bytes(data[21:25], "little")
            return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            width, height = data[24:27], data[27:30]
            return Size(int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1)
    return None


def _jpeg_size(data: bytes) -> Size | None:
    """Source: ITU-T T.81, sections B.1.1 and B.2.2: the frame's header gives the height first."""
    if not data.startswith(JPEG):
        return None
    at = 2
    for _ in range(MAX_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Size(width, height)
        if marker == 0xFF:  # a marker may be filled up in front
            at += 1
        elif marker in ALONE:
            at += 2
        elif marker in TOO_LATE:
            return None
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
