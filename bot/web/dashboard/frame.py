"""The frame around every page: navigation, theme, language, and what a page is given to work with."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

import msgspec
from nicegui import Client, ui

from bot.errors import BotError, StoreError
from bot.inbox.base import Operator
from bot.messages import new_id
from bot.web.dashboard.base import LOOK_COOKIE, Parts
from bot.web.dashboard.live import Live
from bot.web.dashboard.look import THEMES, Look
from bot.web.dashboard.naming import ask_name
from bot.web.dashboard.operator import Badge
from bot.web.dashboard.texts import LANGUAGES, Texts
from bot.web.paths import PREFIX

log = logging.getLogger(__name__)

STYLES: Final = ("frame.css", "inbox.css", "panels.css")
YEAR: Final = 365 * 24 * 3600  # seconds that a look is remembered
Given = TypeVar("Given")


class Panel(Protocol):
    """A page beside the inbox.

    Attributes:
        name: Its path under `/inbox/`.
        title: The name of its text.
        icon: The name of a Material icon.
    """

    name: str
    title: str
    icon: str

    async def build(self, view: "View") -> None:
        """Draw it, inside the frame; called once for each page that is opened."""


class View(msgspec.Struct, frozen=True):
    """What a page works with.

    Attributes:
        tr: The texts of its reader.
        live: What happens meanwhile.
    """

    parts: Parts
    live: Live
    badge: Badge
    tr: Texts
    look: Look
    client: Client

    @property
    def operator(self) -> Operator:
        """Who sits before it."""
        return self.badge.operator

    async def act(self, doing: Callable[[], Awaitable[Given]], *, done: str = "") -> Given | None:
        """Do something; what goes wrong is said on the page, and gives `None`.

        Args:
            doing: Called only if the operator may still act.
            done: What to say when it is done, as it is shown.
        """
        with self.client:  # what was pressed may be drawn anew meanwhile, and is no place for a notice
            try:
                if not await self.badge.holds():
                    self.sign_out()
                    return None
                value = await doing()
            except StoreError:
                log.exception("operator's act failed")
                self.complain(self.tr("store_silent"))
            except BotError as error:
                self.complain(str(error))
            except ValueError as error:
                self.complain(self.tr("failed", cause=error))
            except Exception:  # one act of one page: the others go on
                reference = new_id()[-8:]
                log.exception("operator's act failed", extra={"reference": reference})
                self.complain(self.tr("broken", reference=reference))
            else:
                if done:
                    ui.notify(done, type="positive", position="top", timeout=2_000)
                return value
        return None

    def complain(self, text: str) -> None:
        """Say what went wrong."""
        ui.notify(text, type="negative", position="top", timeout=6_000, multi_line=True)

    def sign_out(self) -> None:
        """Leave: the key was revoked."""
        ui.notify(self.tr("signed_out"), type="warning", position="top")
        ui.run_javascript("setTimeout(() => location.assign('/login?to=/inbox/'), 1200)")

    @contextmanager
    def dialog(self, title: str = "", *, is_wide: bool = False) -> Iterator[ui.dialog]:
        """A dialog to draw in; it belongs to the page, whatever becomes of the button that opens it."""
        wide = " sb-dialog-wide" if is_wide else ""
        with self.client, ui.dialog() as dialog, ui.card().classes(f"sb-dialog{wide}"):
            if title:
                ui.label(title).classes("sb-dialog-title")
            yield dialog

    async def confirm(self, text: str, yes: str, *, is_bad: bool = True) -> bool:
        """Ask before something that can't be taken back.

        Args:
            yes: What the button says that does it.
        """
        with self.dialog() as dialog:
            ui.label(text).classes("sb-dialog-text")
            with ui.row().classes("sb-dialog-buttons"):
                button(self.tr("cancel"), lambda: dialog.submit(False))
                button(yes, lambda: dialog.submit(True), kind="bad" if is_bad else "main")
        return bool(await answer_of(dialog))


async def answer_of(dialog: ui.dialog) -> object:
    """Show a dialog, and take it away once it is answered; `None` where it was closed."""
    answer: object = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return answer


def button(
    text: str, on_click: Callable[..., object] | None = None, *, icon: str | None = None, kind: str = "plain"
) -> ui.button:
    """A button in our dress.

    Args:
        kind: `main`, `plain`, `quiet` or `bad`.
    """
    made = ui.button(text, on_click=on_click, icon=icon, color=None)
    return made.props("no-caps unelevated").classes(f"sb-button sb-{kind}-button")


def icon_button(icon: str, tip: str, on_click: Callable[..., object] | None = None) -> ui.button:
    """A small button with an icon; `tip` says what it does, to the eye and to screen readers."""
    made = ui.button(icon=icon, on_click=on_click, color=None).props("flat round dense")
    made.props["aria-label"] = tip
    made.classes("sb-icon-button").tooltip(tip)
    return made


def chip(text: str, tone: str = "plain") -> ui.element:
    """A short word with a colour: `plain`, `good`, `warn`, `bad` or `accent`."""
    with ui.element("span").classes(f"sb-chip sb-tone-{tone}") as made:
        ui.element("span").props["innerText"] = text
    return made


def empty(text: str, icon: str = "inbox") -> ui.element:
    """What stands where there is nothing."""
    with ui.element("div").classes("sb-empty") as made:
        ui.icon(icon)
        ui.label(text)
    return made


def moment(at: float | None, style: str = "relative") -> ui.element:
    """A time in the reader's own zone and words.

    Args:
        at: Seconds since 1970; `None` shows a dash.
        style: `relative`, `time` or `full`.
    """
    return Moment(at, style)


class Moment(ui.element, component="static/moment.js"):
    """See `moment`."""

    def __init__(self, at: float | None, style: str) -> None:
        super().__init__()
        self._props["at"] = at
        self._props["look"] = style


def page_frame(view: View, panels: Sequence[Panel], *, here: str) -> ui.element:
    """Draw what is around a page; the page itself is drawn inside what this gives.

    Args:
        here: The name of the page that is open.
    """
    head(view)
    with ui.element("div").classes("sb-frame"):
        with ui.element("nav").classes("sb-rail").props(f'aria-label="{view.tr("nav_menu")}"'):
            _brand(view)
            _place(view, "", "nav_inbox", "forum", is_here=here == "inbox")
            for panel in panels:
                _place(view, panel.name, panel.title, panel.icon, is_here=here == panel.name)
            ui.element("div").classes("sb-space")
            with ui.element("div").classes("sb-choices"):
                _choices(view)
        return ui.element("main").classes(f"sb-main sb-page-{here}")


def head(view: View) -> None:
    """Styles of the page; they are files of ours, and change with the version of the bot only."""
    for name in STYLES:
        ui.add_head_html(f'<link rel="stylesheet" href="{PREFIX}/files/{name}">')
    if not view.badge.is_named:
        ask_name(view.tr)


def _brand(view: View) -> None:
    with ui.element("div").classes("sb-brand"):
        ui.element("span").classes("sb-brand-mark").props["innerText"] = view.parts.name[:1].upper() or "S"
        ui.label(view.parts.name).classes("sb-brand-name")


def _place(view: View, path: str, title: str, icon: str, *, is_here: bool) -> None:
    text = view.tr(title)
    link = ui.element("a").classes("sb-place" + (" sb-here" if is_here else ""))
    link.props["href"] = f"{PREFIX}/{path}"
    link.props["title"] = text
    if is_here:
        link.props["aria-current"] = "page"
    with link:
        ui.icon(icon)
        ui.label(text)


def _choices(view: View) -> None:
    tr = view.tr
    with icon_button("palette", tr("theme")), ui.menu().classes("sb-menu"):
        for theme in THEMES:
            ui.menu_item(tr(f"theme_{theme}"), lambda theme=theme: _choose(view.look.language, theme))
    with icon_button("translate", tr("language")), ui.menu().classes("sb-menu"):
        for language in LANGUAGES:
            ui.menu_item(
                tr(f"language_{language}"), lambda language=language: _choose(language, view.look.theme)
            )
    with icon_button("account_circle", tr("you_are", name=view.operator.name)), ui.menu().classes("sb-menu"):
        ui.label(tr("you_are", name=view.operator.name)).classes("sb-menu-text")
        if not view.badge.has_own_key:
            ui.menu_item(tr("rename"), lambda: ask_name(tr, view.operator.name))


def _choose(language: str, theme: str) -> None:
    """Remember a look in the browser, and show the page in it."""
    cookie = f"{LOOK_COOKIE}={language}.{theme}; path={PREFIX}; max-age={YEAR}; samesite=strict"
    ui.run_javascript(f"document.cookie = '{cookie}'; location.reload()")
