"""A text as a model could be asked to read it: decoded, unspaced, turned round."""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

import numpy as np

from security.injection.normalise import Codes, Offsets, codes_of, fold, lower, text_of
from security.injection.words import Hashes, Words, are_known, hash_phrase, words_of

MOST_VIEWS = 8
MOST_TIMES = 1.5  # so many times the input's length all views but the first together have
DEPTH = 2  # a code inside of a code

BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[ :,]?){10,}")
ESCAPED = re.compile(  # a sign of a set comes first, as the search for one is quick
    r"[%&\\](?:(?<=%)[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*"
    r"|(?<=&)(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-z]{2,6});"
    r"|(?<=\\)x[0-9A-Fa-f]{2}(?:\\x[0-9A-Fa-f]{2})*"
    r"|(?<=\\)u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*)"
)
MOST_CODED = 32  # pieces of one text that are decoded
FEWEST_ESCAPES, MOST_ESCAPES = 3, 2_000
BELIEVABLE = 0.85  # part of a decoded text that must be letters, digits and common signs
LONG = 10_000  # characters; from here on chance alone brings together what hints at a disguise
FEWEST_IN_LONG = 18
FEWEST_SINGLE = 6  # letters on their own, one behind the other

ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM",
)
LEET_SIGNS, LEET_LETTERS = codes_of("0134578@$!|+"), codes_of("oieastbasiit")
LEET = np.arange(129, dtype=np.uint32)  # what each code point up to the last becomes
LEET[LEET_SIGNS] = LEET_LETTERS
COMMON = (
    "the",
    "and",
    "you",
    "your",
    "all",
    "this",
    "that",
    "with",
    "not",
    "for",
    "from",
    "what",
    "previous",
)
TELLING = ("ignore", "instructions", "prompt", "system", "rules", "reveal", "previous", "print", "password")
FREQUENT = np.array(  # of a letter in English, per mille
    [82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1]
)


def _numbers(words: tuple[str, ...], change: Callable[[str], str]) -> Hashes:
    return np.array(sorted({hash_phrase(change(word))[1] for word in words}), dtype=np.uint64)


