"""Tells text from pictures and other bytes, and finds the encoding that gives the same bytes back."""

import re

from bot.messages import Frozen

PEEK = 8_192  # bytes looked at to tell text from binary
ODD = 0.1  # of those bytes: with more control characters than this it is no text
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
BYTE_ORDERS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Decoded(Frozen, frozen=True, kw_only=True):
    """A text and its encoding; encoded again it is the same bytes, so a mark at its head stays in it."""

    text: str
    encoding: str

    @property
    def note(self) -> str:
        """What the model has to know of the encoding."""
        return "" if self.encoding == "utf-8" else f"[not UTF-8: read as {self.encoding}]"


def decode(data: bytes) -> Decoded | None:
    """Read bytes as text; `None` where they are none."""
    if encoding := BYTE_ORDERS.get(data[:2]):
        try:
            return Decoded(text=data.decode(encoding), encoding=encoding)
        except UnicodeDecodeError:
            return None
    head = data[:PEEK]
    if b"\x00" in head:
        return None
    try:
        return Decoded(text=data.decode("utf-8"), encoding="utf-8")
    except UnicodeDecodeError:
        if len(CONTROLS.findall(head)) > ODD * len(head):
            return None
        return Decoded(text=data.decode("latin-1"), encoding="latin-1")


def picture_type(data: bytes) -> str | None:
    """The media type of a picture that models can look at, by its first bytes and not by its name."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for signature, mime in SIGNATURES.items() if data.startswith(signature)), None)
