"""Cuts a text into units: stretches that a secret or a number lies in whole, or that hold none.

Where a unit ends depends on a few characters around that place and on nothing else, so that it ends there in
whatever pieces the text came.
"""

import re

MOST = 240  # characters of a unit that are looked at together
AHEAD = 5  # characters behind a blank or comma that say whether the unit goes on

INSIDE = r"[!#-&(-+\--:=?-Z\\^_a-z~年月日]"  # printable ASCII without quotes and `,;<>[]{}|
LETTERS = r"[!#$&(-+\--/:=?A-Z\\^_a-z~]"  # the same without digits, @ and %
OUTSIDE = r"[^!#-&(-+\--:=?-Z\\^_a-z~年月日]"
GLUE = (
    r"(?:[ \u00a0](?:"
    r"(?<=[0-9)].)(?=[0-9(])"  # groups of digits
    r"|(?<=[A-Z0-9]{4}.)(?=[A-Z]{0,3}[0-9])"
    r"|(?<=[A-Z]{2}[0-9]{2}.)(?=[A-Z]{4}[ \u00a0])"  # groups of an account
    r"|(?:(?<=[0-9].)|(?<=[0-9]\..)|(?<=[0-9](?:st|nd|rd|th).))(?=[A-Z][a-z]{2})"  # 12 March
    r"|(?<=[a-z.].)(?=(?:19|20)[0-9]{2}))"  # March 1985
    r"|(?<=[0-9a-z]), ?(?=(?:19|20)[0-9]{2}))"  # March 12, 1985
)

# No rule matches in up to 9 characters without a digit, @ or %; a text is mostly that.
DULL = re.compile(rf"(?:{LETTERS}{{0,9}}+{OUTSIDE}++)++")
UNIT = re.compile(rf"{INSIDE}*+(?:{GLUE}{INSIDE}*+)*+{OUTSIDE}")


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
    if text[end - 1] in " \u00a0," and len(text) - end < AHEAD and not is_final and end - start <= MOST:
        return None
    return end
