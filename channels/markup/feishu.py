"""Markdown as the elements of a Feishu card (JSON 2.0)."""

import json
import re
from typing import Final, TypeAlias

from channels.markup.addresses import around_links
from channels.markup.tables import cells
from channels.markup.tree import Block, Inline, Table, Text, parse
from channels.markup.writer import Marks, each_line, without_fences, write, written

# Source: open.feishu.cn, cards, JSON 2.0, table: at most five in a card, not inside of another component,
# with 50 columns and 1 to 10 rows a page.
MAX_TABLES: Final = 5
MAX_COLUMNS: Final = 50
PAGE_SIZE: Final = 10
STYLES: Final = {"strong": "**", "em": "*", "s": "~~"}
SPECIAL: Final = re.compile(r"[&<>\\*~`\[\]]|(?<!\w)_|_(?!\w)")
BLOCK_MARK: Final = re.compile(r"\s*([#+-]|\d+[.)])(?=\s|#|\Z)")
PING: Final = re.compile(r"<(?=\s*/?\s*(?:at|person)\b)", re.IGNORECASE)
LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}")
JOINER: Final = "\u2060"  # in code, where entities are not read: to Feishu it is no tag any more

Element: TypeAlias = dict[str, object]


def _escape(text: str) -> str:
    """Let words be words: no tag and no mention can be made of them; addresses stay whole."""
    return around_links(text, _guard_words, str)


def _guard_words(text: str) -> str:
    return SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def _link(url: str, text: str) -> str:
    if not url.startswith(("http://", "https://")):
        return text
    return f"[{text}]({url.replace('(', '%28').replace(')', '%29')})"


def _code_span(text: str) -> str:
    return f"`{_without_pings(text.replace('`', 'ˋ'))}`"


def _code(text: str, language: str) -> str:
    known = LANGUAGE.fullmatch(language)
    return f"```{known[0] if known else 'plain_text'}\n{without_fences(_without_pings(text))}\n```"


def _without_pings(code: str) -> str:
    return PING.sub(f"<{JOINER}", code)


def _heading(level: int, text: str) -> str:
    return f"{'#' * level} {text}" if text else ""


def _guard(line: str) -> str:
    """A line that would be taken for a title or an item is escaped; `>` is already."""
    found = BLOCK_MARK.match(line)
    if found is None:
        return line
    last = found.end(1) - 1
    return f"{line[:last]}&#{ord(line[last])};{line[last + 1 :]}"


MARKS: Final = Marks(
    escape=_escape,
    style=lambda style, text: each_line(text, STYLES[style]),
    link=_link,
    code_span=_code_span,
    code=_code,
    heading=_heading,
    guard=_guard,
    bullet="- ",
    rule="---",
    moves_code=True,
)


def render(markdown: str) -> list[Element]:
    """The elements for the body of a card."""
    elements: list[Element] = []
    between: list[Block] = []
    tables = 0
    for block in parse(markdown):
        if isinstance(block, Table) and tables < MAX_TABLES and _is_shown(block):
            tables += 1
            _flush(between, elements)
            elements.append(_table(block))
        else:
            between.append(block)
    _flush(between, elements)
    return elements


def _is_shown(table: Table) -> bool:
    """Whether a table can be one of Feishu's; one of which only the head has come is shown as code."""
    return len(table.rows) > 1 and 0 < len(table.rows[0]) <= MAX_COLUMNS


def _flush(blocks: list[Block], elements: list[Element]) -> None:
    content = write(tuple(blocks), MARKS)
    if content.strip():
        elements.append({"tag": "markdown", "content": content})
    blocks.clear()


def _table(table: Table) -> Element:
    head, *rows = cells(table)
    columns: list[Element] = []
    shown: list[dict[str, str]] = [{} for _ in rows]
    for number, title in enumerate(head):
        name, column = f"c{number}", [row[number] for row in table.rows[1:] if number < len(row)]
        is_plain = all(isinstance(inline, Text) for cell in column for inline in cell)
        kind = "text" if is_plain else "markdown"
        columns.append({"name": name, "display_name": title, "data_type": kind})
        for place, row in enumerate(rows):
            shown[place][name] = row[number] if is_plain else _cell(table.rows[place + 1], number)
    page_size = min(PAGE_SIZE, len(rows))
    return {"tag": "table", "page_size": page_size, "columns": columns, "rows": shown}


def _cell(row: tuple[tuple[Inline, ...], ...], number: int) -> str:
    return written(row[number], MARKS) if number < len(row) else ""


def measure(markdown: str) -> int:
    """Bytes of the elements as JSON."""
    return len(json.dumps(render(markdown), ensure_ascii=False).encode())
