"""A message to many chats: written, looked at, sent, and stopped."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.inbox.base import Broadcast, Preview
from bot.web.dashboard.conversations import CHANNELS
from bot.web.dashboard.frame import View, button, chip, empty

MOST_TEXT: Final = 4_000  # characters
LOOK_SECONDS: Final = 1.0  # between two looks at how it gets on
MOST_RATE: Final = 600  # messages a minute


class _Form:
    """The dialog and what is in it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._desk = view.parts.desk
        self._shown: Sequence[Broadcast] = ()

    def build(self) -> None:
        tr = self._view.tr
        with self._view.dialog(tr("cast_title"), is_wide=True) as self._dialog:
            ui.label(tr("cast_hint")).classes("sb-note")
            self._text = ui.textarea(tr("cast_text")).props(f"outlined autogrow maxlength={MOST_TEXT}")
            self._text.classes("sb-field")
            with ui.row().classes("sb-row sb-field"):
                self._channels = ui.select(list(CHANNELS), multiple=True, label=tr("cast_channels"))
                self._channels.props("outlined dense options-dense use-chips").classes("sb-grow")
                self._rate = ui.number(tr("cast_rate"), value=60, min=1, max=MOST_RATE, precision=0)
                self._rate.props("outlined dense")
            self._preview = ui.element("div").classes("ib-preview")
            self._progress = ui.element("div").classes("ib-progress-list")
            with ui.row().classes("sb-dialog-buttons"):
                button(tr("close"), self._dialog.close)
                button(tr("cast_preview"), self._look, kind="main")
            self._timer = ui.timer(LOOK_SECONDS, self._show_progress)
        self._dialog.on("hide", self._end)
        self._dialog.open()

    def _end(self) -> None:
        self._timer.cancel()
        self._dialog.delete()

    async def _look(self) -> None:
        text, channels = str(self._text.value or "").strip(), tuple(self._channels.value or ())
        rate = int(self._rate.value or 60)
        by = self._view.operator
        preview = await self._view.act(
            lambda: self._desk.preview(text, by, channels=channels, per_minute=rate)
        )
        if preview is not None:
            self._show_preview(preview)

    def _show_preview(self, preview: Preview) -> None:
        tr = self._view.tr
        total = sum(preview.chats.values())
        self._preview.clear()
        with self._preview:
            if not total:
                empty(tr("cast_nobody"), "group_off")
                return
            ui.label(preview.text).classes("ib-preview-text")
            with ui.row().classes("sb-row"):
                for channel, number in sorted(preview.chats.items()):
                    chip(f"{channel} {number}")
                ui.label(tr("cast_seconds", seconds=round(preview.seconds))).classes("sb-quiet")
            button(tr("cast_send", count=total), lambda: self._send(preview), icon="send", kind="main")

    async def _send(self, preview: Preview) -> None:
        by = self._view.operator
        if await self._view.act(lambda: self._desk.broadcast(preview.ticket, by)) is not None:
            self._preview.clear()
            self._text.set_value("")
            self._show_progress()

    def _show_progress(self) -> None:
        found = tuple(self._desk.broadcasts())
        if found == self._shown:  # a button that is drawn anew can't be pressed
            return
        self._shown = found
        self._progress.clear()
        with self._progress:
            for one in found:
                self._draw(one)

    def _draw(self, one: Broadcast) -> None:
        tr = self._view.tr
        state = "cast_stopped" if one.is_stopped else "cast_over" if one.is_over else "cast_going"
        with ui.element("div").classes("ib-progress"):
            ui.linear_progress(one.sent / max(one.total, 1), show_value=False).props("rounded")
            with ui.row().classes("sb-row"):
                ui.label(tr(state, sent=one.sent, total=one.total)).classes("sb-quiet sb-grow")
                if not one.is_over:
                    button(tr("cast_stop"), lambda: self._stop(one.ticket), kind="bad")

    async def _stop(self, ticket: str) -> None:
        await self._view.act(lambda: self._desk.stop_broadcast(ticket, self._view.operator))
        self._show_progress()


def broadcast_dialog(view: View) -> None:
    """Open it."""
    _Form(view).build()
