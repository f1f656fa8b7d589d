"""Addresses that stand in a text without any markup."""

import re
from collections.abc import Callable
from typing import Final

BARE: Final = re.compile(r"(?<![A-Za-z0-9<])https?://[^\s<>\u3000-\u303f\uff00-\uff65]+")
TRAILING: Final = ".,:;!?'\"*_~`|\\"  # behind an address these end the sentence or the style


def around_links(text: str, escape: Callable[[str], str], link: Callable[[str], str]) -> str:
    """Escape a text, but not the addresses in it."""
    parts, last = [], 0
    for found in BARE.finditer(text):
        url = _address(found[0])
        parts += [escape(text[last : found.start()]), link(url)]
        last = found.start() + len(url)
    return "".join([*parts, escape(text[last:])])


def _address(url: str) -> str:
    """An address without what ends the sentence; a bracket belongs to it that was opened in it."""
    while True:
        shorter = url.rstrip(TRAILING)
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter
