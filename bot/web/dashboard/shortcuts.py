"""The keys of the inbox."""

from typing import Final

from nicegui import ui

from bot.web.dashboard.frame import View

KEYS: Final[tuple[tuple[str, str], ...]] = (
    ("j  k", "key_walk"),
    ("/", "key_search"),
    ("r", "key_reply"),
    ("Ctrl ⏎", "key_send"),
    ("e", "key_handled"),
    ("u", "key_unread"),
    ("?", "key_help"),
)


def show_shortcuts(view: View) -> None:
    """Show which there are."""
    tr = view.tr
    with view.dialog(tr("key_title")) as dialog, ui.element("dl").classes("ib-keylist"):
        for keys, name in KEYS:
            with ui.element("dt"):
                for key in keys.split("  "):
                    ui.element("kbd").classes("ib-keys").props["innerText"] = key
            with ui.element("dd"):
                ui.label(tr(name))
    dialog.on("hide", dialog.delete)
    dialog.open()
