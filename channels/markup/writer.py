"""Writes a tree as lines of text; each dialect says how it marks what."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

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
    words,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """How a dialect writes the elements.

    Attributes:
        escape: Makes plain words harmless.
        style: Words in a style (`strong`, `em`, `s`), already written.
        link: An address, and the words that lead there, already written.
        code_span, code: Code in a line; a block of it with its language, not escaped.
        heading: A title of a level, already written.
        quote: Lines that are quoted, already written.
        bullet: What stands before an item.
        table: A table as a whole; without it, tables are code.
    """

    escape: Callable[[str], str]
    style: Callable[[str, str], str]
    link: Callable[[str, str], str]
    code_span: Callable[[str], str]
    code: Callable[[str, str], str]
    heading: Callable[[int, str], str]
    quote: Callable[[str], str]
    bullet: str = "• "
    rule: str = "───"
    table: Callable[[Table], str] | None = None


def write(blocks: tuple[Block, ...], marks: Marks) -> str:
    """Write blocks with a blank line between them."""
    return "\n\n".join(_block(block, marks) for block in blocks)


def _block(block: Block, marks: Marks) -> str:
    match block:
        case Paragraph(inlines):
            return line(inlines, marks)
        case Heading(level, inlines):
            return marks.heading(level, line(inlines, marks))
        case Code(text, language):
            return marks.code(text, language)
        case Quote(blocks):
            return marks.quote(write(blocks, marks))
        case Listing():
            return "\n".join(_items(block, marks))
        case Table():
            return marks.table(block) if marks.table else marks.code(aligned(block), "")
        case Rule():
            return marks.rule
        case _:
            assert_never(block)


def _items(listing: Listing, marks: Marks) -> Iterator[str]:
    for number, item in enumerate(listing.items):
        mark = marks.bullet if listing.start is None else f"{listing.start + number}. "
        separator = "\n" if listing.is_tight else "\n\n"
        text = separator.join(_block(block, marks) for block in item)
        indent = " " * (2 if listing.start is None else 3)
        yield mark + text.replace("\n", f"\n{indent}")


def line(inlines: tuple[Inline, ...], marks: Marks) -> str:
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
            return marks.style(style, line(children, marks)) if words(children).strip() else ""
        case Link(url, children):
            return marks.link(url, line(children, marks))
        case _:
            assert_never(inline)


def without_fences(code: str) -> str:
    """Code in which nothing ends the block it stands in."""
    return code.replace("```", "`\u200b``")


def quoted(text: str, mark: str = "> ") -> str:
    """Begin every line with a mark."""
    return "\n".join(f"{mark}{one}".rstrip() for one in text.split("\n"))
