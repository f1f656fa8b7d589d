"""The words of a text, and a number for each: what rules and the model both look at."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from security.injection.normalise import Codes, Offsets, codes_of, fold_word

Hashes: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

BASE = 0x9E3779B97F4A7C15 | 1  # odd, so that no power of it is 0
LONGEST = 64  # characters; what comes behind them does not count
MOST_IN_ROW = 4  # words
ASIAN = 0x2E80  # from here on letters are (nearly all) of scripts that put no blanks between words
MASK = (1 << 64) - 1
STEP = np.uint64(BASE)


def _powers() -> Hashes:
    found = [1]
    for _ in range(LONGEST - 1):
        found.append(found[-1] * BASE & MASK)
    return np.array(found, dtype=np.uint64)


POWERS = _powers()
FEW = 320  # characters of plain text: fewer are cut word by word, as each call of numpy has a price
WORD = re.compile("[0-9A-Za-z]+")
WORDS_KNOWN = 4_096  # whose numbers are kept
IS_LETTER = np.array([chr(code).isalnum() for code in range(0x80)] + [False])


class Words(msgspec.Struct, frozen=True):
    """Runs of letters and digits.

    Attributes:
        starts: Places of their first characters.
        ends: Places behind their last.
        runs: A number for each word, for each two in a row, and so on up to `MOST_IN_ROW`; the same for the
            same letters.
        singles: How many have one character.
        numbers: All of `runs`, one behind the other, where there are few; else `None`.
    """

    starts: Offsets
    ends: Offsets
    runs: tuple[Hashes, ...]
    singles: int
    numbers: Sequence[int] | None = None


def are_letters(codes: Codes, is_ascii: bool = False) -> Flags:
    """Which characters belong to a word: letters, digits, and what is neither a sign nor a blank."""
    if is_ascii:
        return IS_LETTER[codes]
    found: Flags = IS_LETTER[np.minimum(codes, 0x80)]
    beyond = codes >= 0xAA
    if beyond.any():
        sign = (
            ((codes >= 0x2000) & (codes < 0x2E80))
            | ((codes >= 0x3000) & (codes < 0x3040))
            | (codes >= 0x1F000)
        )
        found |= beyond & ~(sign & (codes < 0x20000)) & ~((codes >= 0xFF00) & (codes < 0xFFF0))
        found &= (codes != 0xAB) & (codes != 0xBB) & (codes != 0xBF)
    return found


def words_in(text: str, codes: Codes) -> Words:
    """Cut a folded text in lower case into words."""
    is_ascii = text.isascii()
    return _few_words(text) if is_ascii and len(text) <= FEW else words_of(codes, is_ascii)


def _few_words(text: str) -> Words:
    """What `words_of` finds in a short plain text, in a fifth of the time."""
    spans = [match.span() for match in WORD.finditer(text)]
    hashes = [_number_of(text[start:end]) for start, end in spans]
    numbers, longer = [*hashes], hashes
    for size in range(1, MOST_IN_ROW):
        longer = [(first * BASE + last) & MASK for first, last in zip(longer, hashes[size:], strict=False)]
        numbers += longer
    known = np.array(numbers, dtype=np.uint64)
    firsts = firsts_of(len(spans))
    runs = tuple(known[begin:end] for begin, end in pairwise((*firsts, len(numbers))))
    places = np.array(spans, dtype=np.int64).reshape(-1, 2)
    singles = sum(end - start == 1 for start, end in spans)
    return Words(places[:, 0], places[:, 1], runs, singles, numbers)


def firsts_of(words: int) -> list[int]:
    """Where the runs of each length begin among all, one behind the other, of so many words."""
    return [sum(max(words - size, 0) for size in range(longer)) for longer in range(MOST_IN_ROW)]


@lru_cache(WORDS_KNOWN)
def _number_of(word: str) -> int:
    found = sum(ord(letter) * int(power) for letter, power in zip(word, POWERS, strict=False)) & MASK
    return (found ^ found >> 29) * BASE & MASK


def words_of(codes: Codes, is_ascii: bool = False) -> Words:
    """The same of any text, by its code points."""
    letters = np.zeros(len(codes) + 2, dtype=np.bool_)
    letters[1:-1] = are_letters(codes, is_ascii)
    edges = (letters[1:] != letters[:-1]).nonzero()[0]
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return Words(starts, ends, (np.zeros(0, dtype=np.uint64),) * MOST_IN_ROW, 0)
    lengths = ends - starts
    firsts = np.cumsum(lengths) - lengths
    chosen = letters[1:-1].nonzero()[0]
    within = np.arange(len(chosen), dtype=np.int64) - firsts.repeat(lengths)
    inside = codes[chosen].astype(np.uint64)
    if int(lengths.max()) > LONGEST:
        inside[within >= LONGEST] = 0
        within = np.minimum(within, LONGEST - 1)
    inside *= POWERS[within]
    hashes: Hashes = np.add.reduceat(inside, firsts)
    hashes ^= hashes >> np.uint64(29)
    hashes *= STEP
    return Words(starts, ends, _runs(hashes), int(np.count_nonzero(lengths == 1)))


def _runs(hashes: Hashes) -> tuple[Hashes, ...]:
    found = [hashes]
    for size in range(1, MOST_IN_ROW):
        longer = found[-1][:-1] * STEP
        longer += hashes[size:]
        found.append(longer)
    return tuple(found)


def places_in(hashes: Hashes, known: Hashes) -> Offsets:
    """Where numbers stand in a sorted list, of those that do."""
    places = known.searchsorted(hashes)
    places[places == len(known)] = 0
    found: Offsets = places[known[places] == hashes]
    return found


def hash_phrase(phrase: str) -> tuple[int, int]:
    """How many words a phrase has, and the number that `Words.runs` gives it.

    Raises:
        ValueError: It has none, or more than `MOST_IN_ROW`.
    """
    words = words_of(codes_of(fold_word(phrase)))
    size = len(words.starts)
    if not 0 < size <= MOST_IN_ROW:
        raise ValueError(f"{phrase!r} has {size} words, not 1 to {MOST_IN_ROW}")
    return size, int(words.runs[size - 1][0])
