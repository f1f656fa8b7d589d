"""The words of a text, and a number for each: what rules and the model both look at."""

from collections.abc import Sequence
from functools import lru_cache
from operator import mul
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


POWERS_OF_BASE = [pow(BASE, power, MASK + 1) for power in range(LONGEST)]
POWERS = np.array(POWERS_OF_BASE, dtype=np.uint64)
FEW = 320  # characters of plain text: fewer are cut word by word, as each call of numpy has a price
WORDS_KNOWN = 4_096  # whose numbers are kept
IS_LETTER = np.array([chr(code).isalnum() for code in range(0x80)] + [False])
BLANK_OR_LETTER = bytes(code if IS_LETTER[min(code, 0x80)] else 0x20 for code in range(0x100))


NUMBER = np.dtype(np.uint64)


def factors_of(sizes: Sequence[int]) -> Hashes:
    """For each size, the greatest last: what each number of a window counts in the run that ends with it."""
    window = sizes[-1]
    rows = [[0] * (window - size) + POWERS_OF_BASE[:size][::-1] for size in sizes]
    return np.array(rows, dtype=NUMBER)


FACTORS = factors_of(range(1, MOST_IN_ROW + 1))


class Words(msgspec.Struct, frozen=True):
    """Runs of letters and digits.

    Attributes:
        starts: Places of their first characters.
        ends: Places behind their last.
        runs: A number for each word, for each two in a row, and so on up to `MOST_IN_ROW`; the same for the
            same letters.
        singles: How many have one character.
    """

    starts: Offsets
    ends: Offsets
    runs: tuple[Hashes, ...]
    singles: int


class FewWords(msgspec.Struct, frozen=True):
    """The words of a short plain text.

    Attributes:
        words: In their order.
        runs: For each size, as in `Words`, but for every word the one that ends with it; where too few words
            come before it, a shorter one stands again.
    """

    words: list[str]
    runs: Hashes

    @property
    def singles(self) -> int:
        """How many have one character."""
        return list(map(len, self.words)).count(1)

    def spans_in(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand in the text they are of; looked for late, as half of all texts need none."""
        found, end = [], 0
        for word in self.words:
            start = text.index(word, end)
            end = start + len(word)
            found.append((start, end))
        return found


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


def few_words_in(text: str) -> FewWords:
    """Cut a short plain text in lower case into words: what `words_of` finds, in a fifth of the time."""
    words = text.encode().translate(BLANK_OR_LETTER).decode().split()
    row = b"".join((bytes((MOST_IN_ROW - 1) * NUMBER.itemsize), *map(_number_of, words)))
    return FewWords(words, runs_in(row, NUMBER, FACTORS))


def runs_in(row: bytes, kind: np.dtype[np.unsignedinteger], factors: Hashes) -> Hashes:
    """The numbers of all runs in a row of numbers, by one product: for each size, those by where they end.

    Args:
        row: Zeros before it count nothing: a run that begins with them has the number of a shorter one.
        kind: Of the numbers in the row.
        factors: Made by `factors_of`.
    """
    window, step = factors.shape[1], kind.itemsize
    many = max(len(row) // step - window + 1, 0)
    windows = np.ndarray((window, many), kind, row, strides=(step, step))  # a view: they overlap
    found: Hashes = factors @ windows
    return found


def firsts_of(words: int) -> list[int]:
    """Where the runs of each length begin among all, one behind the other, of so many words."""
    return [sum(max(words - size, 0) for size in range(longer)) for longer in range(MOST_IN_ROW)]


@lru_cache(WORDS_KNOWN)
def _number_of(word: str) -> bytes:
    found: int = sum(map(mul, word.encode(), POWERS_OF_BASE)) & MASK
    return ((found ^ found >> 29) * BASE & MASK).to_bytes(NUMBER.itemsize, "little")


def words_of(codes: Codes, is_ascii: bool = False) -> Words:
    """Cut a folded text in lower case into words, by its code points."""
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
