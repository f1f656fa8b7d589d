"""Where a Markdown text may be cut: the edges of its blocks, and what is open inside of them."""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.markup.tree import make_parser

LINE_END: Final = re.compile(r"\r\n?|\n")
CLOSING: Final = re.compile(r"[ \t>]*(?P<marks>`{3,}|~{3,})[ \t]*\Z")
BLOCKS: Final = frozenset({"paragraph_open", "heading_open", "fence", "code_block", "blockquote_open", "hr"})
LISTS: Final = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "table_open"})
TABLE: Final = "|"  # how an opening begins that is a table's head
MAX_LEAD, MAX_MARKS, MAX_LANGUAGE = 24, 10, 20  # a fence with more is no fence to come back to
MAX_HEAD: Final = 400  # characters of a table's head that are said again


class Rank(IntEnum):
    """How well a text reads that is cut at the beginning of a line, best first."""

    BLOCK = 0
    ITEM = 1
    LINE = 2
    INSIDE = 3  # between lines of code or rows of a table
    NEVER = 4


class Region(NamedTuple):
    """Lines that make no sense without their opening: code in a fence, rows under a table's head.

    Attributes:
        opening: What is said again where they are cut; empty where it would be too long.
        closing: What is to be said where they are cut.
        begin, inside, end: Where the opening, the lines and what follows them begin; before 0 if not here.
        last: Where the line that ends them begins, if they end.
    """

    opening: str
    closing: str
    begin: int
    inside: int
    end: int
    last: int | None


