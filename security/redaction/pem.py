"""Stage of a stream: private keys in PEM armour, as long as they may be.

A header with no key behind it is shown: people talk about it. From the first line of the key on, all is
swallowed up to the closing line, or to the first thing that can't be part of a key; without an end it stays
hidden.
"""

import re
from collections.abc import Callable
from typing import Final

from bot.lazy_pattern import lazy_pattern
from security.redaction.edits import Writer

KIND: Final = "private_key"
SPACE = r"(?:[\s\"'+>|*#,]|\\[nrt]?)"
BASE64 = r"[A-Za-z0-9+/=]"
FIELD = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset)"
HEAD = lazy_pattern(
    rf"-----BEGIN (?:[A-Z0-9]{{1,10}} ){{0,2}}PRIVATE KEY(?: BLOCK)?-----{SPACE}{{1,8}}"
    rf"(?:{BASE64}{{20}}|{FIELD}: )"
)
LONGEST_HEAD = 100  # characters of `HEAD` at most
START = lazy_pattern(r"-{1,5}\Z|-----B")
LINE = lazy_pattern(rf"(?P<word>{BASE64}{{20,}}+)|{SPACE}++|{FIELD}: [^\n\\]*+")
REST_OF_FIELD = lazy_pattern(r"[^\n\\]*+")
REST_OF_WORD = lazy_pattern(rf"{BASE64}*+")
LAST = lazy_pattern(rf"(?:{BASE64}{{0,19}}+{SPACE}{{0,8}}+){{0,3}}-----END [A-Z0-9 ]{{0,40}}-----")
CUT_OFF = lazy_pattern(rf"{BASE64}*+{SPACE}*+-*+[A-Z ]*+\Z")  # the last line of a text that breaks off
LONGEST_LAST = 160  # characters of `LAST` at most


class PemStage:
    """Hides private keys; holds at most `LONGEST_LAST` characters back."""

    def __init__(self, writer: Writer, replacement: Callable[[str, str], str | None]) -> None:
        self._writer = writer
        self._replacement = replacement
        self._held = ""
        self._is_inside = False
        self._rest: re.Pattern[str] | None = None  # what goes on, however long

    def feed(self, text: str) -> str:
        """Take more; gives what may be shown by now."""
        if not self._held and not self._is_inside and "-" not in text:
            return self._writer.through(text)
        self._advance(self._held + text, is_final=False)
        return self._writer.take()

    def flush(self) -> str:
        """The rest."""
        if not self._held:
            return ""
        self._advance(self._held, is_final=True)
        return self._writer.take()

    def _advance(self, text: str, *, is_final: bool) -> None:
        place, is_waiting = 0, False
        while place < len(text) and not is_waiting:
            step = self._inside if self._is_inside else self._outside
            place, is_waiting = step(text, place, is_final)
        self._held = text[place:]

    def _outside(self, text: str, place: int, is_final: bool) -> tuple[int, bool]:
        """Show what stands before a key; gives where that ends, and whether more text is needed."""
        start = place
        while (found := START.search(text, start)) is not None:
            start = found.start()
            head = HEAD.match(text, start)
            if head is None and len(text) - start < LONGEST_HEAD and not is_final:
                self._writer.show(text[place:start])
                return start, True
            if head is not None and (mask := self._replacement(KIND, head[0])) is not None:
                self._writer.show(text[place:start])
                self._writer.hide(KIND, len(head[0]), mask)
                self._is_inside = True
                self._rest = REST_OF_FIELD if head[0].endswith(": ") else REST_OF_WORD
                return head.end(), False
            start += 1
        self._writer.show(text[place:])
        return len(text), False

    def _inside(self, text: str, place: int, is_final: bool) -> tuple[int, bool]:
        """Swallow more of a key; gives where that ends, and whether more text is needed."""
        if self._rest is not None and (rest := self._rest.match(text, place)) is not None:
            self._rest = None if rest.end() < len(text) else self._rest
            return self._swallow(place, rest.end()), False
        if (last := LAST.match(text, place)) is not None:
            self._is_inside = False
            return self._swallow(place, last.end()), False
        if len(text) - place < LONGEST_LAST and not is_final:
            return place, True
        if (line := LINE.match(text, place)) is not None:
            if line.end() == len(text):
                self._rest = REST_OF_FIELD if ": " in line[0] else REST_OF_WORD if line["word"] else None
            return self._swallow(place, line.end()), False
        if is_final and CUT_OFF.match(text, place) is not None:
            return self._swallow(place, len(text)), False
        self._is_inside = False
        return place, False

    def _swallow(self, start: int, end: int) -> int:
        self._writer.swallow(end - start)
        return end
