"""Markdown as Telegram shows it: a text, and entities that say what is what."""

from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from bot.messages import Frozen
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
    parse,
)

STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
MAX_ENTITIES = 100  # of one message; Telegram passes over what is beyond
LINKS = ("http://", "https://", "tg://", "mailto:")
CODE = frozenset({"code", "pre"})  # nothing else may be in or around them


class Entity(Frozen, frozen=True, kw_only=True):
    """A style of a part of the text; offset and length count UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


class Rendered(Frozen, frozen=True, kw_only=True):
    """A text and its entities, outer ones before inner ones."""

    text: str
    entities: tuple[Entity, ...] = ()


def utf16(text: str) -> int:
    """UTF-16 units of a text, in which Telegram counts."""
    return len(text) + sum(letter > "\uffff" for letter in text)


class _Place(NamedTuple):
    """Where something begins: in units, in parts, in entities."""

    unit: int
    part: int
    entity: int


@dataclass(slots=True)
class _Writer:
    """What was written so far."""

    parts: list[str] = field(default_factory=list)
    units: int = 0
    entities: list[Entity] = field(default_factory=list)
    indent: str = ""

    @property
    def here(self) -> _Place:
        """Where the next word goes."""
        return _Place(self.units, len(self.parts), len(self.entities))

    def put(self, text: str) -> None:
        """Write words; lines after the first are indented as the list they stand in."""
        text = text.replace("\n", f"\n{self.indent}")
        self.parts.append(text)
        self.units += utf16(text)

    def mark(self, type_: str, begin: _Place, *, url: str | None = None, language: str | None = None) -> None:
        """Give what was written since `begin` a style, without the white space around it."""
        text = "".join(self.parts[begin.part :])
        offset = begin.unit + utf16(text) - utf16(text.lstrip())
        length = utf16(text.strip())
        if length:
            self.entities.append(Entity(type=type_, offset=offset, length=length, url=url, language=language))

    def has(self, types: frozenset[str], begin: _Place) -> bool:
        """Whether one of these styles was given since `begin`."""
        return any(entity.type in types for entity in self.entities[begin.entity :])


def render(markdown: str) -> Rendered:
    """The text with its entities."""
    writer = _Writer()
    _blocks(parse(markdown), writer)
    text = "".join(writer.parts)
    entities = sorted(writer.entities, key=lambda entity: (entity.offset, -entity.length))
    return Rendered(text=text, entities=tuple(entities[:MAX_ENTITIES]))


def measure(markdown: str) -> int:
    """UTF-16 units of the rendered text."""
    return utf16(render(markdown).text)


def _blocks(blocks: tuple[Block, ...], writer: _Writer, separator: str = "\n\n") -> None:
    for number, block in enumerate(blocks):
        if number:
            writer.put(separator)
        _block(block, writer)


def _block(block: Block, writer: _Writer) -> None:
    begin = writer.here
    match block:
        case Paragraph(inlines):
            _inlines(inlines, writer)
        case Heading(inlines=inlines):
            _inlines(inlines, writer)
            if not writer.has(CODE, begin):
                writer.mark("bold", begin)
        case Code(text, language):
            _code(text, language, writer)
        case Quote(blocks):
            _blocks(blocks, writer)
            _quote(begin, writer)
        case Listing():
            _listing(block, writer)
        case Table():
            _code(aligned(block), "", writer)
        case Rule():
            writer.put("———")
        case _:
            assert_never(block)


def _code(text: str, language: str, writer: _Writer) -> None:
    begin, indent, writer.indent = writer.here, writer.indent, ""
    writer.put(text if text.strip() else " ")
    writer.mark("pre", begin, language=language or None)
    writer.indent = indent


def _quote(begin: _Place, writer: _Writer) -> None:
    """Mark a quote; none stands in another, and no block of code in it."""
    if not writer.has(frozenset({"pre", "blockquote"}), begin):
        writer.mark("blockquote", begin)


def _listing(listing: Listing, writer: _Writer) -> None:
    indent = writer.indent
    for number, item in enumerate(listing.items):
        if number:
            writer.put("\n")
        mark = "• " if listing.start is None else f"{listing.start + number}. "
        writer.put(mark)
        writer.indent = indent + " " * len(mark)
        _blocks(item, writer, "\n" if listing.is_tight else "\n\n")
        writer.indent = indent


def _inlines(inlines: tuple[Inline, ...], writer: _Writer) -> None:
    """Write words; what holds code gets no style of its own, since code stands in no other style."""
    for inline in inlines:
        begin = writer.here
        match inline:
            case Text(text):
                writer.put(text)
            case Break():
                writer.put("\n")
            case CodeSpan(text):
                writer.put(text)
                writer.mark("code", begin)
            case Styled(style, children):
                _inlines(children, writer)
                if not writer.has(CODE, begin):
                    writer.mark(STYLES[style], begin)
            case Link(url, children):
                _inlines(children, writer)
                if url.startswith(LINKS) and not writer.has(CODE | {"text_link"}, begin):
                    writer.mark("text_link", begin, url=url)
            case _:
                assert_never(inline)
