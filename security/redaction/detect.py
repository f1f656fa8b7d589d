"""Looks for all kinds in one unit, and decides where two of them lie over each other."""

import re
from collections.abc import Callable, Iterator, Set
from typing import TypeAlias

from bot.lazy_pattern import lazy_pattern
from security.redaction.assigned import find_assigned
from security.redaction.contact import find_emails, find_ips, find_phones
from security.redaction.formats import find_formats
from security.redaction.matches import Group, Match
from security.redaction.numbers import find_birth_dates, find_cards, find_ibans, find_national_ids

Find: TypeAlias = Callable[[str, int, int], Iterator[Match]]

LEAST = 6  # characters of what is worth a look
# What comes first wins. A sign, and how many digits there are at least, say cheaply whether there can be one.
DETECTORS: tuple[tuple[Group, int, re.Pattern[str], Find], ...] = (
    ("secrets", 0, lazy_pattern(r"[0-9@]|[!-~]{16}"), find_formats),
    ("secrets", 0, lazy_pattern(r"[0-9!@#$%^&*+?~]|[!-~]{10}"), find_assigned),
    ("email", 0, lazy_pattern(r"@"), find_emails),
    ("iban", 2, lazy_pattern(r"[A-Z]{2}[0-9]{2}[ A-Z0-9-]{11}"), find_ibans),
    ("card", 13, lazy_pattern(r"[2-6](?<![A-Za-z0-9_].)[0-9]{3}(?:[ -]?[0-9]){9}", re.DOTALL), find_cards),
    ("national_id", 6, lazy_pattern(r"[0-9](?:[ .A-Za-z-]{0,6}[0-9]){4}"), find_national_ids),
    ("birth_date", 4, lazy_pattern(r"[0-9].{0,12}[0-9]"), find_birth_dates),
    ("phone", 7, lazy_pattern(r"[0-9](?:[ .()/-]{0,2}[0-9]){6}"), find_phones),
    ("ip", 0, lazy_pattern(r"[0-9]\.[0-9]|[0-9A-Fa-f]*:[0-9A-Fa-f]*:"), find_ips),
)


class Detector:
    """Finds what belongs to some groups.

    Attributes:
        skips_words: Nothing of these groups begins with a long word.
    """

    def __init__(self, groups: Set[Group]) -> None:
        self.skips_words = "email" not in groups
        self._detectors = tuple((sign, find) for group, _, sign, find in DETECTORS if group in groups)

    def find(self, text: str, start: int, end: int) -> list[Match]:
        """The matches in a unit of `text`, in order and apart; names before `start` are read, too."""
        if end - start < LEAST:
            return []
        taken: list[Match] = []
        for sign, find in self._detectors:
            if not sign.search(text, start, end):
                continue
            for match in find(text, start, end):
                if _is_free(match, taken):
                    taken.append(match)
        return sorted(taken, key=lambda match: match.start)


def _is_free(match: Match, taken: list[Match]) -> bool:
    return all(match.end <= other.start or match.start >= other.end for other in taken)
