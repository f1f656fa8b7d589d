"""Texts as words for a full-text index, in scripts with and without spaces between words.

Where a script has none, an index of words finds nothing, and one of three characters misses most of what
people look for in Chinese. Here such a text is in the index by its characters and by its pairs of them; what
is looked for is in it by its pairs, or, where it is but one character, by that.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from bot.lazy_pattern import lazy_pattern

# Thai to Khmer, the kana, the ideographs with their extensions, and Hangul, whose words have endings.
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Accents, and the points of Hebrew and Arabic; in other scripts, marks make other words.
_MARKS: Final = lazy_pattern(
    "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_RUN: Final = lazy_pattern(f"[{UNSPACED}]+")
_WORD: Final = lazy_pattern(f"[{UNSPACED}]+|[^\\W_{UNSPACED}]+")
MAX_WORDS: Final = 16  # of a query
MAX_WORD: Final = 64  # characters
MIN_PREFIX: Final = 4  # characters of a word that stands for all that begin like it
WEIGHTS: Final = {1: 0.1, 2: 0.25, 3: 0.5}  # of short words, which in most languages say little


def fold(text: str) -> str:
    """A text as it is compared: no case, no accents, no wide or styled letters."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", plain))


def to_index(text: str, tag: str = "") -> str:
    """What a full-text index is given of a text: its words, each behind a tag that says where it belongs."""
    runs = _WORD.findall(fold(text))
    if text.isascii():
        return " ".join(f"{tag}{run[:MAX_WORD]}" for run in runs)
    return " ".join(f"{tag}{_token(word)}" for run in runs for word in _parts(run))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a query, each once, at most `MAX_WORDS`."""
    found: dict[str, None] = {}
    for run in _WORD.findall(fold(text)):
        is_unspaced = _RUN.match(run) and len(run) > 1
        found.update(dict.fromkeys(_pairs(run) if is_unspaced else [run[:MAX_WORD]]))
        if len(found) >= MAX_WORDS:
            break
    return tuple(found)[:MAX_WORDS]


def tag_of(name: str) -> str:
    """A word for the index that stands for a name, and that nobody writes."""
    return f"q{blake2b(name.encode(), digest_size=12).hexdigest()}"


def asked(words: Iterable[str], *, tag: str = "", is_all: bool = False, is_prefix: bool = False) -> str:
    """What to ask an index for: rows with any of the words, or with all.

    Args:
        tag: That of the words in the index.
        is_prefix: Longer words stand for all that begin like them.
    """
    return (" AND " if is_all else " OR ").join(_term(word, tag, is_prefix) for word in words)


class Share:
    """How much of a query texts have; short words count for less."""

    def __init__(self, words: Sequence[str]) -> None:
        self._weights = [(word, _weight(word)) for word in words]
        self._all = sum(weight for _, weight in self._weights) or 1.0

    def of(self, text: str) -> float:
        """From 0 to 1."""
        folded = fold(text)
        return sum(weight for word, weight in self._weights if word in folded) / self._all


def digest(text: str) -> str:
    """The same for texts that differ in nothing but case, accents, spaces and punctuation."""
    key = " ".join(_WORD.findall(fold(text))) or text
    return blake2b(key.encode(), digest_size=16).hexdigest()


def _parts(run: str) -> Sequence[str]:
    return (*run, *_pairs(run)) if _RUN.match(run) else (run[:MAX_WORD],)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _token(word: str) -> str:
    """A word as the index keeps it: in ASCII, so that its own idea of letters does not matter."""
    return (
        word if word.isascii() else "".join(sign if sign.isascii() else f"x{ord(sign):06x}" for sign in word)
    )


def _term(word: str, tag: str, is_prefix: bool) -> str:
    is_open = is_prefix and len(word) >= MIN_PREFIX and not _RUN.match(word)
    return f'"{tag}{_token(word)}"' + ("*" if is_open else "")


def _weight(word: str) -> float:
    return 0.5 * len(word) if _RUN.match(word) else WEIGHTS.get(len(word), 1.0)
