"""Markdown as Telegram shows it: a text, and entities that say what is what.

Which entity may stand in which: Bot API, "Formatting options". Styles hold each other and links; code stands
in nothing but a quote and holds nothing; no link holds a link and no quote a quote.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, assert_never

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

STYLES: Final = {"strong": "bold", "em": "italic", "s": "strikethrough"}
MAX_ENTITIES: Final = 100  # of one message; Telegram passes over what is beyond
LINK: Final = re.compile(r"(?:https?://(?:[^\s/?#@]*@)?[^\s/?#@:]*\w\.\w[^\s]*|mailto:\S+@\S+)\Z")
NAME: Final = re.compile(r"(?<![\w@/])@(?=[A-Za-z]\w{2,})")  # how a person or a group is called
JOINER: Final = "\u2060"  # behind the sign: Telegram finds no name any more, people see no difference
CODE: Final = frozenset({"code", "pre"})
SPLIT: Final = frozenset(STYLES.values())  # these leave out the code that is in them
ORDER: Final = {"blockquote": 0, "pre": 1, "code": 2, "text_link": 3}  # of entities that cover the same
LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}")


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
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class _Mark(NamedTuple):
    """A style of a part of the text, counted in characters."""

    type: str
    begin: int
    end: int
    url: str | None = None
    language: str | None = None


class _Place(NamedTuple):
    """Where something begins: in characters, in parts, in marks."""

    size: int
    part: int
    mark: int


@dataclass(slots=True)
class _Writer:
    """What was written so far."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    marks: list[_Mark] = field(default_factory=list)
    indent: str = ""
    allow_pings: bool = False

    @property
    def here(self) -> _Place:
        """Where the next word goes."""
        return _Place(self.size, len(self.parts), len(self.marks))

    def put(self, text: str) -> None:
        """Write words; lines after the first are indented as the list they stand in."""
        text = text.replace("\n", f"\n{self.indent}")
        self.parts.append(text)
        self.size += len(text)

    def mark(self, type_: str, since: _Place, *, url: str | None = None, language: str | None = None) -> None:
        """Give a style to what was written since a place, which so has it once, and not its code."""
        inner = self.marks[since.mark :]
        text = "".join(self.parts[since.part :])
        self.marks[since.mark :] = [mark for mark in inner if mark.type != type_]
        begin = since.size
        if type_ in SPLIT:
            for mark in inner:
                if mark.type in CODE:
                    self._add(_Mark(type_, begin, mark.begin, url, language), text, since.size)
                    begin = mark.end
        self._add(_Mark(type_, begin, self.size, url, language), text, since.size)

    def _add(self, mark: _Mark, text: str, offset: int) -> None:
        """Add a mark without the white space around its words; `text` begins at `offset`."""
        part = text[mark.begin - offset : mark.end - offset]
        begin = mark.begin + len(part) - len(part.lstrip())
        if (end := begin + len(part.strip())) > begin:
            self.marks.append(mark._replace(begin=begin, end=end))


def guard_pings(text: str) -> str:
    """A text that calls nobody by name."""
    return NAME.sub(f"@{JOINER}", text)


def render(markdown: str, *, allow_pings: bool = False) -> Rendered:
    """The text with its entities; code is left as it is, since nobody is called in it."""
    writer = _Writer(allow_pings=allow_pings)
    _blocks(parse(markdown), writer)
    text = "".join(writer.parts)
    marks = sorted(writer.marks, key=lambda mark: (mark.begin, -mark.end, ORDER.get(mark.type, len(ORDER))))
    return Rendered(text=text, entities=tuple(_entities(text, marks[:MAX_ENTITIES])))


def measure(markdown: str) -> int:
    """UTF-16 units of the rendered text."""
    return utf16(render(markdown).text)


def _entities(text: str, marks: list[_Mark]) -> Iterator[Entity]:
    """Marks in order, counted in UTF-16 units."""
    offset = units = 0
    for mark in marks:
        units += utf16(text[offset : mark.begin])
        offset = mark.begin
        length = utf16(text[mark.begin : mark.end])
        yield Entity(type=mark.type, offset=units, length=length, url=mark.url, language=mark.language)


def _blocks(blocks: tuple[Block, ...], writer: _Writer, separator: str = "\n\n") -> None:
    for number, block in enumerate(blocks):
        if number:
            writer.put(separator)
        _block(block, writer)


def _block(block: Block, writer: _Writer) -> None:
    since = writer.here
    match block:
        case Paragraph(inlines):
            _inlines(inlines, writer)
        case Heading(inlines=inlines):
            _inlines(inlines, writer)
            writer.mark("bold", since)
        case Code(text, language):
            _code(text, language, writer)
        case Quote(blocks):
            _blocks(blocks, writer)
            writer.mark("blockquote", since)
        case Listing():
            _listing(block, writer)
        case Table():
            _code(aligned(block), "", writer)
        case Rule():
            writer.put("———")
        case _:
            assert_never(block)


def _code(text: str, language: str, writer: _Writer) -> None:
    since, indent, writer.indent = writer.here, writer.indent, ""
    writer.put(text)
    known = LANGUAGE.fullmatch(language)
    writer.mark("pre", since, language=known[0] if known else None)
    writer.indent = indent


def _listing(listing: Listing, writer: _Writer) -> None:
    indent = writer.indent
    for number, item in enumerate(listing.items):
        if number:
            writer.put("\n" if listing.is_tight else "\n\n")
        mark = "• " if listing.start is None else f"{listing.start + number}. "
        writer.put(mark)
        writer.indent = indent + " " * len(mark)
        _blocks(item, writer, "\n" if listing.is_tight else "\n\n")
        writer.indent = indent


def _inlines(inlines: tuple[Inline, ...], writer: _Writer, *, is_link: bool = False) -> None:
    """Write words; code that leads somewhere is shown as a link."""
    for inline in inlines:
        since = writer.here
        match inline:
            case Text(text):
                writer.put(text if writer.allow_pings else guard_pings(text))
            case Break():
                writer.put("\n")
            case CodeSpan(text):
                writer.put(text)
                if not is_link:
                    writer.mark("code", since)
            case Styled(style, children):
                _inlines(children, writer, is_link=is_link)
                writer.mark(STYLES[style], since)
            case Link(url, children):
                leads = LINK.match(url) is not None
                _inlines(children, writer, is_link=is_link or leads)
                if leads:
                    writer.mark("text_link", since, url=url)
            case _:
                assert_never(inline)
