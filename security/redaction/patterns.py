"""Stage of a stream: all that is known by its form."""

import re
from collections.abc import Callable

from bot.lazy_pattern import lazy_pattern
from security.redaction.detect import Detector
from security.redaction.edits import Writer
from security.redaction.matches import Match
from security.redaction.sieve import MOST as QUICK
from security.redaction.sieve import Sieve
from security.redaction.units import MOST, end_of_unit, rest_of_word, skip_dull, skip_word

CONTEXT = 96  # characters before a unit that are kept: names of values stand there
GIVEN_UP = (
    112  # characters of a long unit that are let go at a time; the rest is looked at again with what follows
)
MANY = 48  # characters that are worth a quick look at all of them
LAST_BEGINNING = lazy_pattern(r".*[ \n](?=[a-z])", re.DOTALL)  # no unit goes on there: see `GLUE`
TAIL = lazy_pattern(r"[A-Za-z0-9_+/=.~%-]*+")


class PatternStage:
    """Hides what a detector finds.

    It looks at one unit after the other; at one of more than `MOST` characters piece by piece. What is a
    match at the end of a piece is hidden at once, with all that may be its tail, however long; so a match has
    to be sure of itself after `MOST - GIVEN_UP` characters. Holds `MOST` and a few characters back at most.
    """

    def __init__(
        self, detector: Detector, sieve: Sieve, writer: Writer, replacement: Callable[[str, str], str | None]
    ) -> None:
        self._detector = detector
        self._sieve = sieve
        self._may_hold: bool | None = None  # what the sieve says of `_text`, once it was asked
        self._writer = writer
        self._replacement = replacement
        self._text = ""  # context, and what was not given out yet
        self._place = 0  # where the second begins
        self._is_in_tail = False
        self._is_in_word = False

    def feed(self, text: str) -> str:
        """Take more; gives what may be shown by now."""
        self._text += text
        self._may_hold = None
        self._advance(is_final=False)
        return self._writer.take()

    def flush(self) -> str:
        """The rest."""
        if self._place == len(self._text):
            return ""
        self._advance(is_final=True)
        return self._writer.take()

    def _advance(self, *, is_final: bool) -> None:
        place = self._hurry(self._place)
        while place < len(self._text):
            after = self._step(place, is_final)
            if after is None:
                break
            place = after
        start = max(0, place - CONTEXT)
        self._text, self._place = self._text[start:], place - start

    def _hurry(self, place: int) -> int:
        """Give out all at once up to the last unit that surely begins there, where nothing can be in it."""
        if self._is_in_tail or len(self._text) - place < MANY:
            return place
        found = LAST_BEGINNING.match(self._text, place)
        if found is None or self._asks():
            return place
        self._is_in_word = False
        self._writer.show(self._text[place : found.end()])
        return found.end()

    def _step(self, place: int, is_final: bool) -> int | None:
        """Give out what comes next; where that ends, or `None` where more text is needed."""
        text = self._text
        if self._is_in_tail:
            return self._swallow_tail(place)
        dull = self._skip(text, place)
        if dull > place:
            self._writer.show(text[place:dull])
            return dull
        end = end_of_unit(text, place, is_final=is_final)
        if end is None:
            return None
        return self._take(place, end) if end - place <= MOST else self._take_piece(place)

    def _skip(self, text: str, place: int) -> int:
        """Where what can hold nothing ends; the same place in whatever pieces it came."""
        if self._is_in_word:
            place = rest_of_word(text, place)
            self._is_in_word = place == len(text)
        end = skip_dull(text, place)
        if end == place and self._detector.skips_words:
            end = skip_word(text, place)
            self._is_in_word = place < end == len(text)
        return end

    def _swallow_tail(self, place: int) -> int:
        found = TAIL.match(self._text, place)
        assert found is not None, "it matches the empty text, too"
        self._writer.swallow(found.end() - place)
        self._is_in_tail = found.end() == len(self._text)
        return found.end()

    def _take(self, place: int, end: int) -> int:
        """Give out a whole unit."""
        for match in self._find(place, end):
            place = self._take_match(match, place)
        self._writer.show(self._text[place:end])
        return end

    def _find(self, start: int, end: int) -> list[Match]:
        """The matches in a unit or a piece of one: none where a quick look at all there is finds nothing."""
        return self._detector.find(self._text, start, end) if self._asks() else []

    def _asks(self) -> bool:
        """Whether what there is has to be looked at in earnest."""
        if self._may_hold is None:
            self._may_hold = len(self._text) > QUICK or self._sieve.may_hold(self._text)
        return self._may_hold

    def _take_piece(self, place: int) -> int:
        """Give out the beginning of a unit that is too long to be looked at in whole."""
        end, stop = place + MOST, place + GIVEN_UP
        for match in self._find(place, end):
            if match.start >= stop:
                break
            self._is_in_tail = match.end == end and self._replacement(match.kind, "") is not None
            place = self._take_match(match, place)
        self._writer.show(self._text[place:stop])
        return max(place, stop)

    def _take_match(self, match: Match, place: int) -> int:
        """Give out what stands before a match, and what stands for it."""
        value = self._text[match.start : match.end]
        self._writer.show(self._text[place : match.start])
        replacement = self._replacement(match.kind, value)
        if replacement is None:
            self._writer.show(value)
        else:
            self._writer.hide(match.kind, len(value), replacement)
        return match.end
