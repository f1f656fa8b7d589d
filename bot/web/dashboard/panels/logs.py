"""The newest lines of the log, redacted; filtered by level and text, and followed."""

import asyncio
from typing import Final

import msgspec
from nicegui import ui

from bot.log_tail import MAX_LINES, LogLine, LogTail
from bot.web.dashboard.frame import View, empty
from bot.web.dashboard.panels.blocks import heading, is_owner

EVERY: Final = 1.0
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")


class LogLines(ui.element, component="static/log_lines.js"):
    """Shows lines in the browser, the newest `MAX_LINES`."""

    def __init__(self) -> None:
        super().__init__()
        self._props["most"] = MAX_LINES

    def replace(self, lines: list[LogLine]) -> None:
        """Show these and no others."""
        self.run_method("show", msgspec.to_builtins(lines))

    def add(self, lines: list[LogLine]) -> None:
        """Show these behind the others."""
        self.run_method("add", msgspec.to_builtins(lines))


class Watching:
    """What one page sees of the log.

    Attributes:
        level, text: Which lines are wanted.
        is_following: Whether new ones are shown by themselves.
    """

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail
        self._seen = 0
        self.level = "INFO"
        self.text = ""
        self.is_following = True

    async def all(self) -> list[LogLine]:
        """Every line that is wanted."""
        return await self._read(0)

    async def new(self) -> list[LogLine]:
        """Those that have come since the last look; none while nobody follows."""
        return await self._read(self._seen) if self.is_following else []

    async def _read(self, after: int) -> list[LogLine]:
        newest, lines = await asyncio.to_thread(
            self._tail.read, after=after, level=self.level, text=self.text
        )
        self._seen = max(self._seen, newest)
        return lines


class LogsPanel:
    """Fulfils `Panel`."""

    name = "logs"
    title = "logs_title"
    icon = "receipt_long"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        with ui.element("div").classes("sb-panel sb-panel-full"):
            heading(view, self.title, "logs_hint", refresh=None)
            if is_owner(view):
                _draw(view, Watching(view.parts.workings.logs))


def _draw(view: View, watching: Watching) -> None:
    tr = view.tr

    async def show_all() -> None:
        found = await watching.all()
        lines.replace(found)
        nothing.set_visibility(not found)

    async def show_new() -> None:
        if not await view.badge.holds():
            view.sign_out()
        elif found := await watching.new():
            lines.add(found)
            nothing.set_visibility(False)

    async def set_level(level: str) -> None:
        watching.level = level
        await show_all()

    async def set_text(text: str) -> None:
        watching.text = text.strip()
        await show_all()

    async def follow(is_wanted: bool) -> None:
        watching.is_following = is_wanted
        if is_wanted:
            await show_all()

    with ui.element("div").classes("sb-row"):
        level = ui.select(list(LEVELS), value=watching.level).classes("sb-select")
        level.props(f'outlined dense options-dense aria-label="{tr("logs_level")}"')
        level.on_value_change(lambda event: set_level(event.value))
        text = ui.input(placeholder=tr("logs_search")).classes("sb-grow sb-input")
        text.props(f'outlined dense clearable debounce=300 aria-label="{tr("logs_search")}"')
        text.on_value_change(lambda event: set_text(event.value or ""))
        ui.switch(tr("logs_follow"), value=True, on_change=lambda event: follow(event.value))
    lines = LogLines()
    nothing = empty(tr("logs_none"), "receipt_long")
    nothing.set_visibility(False)
    ui.timer(0.05, show_all, once=True)  # once the browser is there: the lines go to what it has drawn
    ui.timer(EVERY, show_new, immediate=False)
