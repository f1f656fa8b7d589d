"""Which addresses a turn may repeat: those that stood word for word in what others have written."""

import re
from typing import Final

from bot.agent.compaction import BEGIN
from bot.agent.taint import Taint
from security.taint.addresses import PLAIN_LABELS, addresses_in, normal

MAX_KNOWN: Final = 5_000  # addresses
RUN: Final = re.compile(r"[!-~]+")
PIECE: Final = 12  # letters and digits that are no coincidence
LETTERS: Final = re.compile(r"[^a-z0-9]+")


class KnownAddresses:
    """The addresses of one turn; texts are read once each, as they come."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._read = 0
        self._has_window = False

    def is_plain(self, address: str, turn: Taint) -> bool:
        """Whether an address says nothing that somebody here has put into it.

        It stood like that somewhere, or is the beginning of one that did, or is the name of a host that has
        been seen, or is too short to say something.
        """
        if "\\" in address:
            return False
        self._look(turn)
        key = normal(address)
        if key in self._known or _is_bare(key):
            return True
        return any(
            one.startswith(key) and one[len(key)] in "/?#&" for one in self._known if len(one) > len(key)
        )

    def _look(self, turn: Taint) -> None:
        if not self._has_window and turn.window:
            self._has_window = True
            for message in turn.window:
                if message.role in ("user", "assistant") and not message.content.startswith(BEGIN):
                    self._take(message.content)
        while self._read < len(turn.quotable):
            self._take(turn.quotable[self._read])
            self._read += 1
        if turn.request:
            self._take(turn.request)

    def _take(self, text: str) -> None:
        for run in RUN.finditer(text):
            if "." not in run[0] and "/" not in run[0]:
                continue
            for found in addresses_in(run[0]):
                if len(self._known) >= MAX_KNOWN:
                    return
                self._known |= {normal(found.text), normal(found.short)}


def _is_bare(key: str) -> bool:
    """Whether an address is a host's name alone, and that too short to say something."""
    name = key.removeprefix("www.").partition(":")[0]
    return re.fullmatch(r"[a-z0-9\-.]+(:\d+)?", key) is not None and name.count(".") < PLAIN_LABELS


def repeats(address: str, turn: Taint) -> bool:
    """Whether an address holds a piece of what was said before this turn, forwards or backwards."""
    letters = LETTERS.sub("", address.lower())
    if len(letters) < PIECE:
        return False
    said = [part.content for part in turn.window[1:-1] if part.role in ("user", "assistant")]
    talk = LETTERS.sub("", " ".join(said).lower())
    asked = LETTERS.sub("", turn.request.lower())
    pieces = (
        piece
        for way in (letters, letters[::-1])
        for piece in (way[at : at + PIECE] for at in range(len(way) - PIECE + 1))
    )
    return any(piece in talk and piece not in asked for piece in pieces)
