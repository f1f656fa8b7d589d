"""Stage of a stream: secrets that are known by value, plain or as addresses and JSON write them."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from bot.lazy_pattern import lazy_pattern
from security.redaction.edits import Writer
from security.redaction.matches import CONFIGURED

LEAST: Final = 8  # characters of a value that is hidden; shorter ones are in every text
SURE: Final = 96  # characters after which a longer value is taken for found
PAGE: Final = 500  # characters from which looking for one after the other is quicker
CUT_OFF: Final = 16  # characters of a value at the end of a text that are hidden though the rest is missing


class Literals:
    """The values, made ready once for any number of streams."""

    def __init__(self, values: Iterable[str]) -> None:
        found = {variant for value in values for variant in _variants(value) if len(value.strip()) >= LEAST}
        self._rests: dict[str, list[str]] = {}
        for variant in found:
            self._rests.setdefault(variant[:SURE], []).append(variant[SURE:])
        heads = sorted(self._rests, key=len, reverse=True)
        self._any = lazy_pattern("|".join(map(re.escape, heads))) if heads else None
        self._beginnings = sorted({head[:LEAST] for head in heads})
        self._beginning = lazy_pattern("|".join(map(re.escape, self._beginnings)))
        pairs, firsts = ({re.escape(head[:size]) for head in heads} for size in (2, 1))
        self._first = lazy_pattern(f"{'|'.join(sorted(pairs))}|(?:{'|'.join(sorted(firsts))})\\Z")
        self._prefixes = frozenset(head[:size] for head in heads for size in range(1, len(head)))
        self._enough = {
            head[:size]
            for head in heads
            for size in range(LEAST, len(head))
            if size >= CUT_OFF or 2 * size >= len(head)
        }

    def __bool__(self) -> bool:
        return self._any is not None

    def may_be_in(self, text: str) -> bool:
        """Whether there is as much of a value in a text as is ever hidden."""
        if self._any is None:
            return False
        if len(text) > PAGE:
            return any(beginning in text for beginning in self._beginnings)
        return self._beginning.search(text) is not None

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """The first value from `start` on, by its first `SURE` characters."""
        if self._any is None:
            return None
        found = self._beginning.search(text, start)  # a short look for what is rarely there
        return self._any.search(text, found.start()) if found is not None else None

    def rests_of(self, head: str) -> list[str]:
        """How values that begin with `head` go on behind it."""
        return [rest for rest in self._rests[head] if rest]

    def held_from(self, text: str, start: int) -> int:
        """Where the end of `text` begins that may be the beginning of a value."""
        if self._any is None:
            return len(text)
        for first in self._first.finditer(text, max(start, len(text) - SURE + 1)):
            if text[first.start() :] in self._prefixes:
                return first.start()
        return len(text)

    def is_enough(self, text: str) -> bool:
        """Whether so much of a value gives it away."""
        return text in self._enough


def _variants(value: str) -> Iterator[str]:
    escaped = json.dumps(value)[1:-1]
    percent = quote(value, safe="")
    yield from (value, value.strip(), quote(value), percent, quote_plus(value), percent.replace("%", "%25"))
    yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), percent)
    yield from (escaped, escaped.replace("/", r"\/"), json.dumps(value, ensure_ascii=False)[1:-1])
    yield json.dumps(escaped)[1:-1]  # JSON inside a string of JSON
    yield from (re.sub(r"[&<>\"'/+=]", lambda found: f"\\u{ord(found[0]):04x}", value), _in_html(value))


def _in_html(value: str) -> str:
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        value = value.replace(sign, entity)
    return value


class LiteralStage:
    """Hides known values; holds less than `SURE` characters back."""

    def __init__(
        self, literals: Literals, writer: Writer, replacement: Callable[[str, str], str | None]
    ) -> None:
        self._literals = literals
        self._writer = writer
        self._replacement = replacement
        self._held = ""
        self._rests: list[str] = []  # how the value may go on that was found last

    def feed(self, text: str) -> str:
        """Take more; gives what may be shown by now."""
        text = self._held + text
        if not self._rests and not self._literals.may_be_in(text):
            held = self._literals.held_from(text, 0)
            self._held = text[held:]
            return self._writer.through(text[:held])
        self._advance(text, is_final=False)
        return self._writer.take()

    def flush(self) -> str:
        """The rest; the beginning of a value at the end is hidden, where it gives that value away."""
        if not self._held:
            return ""
        self._advance(self._held, is_final=True)
        return self._writer.take()

    def _advance(self, text: str, *, is_final: bool) -> None:
        place = self._behind_found(text, 0)
        held = self._literals.held_from(text, place)
        while (found := self._literals.find(text, place)) is not None:
            if not is_final and found.start() >= held:
                break
            self._writer.show(text[place : found.start()])
            self._hide(found[0])
            self._rests = self._literals.rests_of(found[0])
            place = self._behind_found(text, found.end())
            held = self._literals.held_from(text, place)
        self._writer.show(text[place:held])
        self._held = text[held:]
        if is_final:
            if self._literals.is_enough(self._held):
                self._hide(self._held)
            else:
                self._writer.show(self._held)
            self._held = ""

    def _hide(self, value: str) -> None:
        mask = self._replacement(CONFIGURED, value)
        assert mask is not None, "configured secrets are always masked"
        self._writer.hide(CONFIGURED, len(value), mask)

    def _behind_found(self, text: str, place: int) -> int:
        """Where the value ends that was found, if it goes on at `place`."""
        start = place
        while self._rests and place < len(text):
            on = [rest[1:] for rest in self._rests if rest[0] == text[place]]
            self._rests = [rest for rest in on if rest]
            place += 1 if on else 0
        if place > start:
            self._writer.swallow(place - start)
        return place