ROTATED = _numbers(COMMON + TELLING, lambda word: word.translate(ROT13))
TURNED = _numbers(COMMON + TELLING, lambda word: word[::-1])


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text.

    Attributes:
        kind: How it was made: `plain`, `base64`, `leet` …
        text: Folded, in lower case.
        codes: Its code points.
        words: Its words.
        starts: For each character, its place in the input.
        ends: For each character, the place behind it.
    """

    kind: str
    text: str
    codes: Codes
    words: Words
    starts: Offsets
    ends: Offsets


@dataclass(frozen=True, slots=True)
class _Raw:
    """A text whose case counts still."""

    kind: str
    text: str
    starts: Offsets
    ends: Offsets


def views_of(text: str) -> tuple[list[View], int]:
    """All readings, the plain one first, and the number of invisible letters in it.

    There are at most `MOST_VIEWS`, and the others together have at most `MOST_TIMES` the characters of the
    input, and a thousand.
    """
    folded = fold(text)
    raw = _Raw("plain", folded.text, folded.starts, folded.starts + 1)
    room = MOST_TIMES * len(text) + 1000
    found: list[View] = []
    waiting = [(raw, 0)]
    while waiting and len(found) < MOST_VIEWS:
        current, depth = waiting.pop(0)
        if found and len(current.text) > room:
            continue
        room -= len(current.text) if found else 0
        view = _as_view(current)
        found.append(view)
        if depth < DEPTH:
            waiting += [(other, depth + 1) for other in _readings(current, view)]
    return found, folded.hidden


def _as_view(raw: _Raw) -> View:
    text = lower(raw.text)
    codes = codes_of(text)
    return View(raw.kind, text, codes, words_of(codes), raw.starts, raw.ends)


def _readings(raw: _Raw, view: View) -> Iterator[_Raw]:
    """What else the text could say; each way is tried where something hints at it."""
    if raw.kind in ("plain", "spaced") and (spaced := _unspaced(raw, view)) is not None:
        yield spaced
    if (escaped := _unescaped(raw)) is not None:
        yield escaped
    yield from _decoded(raw, "base64", BASE64, _from_base64)
    yield from _decoded(raw, "hex", HEX, _from_hex)
    if raw.kind != "leet" and (leet := _from_leet(raw, view)) is not None:
        yield leet
    if raw.kind != "rot13" and _is_rotated(view):
        yield _Raw("rot13", raw.text.translate(ROT13), raw.starts, raw.ends)
    if raw.kind != "reversed" and int(are_known(view.words.hashes, TURNED).sum()) >= 2:
        yield _Raw("reversed", raw.text[::-1], raw.starts[::-1], raw.ends[::-1])


def _unspaced(raw: _Raw, view: View) -> _Raw | None:
    """Letters that stand alone, joined; where gaps differ, the wider ones are blanks."""
    starts, ends = view.words.starts, view.words.ends
    single = (ends - starts) == 1
    edges = np.diff(single.view(np.int8), prepend=np.int8(0), append=np.int8(0))
    begins, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    fewest = FEWEST_SINGLE if len(view.codes) <= LONG else FEWEST_IN_LONG
    if not len(begins) or int((stops - begins).max()) < fewest:
        return None
    gaps = starts[1:] - ends[:-1]
    inside = single[1:] & single[:-1] & (gaps <= 4)
    least = int(gaps[inside].min()) if inside.any() else 1
    gone = np.zeros(len(view.codes) + 1, dtype=np.int32)
    close = np.flatnonzero(inside & (gaps <= least))
    np.add.at(gone, ends[close], 1)
    np.add.at(gone, starts[close + 1], -1)
    kept = np.flatnonzero(np.cumsum(gone)[:-1] == 0)
    return _Raw("spaced", text_of(codes_of(raw.text)[kept]), raw.starts[kept], raw.ends[kept])


def _unescaped(raw: _Raw) -> _Raw | None:
    """Percent signs, entities and backslashes read; all else stays."""
    if sum(map(raw.text.count, "%&\\")) < FEWEST_ESCAPES:
        return None
    pieces: list[str] = []
    sizes: list[tuple[int, int, int]] = []
    last = read = 0
    for match in islice(ESCAPED.finditer(raw.text), MOST_ESCAPES):
        piece = _read_escape(match[0])
        piece = piece if piece.isascii() else fold(piece).text
        pieces += [raw.text[last : match.start()], piece]
        last = match.end()
        sizes.append((match.start(), last, len(piece)))
        read += max(len(piece), 1)
    if read < FEWEST_ESCAPES:
        return None
    pieces.append(raw.text[last:])
    begins, ends, lengths = np.array(sizes, dtype=np.int64).T
    single = np.ones(len(raw.text), dtype=np.int64)  # how often each character's place stands in the result
    inside = np.zeros(len(raw.text) + 1, dtype=np.int64)
    inside[begins] += 1
    inside[ends] -= 1
    single[np.cumsum(inside[:-1]) > 0] = 0
    single[begins] = lengths
    stops = raw.ends.copy()
    stops[begins] = raw.ends[ends - 1]
    return _Raw("escapes", "".join(pieces), np.repeat(raw.starts, single), np.repeat(stops, single))


def _read_escape(text: str) -> str:
    match text[:2]:
        case "\\x":
            return bytes.fromhex(text.replace("\\x", "")).decode("utf-8", "replace")
        case "\\u":
            return bytes.fromhex(text.replace("\\u", "")).decode("utf-16-be", "replace")
        case _:
            return html.unescape(text) if text[0] == "&" else unquote(text)


def _decoded(
    raw: _Raw, kind: str, pattern: re.Pattern[str], decode: Callable[[str], bytes | None]
) -> Iterator[_Raw]:
    """The coded pieces of a text, a line each."""
    pieces: list[str] = []
    starts, ends = [], []
    for tried, match in enumerate(pattern.finditer(raw.text)):
        if tried >= 4 * MOST_CODED or len(pieces) >= MOST_CODED:
            break
        piece = _believable(decode(match[0]))
        if piece is None:
            continue
        begin, end = match.span()
        pieces.append(piece + "\n")
        starts.append(np.full(len(piece) + 1, raw.starts[begin:end].min()))
        ends.append(np.full(len(piece) + 1, raw.ends[begin:end].max()))
    if pieces:
        yield _Raw(kind, "".join(pieces), np.concatenate(starts), np.concatenate(ends))


def _from_base64(text: str) -> bytes | None:
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - 1] if len(body) % 4 == 1 else body
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except binascii.Error:
        return None


def _from_hex(text: str) -> bytes | None:
    digits = re.sub("[ :,]", "", text)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _believable(data: bytes | None) -> str | None:
    """The text in these bytes, folded, if they look like one."""
    if not data:
        return None
    text = data.decode("utf-8", "ignore")
    good = sum(map(str.isalnum, text)) + sum(map(text.count, " \n\t.,;:!?'\"()-_/"))
    if good < BELIEVABLE * max(len(text), len(data) / 3) or len(text) < 6:
        return None
    return text if text.isascii() else fold(text).text


def _from_leet(raw: _Raw, view: View) -> _Raw | None:
    """Signs that stand for letters in words that have other letters."""
    codes = view.codes
    if not len(codes):
        return None
    letter = (codes >= 0x61) & (codes <= 0x7A)
    capped = np.minimum(codes, len(LEET) - 1)
    plain = LEET[capped]
    sign = plain != capped
    if not sign.any():
        return None
    part = letter | sign
    word = np.cumsum(part & ~np.concatenate(([False], part[:-1])))
    size = int(word[-1]) + 1
    letters, signs = np.bincount(word[letter], minlength=size), np.bincount(word[sign], minlength=size)
    mixed = (letters > 0) & (signs > 0)
    inner = sign[1:-1] & letter[:-2] & letter[2:]
    if int(inner.sum()) < 2 and int(mixed.sum()) < 3:
        return None
    change = sign & (mixed | ((signs > 1) & (signs < 4)))[word]
    return _Raw("leet", text_of(np.where(change, plain, codes)), raw.starts, raw.ends)


def _is_rotated(view: View) -> bool:
    """Whether the letters turned by 13 are likelier English, or common words say so."""
    letters = view.codes[(view.codes >= 0x61) & (view.codes <= 0x7A)]
    if len(letters) < 12:
        return False
    counts = np.bincount(letters - 0x61, minlength=26)
    turned = int((np.roll(counts, 13) * FREQUENT).sum())
    if turned > int((counts * FREQUENT).sum()) * 1.05 and turned > 50 * len(letters):
        return True
    return int(are_known(view.words.hashes, ROTATED).sum()) >= 2
