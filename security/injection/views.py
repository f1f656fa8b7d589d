"""A text as a model could be asked to read it: decoded, unspaced, turned round."""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from urllib.parse import unquote

import msgspec
import numpy as np

from security.injection.letters import Letters
from security.injection.normalise import Codes, Offsets, codes_of, fold, lower, text_of
from security.injection.words import FEW, FewWords, Words, few_words_in, hash_phrase, places_in, words_of

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
LEET_SIGNS, LEET_LETTERS = codes_of("013456789@$!|+"), codes_of("oieasgtbgasiit")
LEET = np.arange(129, dtype=np.uint32)  # what each code point up to the last becomes
LEET[LEET_SIGNS] = LEET_LETTERS
LEET_HINT = re.compile(r"[0-9@$!|+][a-z]")
TELLING = (
    *("the", "and", "you", "your", "all", "this", "that", "with", "not", "for", "from", "what", "ignore"),
    *("instructions", "prompt", "system", "rules", "reveal", "previous", "print", "password"),
)
COMMON = {
    *("a", "an", "of", "to", "in", "is", "it", "i", "my", "me", "on", "are", "can", "how", "do", "or", "be"),
    *("the", "and", "you", "your", "all", "this", "that", "with", "for", "from", "what", "have", "please"),
}
SPARSE = 8  # in so many words of a plain text at least one is common
FEWEST_SIXES = 4  # hexadecimal letters begin with a 6 or a 7
BETTER = 0.25  # bits a character that a reading must gain
SURE = 1.0  # bits a character that an escape need not gain: `%41` has but one reading
UNLIKELY = -4.2  # bits a character; nearly all prose is above
LEAST = -5.0  # of a decoded piece
REACH = 4  # characters around a word that help to say which reading of it is better


TURNED = {turned for word in TELLING for turned in (word.translate(ROT13), word[::-1])} - {"not", "ton"}
KNOWN = {hash_phrase(word)[1]: word in TURNED for word in TURNED.union(COMMON)}
NUMBERS = np.array(sorted(KNOWN), dtype=np.uint64)
IS_TURNED = np.array([KNOWN[number] for number in NUMBERS.tolist()])


class View(msgspec.Struct, frozen=True, dict=True):
    """One reading of a text.

    Attributes:
        kind: How it was made: `plain`, `base64`, `leet` …
        text: Folded, in lower case.
        starts: For each character, its place in the input.
        ends: For each character, the place behind it.
        few: Its words, where it is short and plain.
    """

    kind: str
    text: str
    starts: Offsets
    ends: Offsets
    few: FewWords | None

    @cached_property
    def codes(self) -> Codes:
        """Its code points."""
        return codes_of(self.text)

    @cached_property
    def words(self) -> Words:
        """Its words, whatever text it is."""
        return words_of(self.codes, self.text.isascii())


class Views(msgspec.Struct, frozen=True):
    """All readings of a text.

    Attributes:
        found: The plain one first.
        outdone: The places in `found` of those that another is the better text of: a disguise, not a message.
        hidden: How many invisible letters there were.
        mended: How many letters were written as others that look like them, or cut by signs without width.
    """

    found: tuple[View, ...]
    outdone: frozenset[int]
    hidden: int
    mended: int


class _Raw(msgspec.Struct, frozen=True):
    """A text whose case counts still."""

    kind: str
    text: str
    starts: Offsets
    ends: Offsets


def views_of(text: str, letters: Letters) -> Views:
    """All readings that are better text than what they were made of.

    There are at most `MOST_VIEWS`, and all but the first together have at most `MOST_TIMES` the characters of
    the input, and a thousand.
    """
    folded = fold(text)
    room = MOST_TIMES * len(text) + 1000
    found: list[View] = []
    outdone: set[int] = set()
    waiting = [(_Raw("plain", folded.text, folded.starts, folded.starts + 1), 0, -1)]
    while waiting and len(found) < MOST_VIEWS:
        current, depth, replaced = waiting.pop(0)
        if found and len(current.text) > room:
            continue
        room -= len(current.text) if found else 0
        view = _as_view(current)
        found.append(view)
        outdone.add(replaced)
        if depth < DEPTH:
            if (better := _better(current, view, letters)) is not None:
                waiting.append((better, depth + 1, len(found) - 1))
            waiting += [(piece, depth + 1, -1) for piece in _pieces(current, letters)]
    return Views(tuple(found), frozenset(outdone - {-1}), folded.hidden, folded.mended)


def _as_view(raw: _Raw) -> View:
    text = lower(raw.text)
    few = few_words_in(text) if len(text) <= FEW and text.isascii() else None
    return View(raw.kind, text, raw.starts, raw.ends, few)


