"""Writes a tree as lines of text; each dialect says how it marks what."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, assert_never

import msgspec

from channels.markup.tables import aligned
from channels.markup.tree import (
    Block,
    Break,
    Code,
    CodeSpan,
    Heading,
    Inline,
    Link,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Styled,
    Table,
    Text,
)


class Line(NamedTuple):
    """One line; those of code are not moved to the right, so that they can be copied."""

    text: str
    is_code: bool = False


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """How a dialect writes the elements.

    Attributes:
        escape: Makes plain words harmless.
        style: Words in a style (`strong`, `em`, `s`), already written.
        link: An address, and the words that lead there, already written.
        code_span, code: Code in a line; a block of it with its language, not escaped.
        heading: A title of a level, already written.
        guard: Makes a line of a paragraph no other block.
        quote: What stands before a line that is quoted.
        nests_quotes: A quote may stand in another.
        bullet: What stands before an item.
        moves_code: Code in a list stands as far to the right as the list.
    """

    escape: Callable[[str], str]
    style: Callable[[str, str], str]
    link: Callable[[str, str], str]
    code_span: Callable[[str], str]
    code: Callable[[str, str], str]
    heading: Callable[[int, str], str]
    guard: Callable[[str], str] = str
    quote: str = "> "
    nests_quotes: bool = True
    bullet: str = "• "
    rule: str = "───"
    moves_code: bool = False


def write(blocks: tuple[Block, ...], marks: Marks) -> str:
    """Write blocks with a blank line between them."""
    return "\n".join(line.text for line in _lines(blocks, marks))


def _lines(blocks: Iterable[Block], marks: Marks, *, is_tight: bool = False) -> list[Line]:
    lines: list[Line] = []
    for block in blocks:
        if lines and not is_tight:
            lines.append(Line(""))
        lines += _block(block, marks)
    return lines


def _block(block: Block, marks: Marks) -> Iterable[Line]:
    match block:
        case Paragraph(inlines):
            return [Line(marks.guard(line)) for line in written(inlines, marks).split("\n")]
        case Heading(level, inlines):
            return [Line(marks.heading(level, " ".join(written(inlines, marks).split("\n"))))]
        case Code(text, language):
            return _code(text, language, marks)
        case Quote(blocks):
            return _quote(_lines(blocks, marks), marks)
        case Listing():
            return _items(block, marks)
        case Table():
            return _code(aligned(block), "", marks)
        case Rule():
            return [Line(marks.rule)]
        case _:
            assert_never(block)


def _code(text: str, language: str, marks: Marks) -> list[Line]:
    return [Line(line, is_code=True) for line in marks.code(text, language).split("\n")]


def _quote(lines: Iterable[Line], marks: Marks) -> Iterator[Line]:
    for line in lines:
        is_quoted = not marks.nests_quotes and (line.text + " ").startswith(marks.quote)
        yield Line(line.text if is_quoted else f"{marks.quote}{line.text}".rstrip(), line.is_code)


def _items(listing: Listing, marks: Marks) -> Iterator[Line]:
    for number, item in enumerate(listing.items):
        if number and not listing.is_tight:
            yield Line("")
        mark = marks.bullet if listing.start is None else f"{listing.start + number}. "
        first, *others = _lines(item, marks, is_tight=listing.is_tight) or [Line("")]
        yield Line(mark + first.text, first.is_code)
        for line in others:
            is_moved = line.text and (marks.moves_code or not line.is_code)
            yield Line(" " * len(mark) + line.text if is_moved else line.text, line.is_code)


def written(inlines: Iterable[Inline], marks: Marks) -> str:
    """Write the words of a paragraph."""
    return "".join(_inline(inline, marks) for inline in inlines)


def _inline(inline: Inline, marks: Marks) -> str:
    match inline:
        case Text(text):
            return marks.escape(text)
        case Break():
            return "\n"
        case CodeSpan(text):
            return marks.code_span(text)
        case Styled(style, children):
            return marks.style(style, written(children, marks))
        case Link(url, children):
            return marks.link(url, written(children, marks))
        case _:
            assert_never(inline)


def each_line(text: str, mark: str) -> str:
    """Put a mark around each line, for platforms whose styles end with it; white space stays outside."""
    return "\n".join(_marked(line, mark) for line in text.split("\n"))


def _marked(line: str, mark: str) -> str:
    words = line.strip()
    before, _, after = line.partition(words)
    return f"{before}{mark}{words}{mark}{after}" if words else line


def without_fences(code: str) -> str:
    """Code in which nothing ends the block it stands in."""
    return code.replace("```", "`\u200b``")