@cache
def _parser() -> MarkdownIt:
    parser = make_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class Outline:
    """What is where in a text, itself begun inside of what `opening` opened."""

    def __init__(self, source: str, opening: str = "") -> None:
        self._source, self._opening = source, opening
        prefix, body = reopened(source, opening)
        self._lines, self._shown = _lines(source), _lines(prefix + body)
        self._shift = prefix.count("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._tokens = [token for token in _parser().parse(prefix + body) if token.type in BLOCKS | LISTS]
        self.regions = tuple(self._regions())

    def region_at(self, place: int) -> Region | None:
        """What is open at a place, and has to be opened again behind it."""
        for region in self.regions:
            if region.inside <= place and self._lasts(region, place) and self._goes_on(region, place):
                return region
        return None

    def _lasts(self, region: Region, place: int) -> bool:
        return place < region.end or (region.last is None and place >= len(self._source))

    def _goes_on(self, region: Region, place: int) -> bool:
        if region.opening.startswith(TABLE):
            return place in self._starts and self._source.startswith(TABLE, place)
        return bool(region.opening)

    def is_within(self, place: int) -> bool:
        """Whether a place is inside of code or of a table, their first and last lines included."""
        return any(region.begin < place and self._lasts(region, place) for region in self.regions)

    def edges(self) -> list[tuple[int, Rank]]:
        """Where lines begin, first to last, and where the last one ends; with their ranks."""
        ranks = {
            start: Rank.LINE
            for start, line in zip(self._starts, self._lines, strict=False)
            if not line.isspace()
        }
        if self._source.endswith(("\n", "\r")):
            ranks[len(self._source)] = Rank.LINE if self._lines[-1].strip() else Rank.BLOCK
        self._rank_blocks(ranks)
        for region in self.regions:
            for start in ranks:
                if region.begin < start and self._lasts(region, start):
                    is_thin = start in (region.inside, region.last) or start < region.inside
                    ranks[start] = Rank.NEVER if is_thin else Rank.INSIDE
                elif start == region.end:
                    ranks[start] = Rank.BLOCK
        ranks.pop(0, None)
        return sorted(ranks.items())

    def _rank_blocks(self, ranks: dict[int, Rank]) -> None:
        heading = -1  # the line after a heading, which belongs to what comes
        for token in self._tokens:
            first, after = token.map or [0, 0]
            start = self._place(first)
            if start in ranks:
                rank = Rank.ITEM if token.level else Rank.BLOCK
                ranks[start] = Rank.NEVER if self._is_blank(heading, first) else min(rank, ranks[start])
            if token.type == "heading_open":
                heading = after
        if heading >= 0 and self._is_blank(heading, len(self._shown)) and len(self._source) in ranks:
            ranks[len(self._source)] = Rank.NEVER

    def _is_blank(self, first: int, after: int) -> bool:
        return 0 <= first <= after and not "".join(self._shown[first:after]).strip()

    def _place(self, line: int) -> int:
        """Where a line of what was parsed begins in the source; -1 for one that is not there."""
        number = line - self._shift
        return self._starts[min(number, len(self._starts) - 1)] if number >= 0 else -1

    def _regions(self) -> Iterator[Region]:
        for token in self._tokens:
            first, after = token.map or [0, 0]
            begin, end = self._place(first), self._place(after)
            if token.type == "fence":
                opening, closing = self._fence(token, first)
                is_closed = after - 1 > first and _closes(self._shown[after - 1], token.markup)
                if not is_closed and not self._source[end:].strip():
                    end = len(self._source)  # blank lines at the end may be code
                is_cut_off = end < len(self._source)  # the list or the quote around it has ended
                last = self._place(after - 1) if is_closed else end if is_cut_off else None
                yield Region(opening, closing, begin, self._place(first + 1), end, last)
            elif token.type == "table_open" and not token.level:
                head = "".join(self._shown[first : first + 2])
                opening = head if head.startswith(TABLE) and len(head) <= MAX_HEAD else ""
                last = end if end < len(self._source) else None
                yield Region(opening, "", begin, self._place(first + 2), end, last)

    def _fence(self, token: Token, line: int) -> tuple[str, str]:
        lead = self._shown[line].partition(token.markup)[0].expandtabs(4)
        if len(token.markup) > MAX_MARKS or len(lead) > MAX_LEAD:
            return "", ""
        closing = _blank(lead) + token.markup
        if line < self._shift:
            return self._opening, closing
        source_lead = self._lines[line - self._shift].partition(token.markup)[0].expandtabs(4)
        language = token.info.split()[0][:MAX_LANGUAGE] if token.info.strip() else ""
        return f"{_blank(source_lead)}{token.markup}{language}\n", closing


def _lines(text: str) -> list[str]:
    """The lines as the parser counts them, each with its end."""
    ends = [found.end() for found in LINE_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _blank(lead: str) -> str:
    """What stands before a fence, without the mark of the list item that it begins."""
    return re.sub(r"[^>\s]", " ", lead)


def _closes(line: str, marks: str) -> bool:
    found = CLOSING.match(line.rstrip("\r\n"))
    return found is not None and found["marks"].startswith(marks)


def reopened(source: str, opening: str) -> tuple[str, str]:
    """What has to stand before a text that begins inside of something, and the text, line by line.

    Lines are moved to the left where the list is missing that they were in; none is added or left out.
    """
    lines = _lines(source)
    if not opening or opening.startswith(TABLE):
        return opening, _moved(lines, len(lines[0]) - len(lines[0].lstrip(" "))) if not opening else source
    marks = opening.lstrip(" >").rstrip("\n")
    marks = marks[: len(marks) - len(marks.lstrip(marks[0]))]
    indent = len(opening) - len(opening.lstrip(" "))
    for number, line in enumerate(lines):
        if _closes(line, marks):
            if not "".join(lines[:number]).strip():  # nothing is left to show
                return "", "\n" * (number + 1) + "".join(lines[number + 1 :])
            lines[number] = line[min(indent, len(line) - len(line.lstrip(" "))) :]
            break
        lines[number] = line[min(indent, len(line) - len(line.lstrip(" "))) :]
    return opening[indent:], "".join(lines)


def _moved(lines: list[str], indent: int) -> str:
    """Move the first lines to the left if they would else be taken for code."""
    if indent < 4:
        return "".join(lines)
    for number, line in enumerate(lines):
        own = len(line) - len(line.lstrip(" "))
        if own < indent and line.strip():
            break
        lines[number] = line[min(own, indent) :]
    return "".join(lines)


def open_fence(source: str, opening: str = "") -> str:
    """The opening line of the code fence that is open at the end of a text; empty where none is."""
    if not opening and "```" not in source and "~~~" not in source:
        return ""
    region = Outline(source, opening).region_at(len(source))
    return region.opening if region is not None else ""
