"""Keeps count of what was hidden where, so that offsets behind masks lead back to the text that came in."""

from bisect import bisect_right

import msgspec


class Edit(msgspec.Struct, frozen=True):
    """A stretch of what came in, and the one of what went out that stands for it; offsets in characters."""

    kind: str
    start: int
    end: int
    out_start: int
    out_end: int


class Writer:
    """Collects what a stage gives out.

    Every stage of a stream writes through one; `edits` grows by what is hidden, so whoever streams
    without end asks for `is_recording=False`.
    """

    def __init__(self, *, is_recording: bool) -> None:
        self.edits: list[Edit] = []
        self._is_recording = is_recording
        self._parts: list[str] = []
        self._read = 0
        self._written = 0

    def show(self, text: str) -> None:
        """Give text out as it came."""
        if text:
            self._parts.append(text)
            self._read += len(text)
            self._written += len(text)

    def through(self, text: str) -> str:
        """Give out at once what came, where nothing waits to be taken; gives it back."""
        self._read += len(text)
        self._written += len(text)
        return text

    def hide(self, kind: str, length: int, mask: str) -> None:
        """Give a mask out for `length` characters."""
        if self._is_recording:
            read, written = self._read, self._written
            self.edits.append(Edit(kind, read, read + length, written, written + len(mask)))
        self._parts.append(mask)
        self._read += length
        self._written += len(mask)

    def swallow(self, length: int) -> None:
        """Let more characters vanish in the mask that was given out last."""
        self._read += length
        if self._is_recording and self.edits:
            last = self.edits.pop()
            self.edits.append(Edit(last.kind, last.start, last.end + length, last.out_start, last.out_end))

    def take(self) -> str:
        """What was given out since the last time."""
        parts = self._parts
        if not parts:
            return ""
        self._parts = []
        return "".join(parts) if len(parts) > 1 else parts[0]


def trace(edits: list[Edit], offset: int, *, is_end: bool = False) -> int:
    """The offset in what came in that one in what went out stands for; inside of a mask, its outer edge."""
    index = bisect_right(edits, offset - 1 if is_end else offset, key=lambda edit: edit.out_start) - 1
    if index < 0:
        return offset
    edit = edits[index]
    if offset < edit.out_end or (is_end and offset == edit.out_end):
        return edit.end if is_end else edit.start
    return offset - edit.out_end + edit.end
