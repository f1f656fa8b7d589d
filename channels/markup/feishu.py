"""Markdown as the elements of a Feishu card (JSON 2.0)."""

import json
import re
from typing import TypeAlias

from channels.markup.tables import cells
from channels.markup.tree import Block, Table, parse
from channels.markup.writer import Marks, quoted, without_fences, write

MAX_TABLES = 5  # in one card; more are refused
PAGE_SIZE = 10  # rows of a table that are shown at once; the platform takes 1 to 10
STYLES = {"strong": "**", "em": "*", "s": "~~"}
TAG = re.compile(r"<(?=/?(?:at|person)\b)")
JOINER = "\u2060"  # behind a bracket: no tag any more, and people see no difference
SPECIAL = re.compile(r"([\\*_~`\[\]])")

Element: TypeAlias = dict[str, object]


def _escape(text: str) -> str:
    """Let words be words: no tag and no mention can be made of them."""
    text = text.replace("&", "&#38;").replace("<", "&#60;").replace(">", "&#62;")
    return SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def _link(url: str, text: str) -> str:
    return f"[{text}]({url})" if url.startswith(("http://", "https://")) else text


def _code(text: str, language: str) -> str:
    return f"```{language or 'plain_text'}\n{_without_tags(without_fences(text))}\n```"


def _without_tags(code: str) -> str:
    """Code in which nobody is called; nothing can be escaped there."""
    return TAG.sub(f"<{JOINER}", code)


def _style(style: str, text: str) -> str:
    mark = STYLES[style]
    return f"{mark}{text}{mark}"


MARKS = Marks(
    escape=_escape,
    style=_style,
    link=_link,
    code_span=lambda text: f"`{_without_tags(text.replace('`', 'ˋ'))}`",
    code=_code,
    heading=lambda level, text: f"{'#' * level} {text}",
    quote=quoted,
    bullet="- ",
    rule="---",
)


def render(markdown: str) -> list[Element]:
    """The elements for the body of a card."""
    elements: list[Element] = []
    run: list[Block] = []
    tables = 0
    for block in parse(markdown):
        if isinstance(block, Table) and tables < MAX_TABLES and block.rows:
            tables += 1
            _flush(run, elements)
            elements.append(_table(block))
        else:
            run.append(block)
    _flush(run, elements)
    return elements


def _flush(run: list[Block], elements: list[Element]) -> None:
    if run:
        elements.append({"tag": "markdown", "content": write(tuple(run), MARKS)})
        run.clear()


def _table(table: Table) -> Element:
    head, *rows = cells(table)
    names = [f"c{number}" for number in range(len(head))]
    return {
        "tag": "table",
        "page_size": min(PAGE_SIZE, max(1, len(rows))),
        "columns": [
            {"name": name, "display_name": title, "data_type": "text"}
            for name, title in zip(names, head, strict=True)
        ],
        "rows": [dict(zip(names, row, strict=True)) for row in rows],
    }


def measure(markdown: str) -> int:
    """Bytes of the elements as JSON."""
    return len(json.dumps(render(markdown), ensure_ascii=False).encode())
