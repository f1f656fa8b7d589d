"""Markdown as a tree, parsed once for every dialect."""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final, TypeAlias

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_NESTING: Final = 40  # blocks in one another; what goes deeper is shown as it is
MAX_STYLES: Final = 8  # styles in one another; what goes deeper is shown without


class Text(msgspec.Struct, frozen=True):
    """Plain words."""

    text: str


class Break(msgspec.Struct, frozen=True):
    """The end of a line within a paragraph."""


class CodeSpan(msgspec.Struct, frozen=True):
    """Code within a line."""

    text: str


class Styled(msgspec.Struct, frozen=True):
    """Words in a style: `strong`, `em` or `s`."""

    style: str
    children: "tuple[Inline, ...]"


class Link(msgspec.Struct, frozen=True):
    """Words that lead somewhere, with no other link among them; an image is one, too."""

    url: str
    children: "tuple[Inline, ...]"


Inline: TypeAlias = Text | Break | CodeSpan | Styled | Link


class Paragraph(msgspec.Struct, frozen=True):
    """Lines of words."""

    inlines: tuple[Inline, ...]


class Heading(msgspec.Struct, frozen=True):
    """A title; `level` is 1 to 6. It is bold as a whole, so nothing in it is."""

    level: int
    inlines: tuple[Inline, ...]


class Code(msgspec.Struct, frozen=True):
    """A block of code, without its last line break; `language` may be empty."""

    text: str
    language: str


class Quote(msgspec.Struct, frozen=True):
    """What somebody else has said."""

    blocks: "tuple[Block, ...]"


class Listing(msgspec.Struct, frozen=True):
    """A list; `start` is the first number of one that is numbered."""

    items: "tuple[tuple[Block, ...], ...]"
    start: int | None
    is_tight: bool


class Table(msgspec.Struct, frozen=True):
    """Rows of cells, the first of them the head."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...]


class Rule(msgspec.Struct, frozen=True):
    """A line across."""


Block: TypeAlias = Paragraph | Heading | Code | Quote | Listing | Table | Rule


def make_parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough, but without what misleads in a text that still grows.

    A list whose first dash has come makes no title of the line before, and a definition of a link, which may
    stand in another message than the link, is text.
    """
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    return parser.enable(["table", "strikethrough"]).disable(["lheading", "reference"])


_parser = cache(make_parser)


@lru_cache(maxsize=64)  # a text is measured, then shown, perhaps twice
def parse(markdown: str) -> tuple[Block, ...]:
    """Read a Markdown text; whatever is no markup is text, so that this never fails."""
    tokens = _parser().parse(markdown)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return (Paragraph(tuple(_plain_lines(markdown))),)
    return tuple(_blocks(iter(tokens), None))


def _plain_lines(text: str) -> Iterator[Inline]:
    for number, line in enumerate(text.splitlines()):
        if number:
            yield Break()
        if line:
            yield Text(line)


def _blocks(tokens: Iterator[Token], closing: str | None) -> Iterator[Block]:
    for token in tokens:
        if token.type == closing:
            return
        match token.type:
            case "paragraph_open":
                yield Paragraph(_content(tokens, "paragraph_close"))
            case "heading_open":
                title = _without("strong", _content(tokens, "heading_close"))
                yield Heading(int(token.tag[1]), tuple(title))
            case "fence" | "code_block":
                words = token.info.split()
                yield Code(token.content.removesuffix("\n"), words[0] if words else "")
            case "blockquote_open":
                yield Quote(tuple(_blocks(tokens, "blockquote_close")))
            case "bullet_list_open" | "ordered_list_open":
                yield _listing(tokens, token)
            case "table_open":
                yield _table(tokens)
            case "hr":
                yield Rule()


def _listing(tokens: Iterator[Token], opening: Token) -> Listing:
    closing = opening.type.replace("open", "close")
    items, is_tight = [], True
    for token in tokens:
        if token.type == closing:
            break
        item = tuple(_blocks(tokens, "list_item_close"))
        is_tight = is_tight and sum(isinstance(block, Paragraph) for block in item) <= 1
        items.append(item)
    start = int(opening.attrs.get("start", 1)) if opening.type == "ordered_list_open" else None
    return Listing(tuple(items), start, is_tight)


def _table(tokens: Iterator[Token]) -> Table:
    rows: list[tuple[tuple[Inline, ...], ...]] = []
    cells: list[tuple[Inline, ...]] = []
    for token in tokens:
        match token.type:
            case "table_close":
                break
            case "tr_open":
                cells = []
            case "inline":
                cells.append(_inlines(token.children or ()))
            case "tr_close":
                rows.append(tuple(cells))
    return Table(tuple(rows))


def _content(tokens: Iterator[Token], closing: str) -> tuple[Inline, ...]:
    found: tuple[Inline, ...] = ()
    for token in tokens:
        if token.type == closing:
            break
        found = _inlines(token.children or ())
    return found


def _inlines(tokens: Iterable[Token]) -> tuple[Inline, ...]:
    found: list[Inline] = []
    opened: list[tuple[Token, list[Inline]]] = []  # what began, and what stood before it
    for token in tokens:
        match token.type:
            case "text" | "text_special":
                if token.content:
                    found.append(Text(token.content))
            case "softbreak" | "hardbreak":
                found.append(Break())
            case "code_inline":
                found.append(CodeSpan(token.content))
            case "image":
                found += _link(str(token.attrs.get("src", "")), _inlines(token.children or ()), "image")
            case "link_open" | "strong_open" | "em_open" | "s_open":
                opened.append((token, found))
                found = [] if len(opened) <= MAX_STYLES else found
            case "link_close" | "strong_close" | "em_close" | "s_close":
                opening, before = opened.pop()
                if found is not before:
                    before += _wrapped(opening, tuple(found))
                    found = before
    return tuple(found)


def _wrapped(opening: Token, children: tuple[Inline, ...]) -> tuple[Inline, ...]:
    if opening.type == "link_open":
        return _link(str(opening.attrs.get("href", "")), tuple(_without("link", children)))
    style = opening.type.removesuffix("_open")
    return (Styled(style, tuple(_without(style, children))),) if words(children).strip() else children


def _link(url: str, children: tuple[Inline, ...], instead: str = "") -> tuple[Inline, ...]:
    """A link with something to see; without words it is shown by its name or its address."""
    if not words(children).strip():
        children = (Text(instead or url),) if instead or url else ()
    return (Link(url, children),) if url else children


def _without(kind: str, inlines: Iterable[Inline]) -> Iterator[Inline]:
    """Words without the links, or without a style, among them: neither may stand within its own kind."""
    for inline in inlines:
        match inline:
            case Link(url, children):
                bare = tuple(_without(kind, children))
                yield from bare if kind == "link" else (Link(url, bare),)
            case Styled(style, children):
                bare = tuple(_without(kind, children))
                yield from bare if kind == style else (Styled(style, bare),)
            case _:
                yield inline


def words(inlines: Iterable[Inline]) -> str:
    """The words of a line without their styles."""
    return "".join(_word(inline) for inline in inlines)


def _word(inline: Inline) -> str:
    match inline:
        case Text(text) | CodeSpan(text):
            return text
        case Break():
            return "\n"
        case Styled(children=children) | Link(children=children):
            return words(children)
