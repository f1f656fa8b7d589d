"""What the linear model looks at: runs of characters and words, and what the words of attacks stand for.

The first are hashed, and a window's sum of them is divided by the root of their number. The second are the
concepts of the rules, the same in all languages; each adds a fixed share.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from security.injection.concepts import Concept
from security.injection.matching import Hit
from security.injection.normalise import Codes, Offsets
from security.injection.words import ASIAN, BASE, FewWords, Hashes, Words, factors_of, runs_in

BITS = 20  # of a bucket's number
BUCKETS = 1 << BITS
CHARACTERS = (2, 3, 4, 5)  # two only beyond the alphabets: a word there has two characters
WORDS = 3  # in a row, at most
STEP = np.uint64(BASE)
SHUFFLE = np.array(0xBF58476D1CE4E5B9, dtype=np.uint64)  # no scalar, as each use makes an array of one
HALF = np.array(31, dtype=np.uint64)
REST = np.array(64 - BITS, dtype=np.uint64)
PLACE_BITS = 24  # of a place; nothing longer is read
BLOCK = 320  # characters in which a feature counts once

CONCEPTS = tuple(Concept)
NUMBER_OF = {concept: number for number, concept in enumerate(CONCEPTS)}
WEIGHTS = BUCKETS + len(CONCEPTS)
SHARE = 0.4  # of a weight, that a concept adds to the margin


class Features(msgspec.Struct, frozen=True):
    """The features of a text, those of one place beside each other.

    Attributes:
        buckets: Their numbers, in order within a block.
        places: For each, the character of the text where it starts.
    """

    buckets: npt.NDArray[np.int64]
    places: Offsets


def _plain() -> Hashes:
    """For each code point below 128 the number that stands for it; blanks and digits are all alike."""
    found = np.arange(1, 129, dtype=np.uint64)
    found[:33] = 33
    found[0x30:0x3A] = 0x31
    return found


PLAIN = _plain()
PLAIN_BYTES = bytes(PLAIN.tolist()) + bytes(128)
BLANK = PLAIN_BYTES[:1]
BLANKS = re.compile(BLANK + b"{2,}")
FACTORS = factors_of(CHARACTERS[1:])
BYTE = np.dtype(np.uint8)


def buckets_of_few(text: str, few: FewWords) -> npt.NDArray[np.int64]:
    """What `buckets_of` finds in a short plain text, in another order; some more than once."""
    plain = text.encode().translate(PLAIN_BYTES)
    if 2 * BLANK in plain:
        plain = BLANKS.sub(BLANK, plain)
    characters = runs_in(bytes(CHARACTERS[1] - 1) + plain, BYTE, FACTORS)
    return _mixed(np.concatenate((characters.ravel(), few.runs[:WORDS].ravel())))


def _mixed(numbers: Hashes) -> npt.NDArray[np.int64]:
    """The buckets of these numbers, which are overwritten."""
    numbers ^= numbers >> HALF
    numbers *= SHUFFLE
    numbers >>= REST
    return numbers.view(np.int64)


def buckets_of(
    codes: Codes, words: Words, is_ascii: bool
) -> tuple[npt.NDArray[np.int64], Offsets | None, list[int]]:
    """The buckets of a folded text in lower case, some more than once.

    Returns:
        The buckets, for runs of characters and then of words; where blanks that follow others were left
        out, the places of the characters that stay; and how many runs of each length there are.
    """
    kept = _without_doubles(codes)
    if kept is not None:
        codes = codes[kept]
    is_asian = False
    if is_ascii:
        wide = PLAIN[codes]
    else:
        wide = PLAIN[np.minimum(codes, 127)]
        beyond = codes > 126
        wide[beyond] = codes[beyond].astype(np.uint64) + np.uint64(1)
        is_asian = bool((codes >= ASIAN).any())
    numbers, sizes = [], []
    rolling = wide
    for size in range(2, CHARACTERS[-1] + 1):
        rolling = rolling[:-1] * STEP
        rolling += wide[size - 1 :]
        chosen = rolling
        if size == CHARACTERS[0]:
            chosen = rolling[codes[: len(rolling)] >= ASIAN] if is_asian else rolling[:0]
        numbers.append(chosen)
        sizes.append(len(chosen))
    return _mixed(np.concatenate((*numbers, *words.runs[:WORDS]))), kept, sizes


def _without_doubles(codes: Codes) -> Offsets | None:
    """The places of all but the blanks that follow others; `None` where none does."""
    blank = codes <= 32
    again = blank[1:] & blank[:-1]
    return np.flatnonzero(np.concatenate(([True], ~again))) if again.any() else None


def features_of(codes: Codes, words: Words) -> Features:
    """The hashed features of a folded text in lower case, each once a block."""
    if not len(codes):
        return Features(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    buckets, kept, sizes = buckets_of(codes, words, int(codes.max()) < 0x80)
    if not len(buckets):
        return Features(buckets, buckets)
    at = np.arange(len(codes), dtype=np.int64) if kept is None else kept
    asian = np.flatnonzero(codes[at][: max(len(at) - 1, 0)] >= ASIAN)
    places = [at[asian], *(at[:size] for size in sizes[1:])]
    places += [words.starts[: len(words.runs[size])] for size in range(WORDS)]
    return _distinct(buckets, np.concatenate(places))


def _distinct(buckets: npt.NDArray[np.int64], places: Offsets) -> Features:
    """Keep the first feature of each kind in a block, so that nothing weighs more for being repeated.

    Block, bucket and place go into one number, as sorting numbers is what is quickest.
    """
    keys = ((places // BLOCK) << (BITS + PLACE_BITS)) | (buckets << PLACE_BITS) | places
    keys.sort()
    kinds = keys >> PLACE_BITS
    keys = keys[np.concatenate(([True], kinds[1:] != kinds[:-1]))]
    return Features((keys >> PLACE_BITS) & (BUCKETS - 1), keys & ((1 << PLACE_BITS) - 1))


def concepts_of(hits: Sequence[Hit]) -> Iterator[tuple[int, int]]:
    """What the words of attacks stand for, each concept once a block: its place, its number in `CONCEPTS`."""
    seen: set[tuple[int, int]] = set()
    for hit in hits:
        block = hit.start // BLOCK
        for concept in hit.concepts:
            number = NUMBER_OF[concept]
            if (block, number) not in seen:
                seen.add((block, number))
                yield hit.start, number
