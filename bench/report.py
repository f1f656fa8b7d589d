"""The rows as a table, drawn for a terminal or in Markdown."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.machine import describe
from bench.results import Result

HEADINGS = ("", "measured", "goal", "limit", "x limit", "met")


def show(rows: Sequence[Result], console: Console) -> None:
    """Draw the table."""
    table = Table(title=describe(), title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "" else "right")
    for result in rows:
        table.add_row(*cells(result), style="red" if result.met is False else None)
    console.print(table)


def markdown(rows: Sequence[Result]) -> str:
    """The same table, to be copied into a document."""
    lines = [describe(), "", f"| {' | '.join(HEADINGS)} |", "| --- " + "| ---: " * 5 + "|"]
    lines += [f"| {' | '.join(cells(result))} |" for result in rows]
    return "\n".join(lines)


def cells(result: Result) -> tuple[str, ...]:
    """A row as text, in the order of the headings."""
    ratio = f"{result.ratio_to_limit:.2f}" if result.ratio_to_limit is not None else ""
    return (
        result.name,
        f"{number(result.value)} {result.unit}",
        result.goal or "",
        number(result.limit) if result.limit is not None else "",
        ratio,
        {True: "yes", False: "no", None: ""}[result.met],
    )


def number(value: float) -> str:
    """Three digits that count, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
