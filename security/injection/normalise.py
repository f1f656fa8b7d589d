"""One form for what looks alike: compatibility forms, accents, invisible and look-alike letters."""

import unicodedata
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Codes: TypeAlias = npt.NDArray[np.uint32]
Offsets: TypeAlias = npt.NDArray[np.int64]

TAGS = range(0xE0020, 0xE007F)  # a second, invisible ASCII
FIRST_TAG = "\U000e0020"
INVISIBLE = (
    *(
        0xAD,
        0x34F,
        0x61C,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x180E,
        0x2800,
        0x3164,
        0xFEFF,
        0xFFA0,
        0xE0001,
        0xE007F,
    ),
    *(*range(0x180B, 0x180E), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
)
SHORT = 4_096  # characters; sorting fewer is quicker than a table of all
PLACES = np.arange(SHORT, dtype=np.int64)  # of the characters of a short text that stays as it is
PLACES.flags.writeable = False
MOST_CHANGES = 32  # kinds of characters
MOST_TIMES = 1.25  # so much longer a text may become
ACCENTS = (*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x1AB0, 0x1B00), *range(0x1DC0, 0x1E00))
MARKS = (*ACCENTS, *range(0x20D0, 0x2100), *range(0xFE20, 0xFE30))
DROPPED = dict.fromkeys((*INVISIBLE, *MARKS))
TAG_LETTERS = {code: chr(code - 0xE0000) for code in TAGS}
SMALL_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıƖⱭɑɡ", "abcdefghijklmnoprstuvwyzilaag")
PLAIN = {
    ord("“"): '"',
    ord("”"): '"',
    ord("„"): '"',
    ord("‘"): "'",
    ord("’"): "'",
    ord("ß"): "ss",
    ord("ø"): "o",
}

SMALL_CAPITALS_AND_SIGNS: dict[int, int | str | None] = {**SMALL_CAPITALS, **PLAIN}

LOOK_ALIKES = (
    "аa вb еe іi јj кk мm нh оo рp сc ѕs тt уy хx ԁd һh ӏl ԛq ԝw ьb гr пn "
    "АA ВB ЕE ІI ЈJ КK МM НH ОO РP СC ЅS ТT УY ХX ԌG ԚQ ԜW "
    "αa βb εe ιi κk νv οo ρp τt υu χx γy ηn ωw ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX "
    "օo սu ցg հh զq ոn"
)
END_OF_LOOK_ALIKES = 0x590


def _table(pairs: str) -> Codes:
    """What each code point up to the last becomes."""
    found = np.arange(END_OF_LOOK_ALIKES + 1, dtype=np.uint32)
    for pair in pairs.split():
        found[ord(pair[0])] = ord(pair[1])
    return found


LOOK_ALIKE_OF = _table(LOOK_ALIKES)


class Folded(msgspec.Struct, frozen=True):
    """A text in one form, and where each of its characters comes from.

    Attributes:
        text: Upper and lower case as they were.
        starts: For each character, its place in the input.
        hidden: How many invisible letters (tags) there were.
        mended: How many look-alikes there were in words, and signs without width between Latin letters.
    """

    text: str
    starts: Offsets
    hidden: int = 0
    mended: int = 0


