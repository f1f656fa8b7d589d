"""Small pictures of every kind, 21 by 13 pixels, all red; as encoders write them."""

import struct
import zlib
from base64 import b64decode

GIF = b64decode(
    "R0lGODdhFQANAIEAAP8AAAAAAAAAAAAAACwAAAAAFQANAAAIHQABCBxIsKDBgwgTKlzIsKHDhxAjSpxIsaJFigEBADs="
)
WEBP_LOSSY = b64decode(
    "UklGRkAAAABXRUJQVlA4IDQAAADQAgCdASoVAA0AP3Ggxli0q6ejsAgCkC4JQBWABaSAAP7guXlkYixV/8EF+IP1BqdVSAAA"
)
WEBP_LOSSLESS = b64decode("UklGRhwAAABXRUJQVlA4TA8AAAAvFAADAAcQ/Y/+ByKi/wEA")
WEBP_EXTENDED = b64decode(
    "UklGRmQAAABXRUJQVlA4WAoAAAAQAAAAFAAADAAAQUxQSAoAAAABB1CtiAhERP8DVlA4IDQAAADQAgCdASoVAA0AP3Ggxli0q6ejsAgCkC"
    "4JQBWABaSAAP7guXlkYixV/8EF+IP1BqdVSAAA"
)
JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI//////////////////////////////////////"
    "//////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////////////"
    "wgARCAANABUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAWAQEBAQAAAAAAAAAAAAAAAAAAAgP/2gAMAwEAAhADEAAAAY"
    "E7Af/EABQQAQAAAAAAAAAAAAAAAAAAACD/2gAIAQEAAQUCX//EABQRAQAAAAAAAAAAAAAAAAAAABD/2gAIAQMBAT8BP//EABQRAQAAAAAA"
    "AAAAAAAAAAAAABD/2gAIAQIBAT8BP//EABQQAQAAAAAAAAAAAAAAAAAAACD/2gAIAQEABj8CX//EABQQAQAAAAAAAAAAAAAAAAAAACD/2g"
    "AIAQEAAT8hX//aAAwDAQACAAMAAAAQ88//xAAUEQEAAAAAAAAAAAAAAAAAAAAQ/9oACAEDAQE/ED//xAAUEQEAAAAAAAAAAAAAAAAAAAAQ"
    "/9oACAECAQE/ED//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/EF//2Q=="
)


def png(width: int = 21, height: int = 13, *, size: int = 0) -> bytes:
    """A red picture; with a `size`, filled up to so many bytes by a chunk that decoders pass over."""
    rows = (b"\x00" + b"\xff\x00\x00" * width) * height
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    whole = b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    if size <= len(whole):
        return whole
    return whole[:-12] + _chunk(b"teSt", bytes(size - len(whole) - 12)) + whole[-12:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
