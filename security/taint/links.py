"""Takes apart links and pictures of an answer that could carry something out of the conversation.

In a turn that has read something foreign, an address stays alive only where it stood like that in what
others have written, or where its host is named in the settings; a picture becomes a link. Everything else
is shown, but nothing loads it and nobody follows it by a slip of the finger.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from bot.agent.taint import Taint, known_taint
from security.taint.addresses import ADDRESS, Found, addresses_in, normal, undisguised
from security.taint.known import RUN, KnownAddresses, repeats

MAX_RUN: Final = 2_048  # letters without a blank; longer runs are cut by one
PICTURE: Final = re.compile(r"!+(?=\[)")


class Links:
    """Fulfils `bot.agent.seams.Redactor`; which turn it works for is that in which it is called.

    Args:
        hosts: Those that may always be linked to.
    """

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._known: WeakKeyDictionary[Taint, KnownAddresses] = WeakKeyDictionary()

    def open(self) -> "LinkStream":
        """See the protocol."""
        return LinkStream(self)

    def redact(self, text: str) -> str:
        """See the protocol."""
        stream = self.open()
        return stream.feed(text) + stream.flush()

    def leaves(self, texts: Sequence[str], turn: Taint) -> bool:
        """Whether a call would bring something to an address that was not there before."""
        return any(
            not self.is_plain(address, turn) and (turn.is_private or repeats(address, turn))
            for text in texts
            for address in _targets(text)
        )

    def is_plain(self, address: str, turn: Taint) -> bool:
        """Whether nobody here has put something into an address; see `KnownAddresses.is_plain`."""
        host = re.split(r"[/?#\\:]", normal(address), maxsplit=1)[0]
        if host in self._hosts and "\\" not in address:
            return True
        known = self._known.get(turn)
        if known is None:
            known = self._known[turn] = KnownAddresses()
        return known.is_plain(address, turn)

    def defanged(self, run: str, turn: Taint) -> str:
        """A run of visible letters, with each address that is not plain taken apart."""
        if "." not in run and ":" not in run and "&" not in run and "%" not in run:
            return run
        plain = undisguised(run)
        if plain != run and len(list(addresses_in(plain))) > len(list(addresses_in(run))):
            run = plain  # an address that only shows when it is read like a client reads it
        parts: list[str] = []
        at = 0
        for found in addresses_in(run):
            if found.start < at:
                continue
            parts.append(run[at : found.start])
            shown, at = self._shown(found, run, turn)
            parts.append(shown)
        return "".join([*parts, run[at:]])

    def _shown(self, found: Found, run: str, turn: Taint) -> tuple[str, int]:
        """An address as it is shown, and where the run goes on behind it."""
        end = found.start + len(found.text)
        if self.is_plain(found.text, turn):
            return found.text, end
        short = found.start + len(found.short)
        if found.short != found.text and self.is_plain(found.short, turn):
            closing = run[short : short + 1]
            return f"{found.short}{closing} ", short + len(closing)  # a client might read on past the sign
        return _apart(found.text), end


class LinkStream:
    """Fulfils `bot.agent.seams.RedactionStream`; holds back the last word, and nothing in a clean turn."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._held = ""
        self._last = ""  # what came out last, to see what stands before a picture
        self._was_link = False

    def feed(self, text: str) -> str:
        """See the protocol."""
        turn = known_taint()
        if turn is None or not turn.foreign:
            if not self._held:
                self._last = text[-1:] or self._last
                return text
            return self._take(text, turn or Taint())
        return self._take(text, turn)

    def flush(self) -> str:
        """See the protocol."""
        held, self._held = self._held, ""
        return self._run(held, known_taint() or Taint(), is_end=True) if held else ""

    def _take(self, text: str, turn: Taint) -> str:
        held = self._held + text
        parts: list[str] = []
        at = 0
        for match in RUN.finditer(held):
            parts.append(self._between(held[at : match.start()]))
            at = match.start()
            while match.end() - at > MAX_RUN:
                parts.append(self._run(held[at : at + MAX_RUN], turn) + " ")
                self._last = " "
                at += MAX_RUN
            if match.end() == len(held):
                break
            parts.append(self._run(held[at : match.end()], turn))
            at = match.end()
        else:
            parts.append(self._between(held[at:]))
            at = len(held)
        self._held = held[at:]
        return "".join(parts)

    def _between(self, text: str) -> str:
        """What is no visible ASCII: a blank goes between an address and a letter that could go on with it."""
        if not text:
            return ""
        gap = " " if self._was_link and not text[0].isspace() else ""
        self._was_link = False
        self._last = text[-1]
        return gap + text

    def _run(self, run: str, turn: Taint, *, is_end: bool = False) -> str:
        before = self._last
        shown = self._without_pictures(self._links.defanged(run, turn), before)
        self._was_link = not is_end and next(iter(addresses_in(run)), None) is not None
        self._last = run[-1]
        return shown

    def _without_pictures(self, run: str, before: str) -> str:
        """`![` begins a picture; behind a letter it may be code, which a blank does not harm."""

        def plain(match: re.Match[str]) -> str:
            left = run[match.start() - 1] if match.start() else before
            return "! " if left.isalnum() else ""

        return PICTURE.sub(plain, run)


def _targets(text: str) -> Iterator[str]:
    """The addresses in an argument; one that begins with an address may be that as a whole."""
    whole = undisguised(text.strip())
    if len(whole) <= MAX_RUN and "\n" not in whole and ADDRESS.match(whole):
        yield whole
    for run in RUN.finditer(whole):
        yield from (found.text for found in addresses_in(run[0]))


def _apart(address: str) -> str:
    """An address that no client takes for one."""
    scheme, colon, rest = address.partition(":")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]+", scheme) and "." not in scheme:
        is_web = scheme.lower() in ("http", "https")
        begin = scheme.lower().replace("tt", "xx") + ":" if is_web else f"{scheme}[:]"
        return begin + rest.replace(".", "[.]")
    return address.replace(".", "[.]")