def _better(raw: _Raw, view: View, letters: Letters) -> _Raw | None:
    """What else the whole text could say, if that is better text; of some the best."""
    tried = list(_rewritten(raw, view, letters))
    if not tried:
        return None
    least = letters.likelihood(view.codes) + BETTER
    rated = [
        (letters.likelihood(codes_of(lower(one.text))) + (SURE if one.kind == "escapes" else 0.0), one)
        for one in tried
    ]
    best, chosen = max(rated, key=lambda pair: pair[0])
    return chosen if best > least else None


def _rewritten(raw: _Raw, view: View, letters: Letters) -> Iterator[_Raw]:
    """The ways to write a text that something hints at, undone."""
    if (spaced := _unspaced(raw, view)) is not None:
        yield spaced
    if (escaped := _unescaped(raw)) is not None:
        yield escaped
    if LEET_HINT.search(view.text) and (leet := _from_leet(raw, view)) is not None:
        yield leet
    if _is_strange(view, letters):
        rotated = _Raw("rot13", raw.text.translate(ROT13), raw.starts, raw.ends)
        yield _where_better(raw, view, rotated, letters)
        yield _Raw("reversed", raw.text[::-1], raw.starts[::-1], raw.ends[::-1])


def _is_strange(view: View, letters: Letters) -> bool:
    """Whether a text has words that are common when turned, or neither common words nor likely letters."""
    if view.few is None:
        numbers = view.words.runs[0]
        size, known = len(numbers), IS_TURNED[places_in(numbers, NUMBERS)]
        is_turned, common = bool(known.any()), len(known)
    else:
        words = view.few.words
        size, is_turned = len(words), not TURNED.isdisjoint(words)
        common = sum(map(COMMON.__contains__, words))
    return is_turned or (SPARSE * common < size and letters.likelihood(view.codes) < UNLIKELY)


def _where_better(raw: _Raw, view: View, other: _Raw, letters: Letters) -> _Raw:
    """The other text, of the same length, in the words in whose neighbourhood it is likelier."""
    there = codes_of(other.text)
    gain = letters.each(codes_of(lower(other.text))).astype(np.int64) - letters.each(view.codes)
    sums = np.concatenate(([0], np.cumsum(gain)))
    begins, ends = np.maximum(view.words.starts - REACH, 0), np.minimum(view.words.ends + REACH, len(gain))
    chosen = sums[ends] > sums[begins]
    changes = np.zeros(len(gain) + 1, dtype=np.int64)
    changes[view.words.starts[chosen]] += 1
    changes[view.words.ends[chosen]] -= 1
    inside = np.cumsum(changes)[:-1] > 0
    return _Raw(other.kind, text_of(np.where(inside, there, codes_of(raw.text))), raw.starts, raw.ends)


def _pieces(raw: _Raw, letters: Letters) -> Iterator[_Raw]:
    """What coded pieces of the text say."""
    if BASE64.search(raw.text):
        yield from _decoded(raw, "base64", BASE64, _from_base64, letters)
    if raw.text.count("6") + raw.text.count("7") >= FEWEST_SIXES and HEX.search(raw.text):
        yield from _decoded(raw, "hex", HEX, _from_hex, letters)


def _unspaced(raw: _Raw, view: View) -> _Raw | None:
    """Letters that stand alone, joined; where gaps differ, the wider ones are blanks."""
    few = view.few
    if (view.words.singles if few is None else few.singles) < FEWEST_SINGLE:
        return None
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
    firsts, stops = raw.starts.copy(), raw.ends.copy()  # of a text turned round, they fall
    firsts[begins] = np.minimum(raw.starts[begins], raw.starts[ends - 1])
    stops[begins] = np.maximum(raw.ends[begins], raw.ends[ends - 1])
    return _Raw("escapes", "".join(pieces), np.repeat(firsts, single), np.repeat(stops, single))


def _read_escape(text: str) -> str:
    match text[:2]:
        case "\\x":
            return bytes.fromhex(text.replace("\\x", "")).decode("utf-8", "replace")
        case "\\u":
            return bytes.fromhex(text.replace("\\u", "")).decode("utf-16-be", "replace")
        case _:
            return html.unescape(text) if text[0] == "&" else unquote(text)


def _decoded(
    raw: _Raw, kind: str, pattern: re.Pattern[str], decode: Callable[[str], bytes | None], letters: Letters
) -> Iterator[_Raw]:
    """The coded pieces of a text, a line each."""
    pieces: list[str] = []
    starts, ends = [], []
    for tried, match in enumerate(pattern.finditer(raw.text)):
        if tried >= 4 * MOST_CODED or len(pieces) >= MOST_CODED:
            break
        piece = _believable(decode(match[0]))
        if piece is None or letters.likelihood(codes_of(lower(piece))) < LEAST:
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
