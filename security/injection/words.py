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
ASIAN = 0x2E80  # from here on letters are (nearly all) of scripts that put no blanks between words
MASK = (1 << 64) - 1


def _powers() -> Hashes:
    found = [1]
    for _ in range(LONGEST - 1):
        found.append(found[-1] * BASE & MASK)
    return np.array(found, dtype=np.uint64)


POWERS = _powers()


@dataclass(frozen=True, slots=True)
class Words:
    """Runs of letters and digits.

    Attributes:
        starts: Places of their first characters.
        ends: Places behind their last.
        hashes: A number for each, the same for the same letters.
    """

    starts: Offsets
    ends: Offsets
    hashes: Hashes


def are_letters(codes: Codes) -> Flags:
    """Which characters belong to a word: letters, digits, and what is neither a sign nor a blank."""
    low = codes | 0x20
    found: Flags = (low >= 0x61) & (low <= 0x7A)
    found |= (codes >= 0x30) & (codes <= 0x39)
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


def words_of(codes: Codes) -> Words:
    """Cut a folded text in lower case into words."""
    letters = are_letters(codes).view(np.int8)
    edges = np.diff(letters, prepend=np.int8(0), append=np.int8(0))
    starts = np.flatnonzero(edges == 1)
    ends = np.flatnonzero(edges == -1)
    if not len(starts):
        return Words(starts, ends, np.zeros(0, dtype=np.uint64))
    lengths = ends - starts
    total = int(lengths.sum())
    within = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    inside = codes[np.repeat(starts, lengths) + within].astype(np.uint64)
    inside *= POWERS[np.minimum(within, LONGEST - 1)]
    inside[within >= LONGEST] = 0
    hashes = np.add.reduceat(inside, np.cumsum(lengths) - lengths)
    hashes ^= hashes >> np.uint64(29)
    return Words(starts, ends, hashes * np.uint64(BASE))


def pairs_of(hashes: Hashes, words: int) -> Hashes:
    """A number for each run of so many words."""
    found = hashes[: max(len(hashes) - words + 1, 0)].copy()
    for offset in range(1, words):
        found *= np.uint64(BASE)
        found += hashes[offset : len(hashes) - words + 1 + offset]
    return found


def are_known(hashes: Hashes, known: Hashes) -> Flags:
    """Which of the numbers stand in a sorted list."""
    found: Flags = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
    return found


def hash_phrase(phrase: str) -> tuple[int, int]:
    """How many words a phrase has, and the number that `pairs_of` gives it."""
    hashes = words_of(codes_of(fold_word(phrase))).hashes
    return len(hashes), int(pairs_of(hashes, len(hashes))[0])
