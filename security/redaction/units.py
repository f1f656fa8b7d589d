"""Cuts a text into units: stretches that a secret or a number lies in whole, or that hold none.

Where a unit ends depends on a few characters around that place and on nothing else, so that it ends there in
whatever pieces the text came.
"""

from bot.lazy_pattern import lazy_pattern
from security.redaction.assigned import NEAR, SIGNS

MOST = 240  # characters of a unit that are looked at together
AHEAD = 5  # characters behind a blank or comma that say at most whether the unit goes on

INSIDE = r"[!#-&(-+\--:=?-Z\\^_a-z~年月日]"  # printable ASCII without quotes and `,;<>[]{}|
LETTERS = r"[!#$&(-+\--/:=?A-Z\\^_a-z~]"  # the same without digits, @ and %
OUTSIDE = r"[^!#-&(-+\--:=?-Z\\^_a-z~年月日]"
NO_PAGE = r"(?<![a-z][0-9].)(?<![a-z][0-9]{2}.)(?<![a-z][0-9]{3}.)"  # not as in `page12`
# What stands before a blank in the middle of a unit, and what behind it.
AROUND = (
    (rf"(?<=[0-9)].){NO_PAGE}", r"(?=[0-9(])"),  # groups of digits
    (r"(?<=[A-Z0-9]{4}.)", r"(?=[A-Z]{0,3}[0-9])"),
    (r"(?<=[A-Z]{2}[0-9]{2}.)", r"(?=[A-Z]{4}[ \u00a0])"),  # groups of an account
    (
        rf"(?:(?<=[0-9].){NO_PAGE}|(?<=[0-9]\..)|(?<=[0-9](?:st|nd|rd|th).))",
        r"(?=[A-Z][a-z]{2})",  # 12 March
    ),
    (r"(?<=[a-z.].)", r"(?=(?:19|20)[0-9]{2})"),  # March 1985
)
GLUE = (
    "(?:[ \u00a0](?:"
    + "|".join(before + behind for before, behind in AROUND)
    + r")|(?<=[0-9a-z]), ?(?=(?:19|20)[0-9]{2}))"  # March 12, 1985
)

# No rule matches in up to 9 characters without a digit, @ or %; a text is mostly that.
DULL = lazy_pattern(rf"(?:(?<!{INSIDE}){LETTERS}{{0,9}}+)?+{OUTSIDE}++(?:{LETTERS}{{0,9}}+{OUTSIDE}++)*+")
# A longer word that begins a unit belongs to nothing that is found, e-mail addresses aside: keys begin
# otherwise, and an Italian code has six letters there. What stands behind it is looked at by itself.
WORD = lazy_pattern(
    r"(?!discord|rubygems|glagent|xkeysib|dapi|pat|[MNO]|[A-Fa-f]+(?![a-z]))[A-Za-z][a-z]{6,}+"
)
REST_OF_WORD = lazy_pattern(r"[a-z]*+")
UNIT = lazy_pattern(rf"{INSIDE}*+(?:{GLUE}{INSIDE}*+)*+{OUTSIDE}")
# Where a unit may go on behind a blank or comma, by what is there already; elsewhere no more is awaited.
OPEN = lazy_pattern(
    "[ \u00a0](?:"
    + "|".join(before for before, _ in AROUND)
    + r")(?:[A-Z]{0,4}|[A-Z][a-z]|[12]|(?:19|20)[0-9]?)\Z|(?<=[0-9a-z]), ?(?:[12]|(?:19|20)[0-9]?)?\Z"
)


def skip_dull(text: str, start: int) -> int:
    """Where the words end, from `start` on, that can hold nothing."""
    found = DULL.match(text, start)
    return found.end() if found else start


def end_of_unit(text: str, start: int, *, is_final: bool) -> int | None:
    """Where the unit ends that begins at `start`; `None` where more text has to say so.

    Of a unit longer than `MOST`, gives some place behind that many characters.
    """
    found = UNIT.match(text, start, start + MOST + AHEAD + 1)
    size = len(text) - start
    if found is None:
        return len(text) if is_final or size > MOST else None
    end = found.end()
    if is_final or end - start > MOST or len(text) - end >= AHEAD or text[end - 1] not in " \u00a0,":
        return end
    return None if OPEN.match(text, end - 1) is not None else end


def skip_word(text: str, start: int) -> int:
    """Where a word ends that begins a unit at `start` and belongs to nothing that is found."""
    found = WORD.match(text, start)
    if found is None or SIGNS.search(text[max(0, start - NEAR) : start]) is not None:
        return start
    return found.end()


def rest_of_word(text: str, start: int) -> int:
    """Where a word ends of which the beginning was skipped."""
    found = REST_OF_WORD.match(text, start)
    assert found is not None, "it matches the empty text, too"
    return found.end()