def codes_of(text: str) -> Codes:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def text_of(codes: Codes) -> str:
    """The text with these code points."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def lower(text: str) -> str:
    """Lower case, never longer or shorter."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def fold(text: str) -> Folded:
    """Bring a text into one form; linear in its length, whatever it holds."""
    if text.isascii():
        size = len(text)
        return Folded(text, PLACES[:size] if size <= SHORT else np.arange(size, dtype=np.int64))
    if len(text) < SHORT and (quick := _letter_for_letter(text)) is not None:
        return quick
    codes = codes_of(text)
    distinct, places = _distinct(codes)
    pieces = _fold_each(distinct)
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    if int(lengths[places].sum()) > MOST_TIMES * len(text) + 64:
        pieces = [piece[:1] for piece in pieces]  # some signs stand for eighteen letters
        lengths = np.minimum(lengths, 1)
    flat = codes_of("".join(pieces))
    begins = np.cumsum(lengths) - lengths
    counts = lengths[places]
    starts = np.repeat(np.arange(len(codes), dtype=np.int64), counts)
    within = np.arange(len(starts), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    folded = flat[begins[places][starts] + within]
    hidden = int(np.count_nonzero((codes >= TAGS.start) & (codes < TAGS.stop)))
    plain = _without_look_alikes(folded)
    mended = _cuts(codes) + int(np.count_nonzero(plain != folded))
    return Folded(text_of(plain), starts, hidden, mended)


def _letter_for_letter(text: str) -> Folded | None:
    """The same for a text in which each character becomes one, and few change: that is quicker."""
    beyond = [letter for letter in set(text) if letter >= "\x80"]
    pieces = _fold_each(codes_of("".join(beyond)))
    changes = [pair for pair in zip(beyond, pieces, strict=True) if pair[0] != pair[1]]
    if len(changes) > MOST_CHANGES or any(
        len(piece) != 1 or letter >= FIRST_TAG for letter, piece in changes
    ):
        return None
    codes = codes_of(text)
    folded = codes.copy()
    for letter, piece in changes:
        folded[codes == ord(letter)] = ord(piece)
    plain = _without_look_alikes(folded)
    mended = int(np.count_nonzero(plain != folded))
    return Folded(text_of(plain), np.arange(len(text), dtype=np.int64), 0, mended)


def _cuts(codes: Codes) -> int:
    """How many signs without width stand between Latin letters; some writings need them between others."""
    within = (
        ((codes >= 0x200B) & (codes <= 0x200D)) | ((codes >= 0x2060) & (codes <= 0x2064)) | (codes == 0xFEFF)
    )
    if not within.any():
        return 0
    latin = ((codes | 0x20) >= 0x61) & ((codes | 0x20) <= 0x7A)
    return int(np.count_nonzero(within[1:-1] & latin[:-2] & (latin[2:] | within[2:])))


def fold_word(word: str) -> str:
    """A word of a rule, in the form that texts have when rules look at them."""
    return lower(fold(word).text)


def _distinct(codes: Codes) -> tuple[Codes, Offsets]:
    """The code points of a text, sorted, and for each character which of them it is."""
    if len(codes) < SHORT:
        few, places = np.unique(codes, return_inverse=True)
        return few, places.astype(np.int64)
    seen = np.zeros(int(codes.max()) + 1, dtype=np.int32)
    seen[codes] = 1
    distinct = np.flatnonzero(seen)
    seen[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct.astype(np.uint32), seen[codes].astype(np.int64)


def _fold_each(distinct: Codes) -> list[str]:
    """What becomes of each character; they are folded in one call, kept apart by line ends."""
    steady = ((distinct >= 0x3400) & (distinct < 0xA000)) | ((distinct >= 0xAC00) & (distinct < 0xD7A4))
    steady |= (distinct >= 0x1F900) & (distinct < 0x2F800) | (distinct >= 0x2FA20) & (distinct < 0xE0000)
    steady |= (distinct >= 0xE01F0) | (distinct == 10)  # signs that are nothing but themselves
    changing = text_of(distinct[~steady])
    if not changing:
        return list(text_of(distinct))
    joined = unicodedata.normalize("NFKD", "\n".join(changing).translate(TAG_LETTERS)).translate(DROPPED)
    joined = unicodedata.normalize("NFC", joined).translate(SMALL_CAPITALS_AND_SIGNS)
    pieces = list(text_of(distinct))
    for at, piece in zip(np.flatnonzero(~steady).tolist(), joined.split("\n"), strict=True):
        pieces[at] = piece
    return pieces


def _without_look_alikes(codes: Codes) -> Codes:
    """Write Cyrillic, Greek and Armenian letters as the Latin ones they look like, in words that mix.

    A word of look-alikes alone is Latin, too, where another word of the text mixes.
    """
    foreign = (codes >= 0x370) & (codes < 0x590)
    if not foreign.any():
        return codes
    latin = ((codes | 0x20) >= 0x61) & ((codes | 0x20) <= 0x7A)
    letter = foreign | latin
    plain = LOOK_ALIKE_OF[np.minimum(codes, END_OF_LOOK_ALIKES)]
    alike = foreign & (plain != codes)  # the last place of the table stands for all beyond
    word = np.cumsum(letter & ~np.concatenate(([False], letter[:-1])))
    size = int(word[-1]) + 1
    mixes = (np.bincount(word[latin], minlength=size) > 0) & (np.bincount(word[alike], minlength=size) > 0)
    if not mixes.any():
        return codes
    other = np.bincount(word[foreign & ~alike], minlength=size)
    changed = mixes | (other == 0)
    found: Codes = np.where(alike & changed[word], plain, codes)
    return found
