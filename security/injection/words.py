"""The words of a text, and a number for each: what rules and the model both look at."""

from dataclasses import dataclass
from typing import TypeAlias

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
IS_LETTER = np.array([chr(code).isalnum() for code in range(0x80)] + [False])


@dataclass(frozen=True, slots=True)
class Words:
    """Runs of letters and digits.

    Attributes:
        starts: Places of their first characters.
        ends: Places behind their last.
        runs: A number for each word, for each two in a row, and so on up to `MOST_IN_ROW`; the same for the
            same letters.
    """

    starts: Offsets
    ends: Offsets
    runs: tuple[Hashes, ...]


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


def words_of(codes: Codes, is_ascii: bool = False) -> Words:
    """Cut a folded text in lower case into words."""
    letters = np.zeros(len(codes) + 2, dtype=np.bool_)
    letters[1:-1] = are_letters(codes, is_ascii)
    edges = (letters[1:] != letters[:-1]).nonzero()[0]
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return Words(starts, ends, (np.zeros(0, dtype=np.uint64),) * MOST_IN_ROW)
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
    return Words(starts, ends, _runs(hashes))


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
