"""Asks who came in by the page's token for a name, once in a browser's session."""

from urllib.parse import quote

from nicegui import ui

from bot.inbox.base import MAX_NAME
from bot.web.dashboard.base import NAME_COOKIE
from bot.web.dashboard.operator import clean_name
from bot.web.dashboard.texts import Texts
from bot.web.paths import PREFIX


def ask_name(tr: Texts, now: str = "") -> None:
    """Ask, and open the page again under the name.

    Args:
        now: The name so far; who has none yet must give one.
    """
    with ui.dialog(value=True) as dialog, ui.card().classes("sb-dialog"):
        ui.label(tr("name_title")).classes("sb-dialog-title")
        ui.label(tr("name_hint")).classes("sb-dialog-text")
        field = ui.input(tr("name_label"), value=now).props(f"outlined dense maxlength={MAX_NAME} autofocus")
        field.classes("sb-field")
        wrong = ui.label(tr("name_bad", most=MAX_NAME)).classes("sb-wrong")
        wrong.set_visibility(False)

        def take() -> None:
            name = clean_name(field.value)
            wrong.set_visibility(not name)
            if name:
                cookie = f"{NAME_COOKIE}={quote(name, safe='')}; path={PREFIX}; samesite=strict"
                ui.run_javascript(f"document.cookie = '{cookie}'; location.reload()")

        field.on("keydown.enter", take)
        ui.button(tr("start"), on_click=take, color=None).props("no-caps unelevated").classes(
            "sb-button sb-main-button"
        )
    if not now:
        dialog.props("persistent")
