"""Markdown as a tree, parsed once for every dialect."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Text:
    """Plain words."""

    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a line within a paragraph."""


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Code within a line."""

    text: str


@dataclass(frozen=True, slots=True)
class Styled:
    """Words in a style: `strong`, `em` or `s`."""

    style: str
    children: "tuple[Inline, ...]"


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead somewhere; an image is one, too."""

    url: str
    children: "tuple[Inline, ...]"


Inline: TypeAlias = Text | Break | CodeSpan | Styled | Link


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of words."""

    inlines: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; `level` is 1 to 6."""

    level: int
    inlines: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code, without its last line break; `language` may be empty."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody else has said."""

    blocks: "tuple[Block, ...]"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; `start` is the first number of one that is numbered."""

    items: "tuple[tuple[Block, ...], ...]"
    start: int | None
    is_tight: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first of them the head."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


Block: TypeAlias = Paragraph | Heading | Code | Quote | Listing | Table | Rule


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def parse(markdown: str) -> tuple[Block, ...]:
    """Read a Markdown text; whatever is no markup is text, so that this never fails."""
    return tuple(_blocks(_Tokens(_parser().parse(markdown)), None))


class _Tokens:
    """The parser's flat list, read once from its beginning."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = iter(tokens)

    def __iter__(self) -> Iterator[Token]:
        return self._tokens


def _blocks(tokens: _Tokens, closing: str | None) -> Iterator[Block]:
    for token in tokens:
        if token.type == closing:
            return
        match token.type:
            case "paragraph_open":
                yield Paragraph(_content(tokens, "paragraph_close"))
            case "heading_open":
                yield Heading(int(token.tag[1]), _content(tokens, "heading_close"))
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


def _listing(tokens: _Tokens, opening: Token) -> Listing:
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


def _table(tokens: _Tokens) -> Table:
    rows: list[tuple[tuple[Inline, ...], ...]] = []
    cells: list[tuple[Inline, ...]] = []
    for token in tokens:
        match token.type:
            case "table_close":
                break
            case "tr_open":
                cells = []
            case "inline":
                cells.append(_inlines(iter(token.children or ()), None))
            case "tr_close":
                rows.append(tuple(cells))
    return Table(tuple(rows))


def _content(tokens: _Tokens, closing: str) -> tuple[Inline, ...]:
    found: tuple[Inline, ...] = ()
    for token in tokens:
        if token.type == closing:
            break
        found = _inlines(iter(token.children or ()), None)
    return found


def _inlines(tokens: Iterator[Token], closing: str | None) -> tuple[Inline, ...]:
    found: list[Inline] = []
    for token in tokens:
        if token.type == closing:
            break
        match token.type:
            case "text" | "text_special":
                if token.content:
                    found.append(Text(token.content))
            case "softbreak" | "hardbreak":
                found.append(Break())
            case "code_inline":
                found.append(CodeSpan(token.content))
            case "image":
                alt = _inlines(iter(token.children or ()), None) or (Text("image"),)
                found.append(Link(str(token.attrs.get("src", "")), alt))
            case "link_open":
                found.append(Link(str(token.attrs.get("href", "")), _inlines(tokens, "link_close")))
            case "strong_open" | "em_open" | "s_open":
                style = token.type.removesuffix("_open")
                found.append(Styled(style, _inlines(tokens, f"{style}_close")))
    return tuple(found)


def words(inlines: tuple[Inline, ...]) -> str:
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
