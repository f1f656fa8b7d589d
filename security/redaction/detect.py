"""Looks for all kinds in one unit, and decides where two of them lie over each other."""

import re
from collections.abc import Callable, Iterator, Set
from typing import TypeAlias

from security.redaction.assigned import find_assigned
from security.redaction.contact import find_emails, find_ips, find_phones
from security.redaction.formats import find_formats
from security.redaction.matches import Group, Match
from security.redaction.numbers import find_birth_dates, find_cards, find_ibans, find_national_ids

Find: TypeAlias = Callable[[str, int, int], Iterator[Match]]

LEAST = 6  # characters of what is worth a look
# What comes first wins. The signs are a cheap look whether there can be a match at all.
DETECTORS: tuple[tuple[Group, re.Pattern[str], Find], ...] = (
    ("secrets", re.compile(r"[0-9@]|[!-~]{16}"), find_formats),
    ("secrets", re.compile(r"[0-9!@#$%^&*+?~]|[!-~]{10}"), find_assigned),
    ("email", re.compile(r"@"), find_emails),
    ("iban", re.compile(r"[A-Z]{2}[0-9]{2}[ A-Z0-9-]{11}"), find_ibans),
    ("card", re.compile(r"[0-9](?:[ -]?[0-9]){12}"), find_cards),
    ("national_id", re.compile(r"[0-9](?:[ .A-Za-z-]{0,6}[0-9]){4}"), find_national_ids),
    ("birth_date", re.compile(r"[0-9].{0,12}[0-9]"), find_birth_dates),
    ("phone", re.compile(r"[0-9](?:[ .()/-]{0,2}[0-9]){6}"), find_phones),
    ("ip", re.compile(r"[0-9]\.[0-9]|[0-9A-Fa-f]*:[0-9A-Fa-f]*:"), find_ips),
)


class Detector:
    """Finds what belongs to some groups."""

    def __init__(self, groups: Set[Group]) -> None:
        self._detectors = tuple((sign, find) for group, sign, find in DETECTORS if group in groups)

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
