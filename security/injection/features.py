"""What the linear model looks at: runs of two to five characters, and of one to three words."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from security.injection.normalise import Codes, Offsets
from security.injection.words import ASIAN, BASE, Hashes, Words, pairs_of

BITS = 19  # of a bucket's number
CHARACTERS = (2, 3, 4, 5)  # two only beyond the alphabets: a word there has two characters
WORDS = (1, 2, 3)
KIND = 0x51ED270B  # keeps apart what is equal in number and not in size
BLOCK = 320  # characters in which a feature counts once


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a text, those of one place beside each other.

    Attributes:
        buckets: Their numbers, in no order.
        places: For each, the character of the text where it starts.
    """

    buckets: npt.NDArray[np.int64]
    places: Offsets


def features_of(codes: Codes, words: Words) -> Features:
    """The features of a folded text in lower case, each once a block."""
    if not len(codes):
        return Features(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    blank = codes <= 32
    kept = np.flatnonzero(~(blank & np.concatenate(([True], blank[:-1]))))
    text = np.where(blank[kept], 32, codes[kept])
    text[(text >= 0x30) & (text <= 0x39)] = 0x30
    numbers, places = [], []
    rolling = np.zeros(len(text), dtype=np.uint64)
    wide = text.astype(np.uint64) + np.uint64(1)
    for size in range(1, CHARACTERS[-1] + 1):
        rolling = rolling[: len(text) - size + 1] * np.uint64(BASE)
        rolling += wide[size - 1 :]
        if size not in CHARACTERS:
            continue
        at = kept[: len(rolling)]
        hashes = rolling
        if size == CHARACTERS[0]:
            chosen = np.flatnonzero(text[: len(rolling)] >= ASIAN)
            hashes, at = rolling[chosen], at[chosen]
        numbers.append(hashes + np.uint64(size * KIND))
        places.append(at)
        if len(rolling) <= 1:
            break
    for size in WORDS:
        hashes = pairs_of(words.hashes, size)
        numbers.append(hashes + np.uint64((16 + size) * KIND))
        places.append(words.starts[: len(hashes)])
    return _distinct(_buckets(np.concatenate(numbers)), np.concatenate(places))


def _distinct(buckets: npt.NDArray[np.int64], places: Offsets) -> Features:
    """Keep one feature of each kind in a block, so that nothing weighs more for being repeated."""
    blocks = places // BLOCK
    if not blocks.any():
        chosen = np.unique(buckets, return_index=True)[1]
        return Features(buckets[chosen], places[chosen])
    order = (
        np.argsort(blocks.astype(np.uint16), kind="stable") if blocks.max() < 1 << 16 else np.argsort(blocks)
    )
    buckets, places = buckets[order], places[order]
    edges = np.concatenate(([0], np.cumsum(np.bincount(blocks))))
    seen = np.empty(1 << BITS, dtype=np.int32)  # only read where it was written in the same round
    kept = np.zeros(len(buckets), dtype=np.bool_)
    for begin, end in pairwise(edges.tolist()):
        inside = buckets[begin:end]
        numbers = np.arange(len(inside), dtype=np.int32)
        seen[inside] = numbers
        kept[begin:end] = seen[inside] == numbers
    return Features(buckets[kept], places[kept])


def _buckets(mixed: Hashes) -> npt.NDArray[np.int64]:
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(64 - BITS)).astype(np.int64)
