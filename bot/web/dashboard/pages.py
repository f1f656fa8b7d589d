"""Which pages there are; each finds its bot in the scope of its request."""

from pathlib import Path
from typing import Final

from nicegui import app, ui
from starlette.requests import Request

from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import Panel, View, page_frame
from bot.web.dashboard.inbox import InboxPage
from bot.web.dashboard.live import Live
from bot.web.dashboard.look import current_look
from bot.web.dashboard.operator import Badge
from bot.web.dashboard.registry import PANELS
from bot.web.dashboard.texts import Texts

PARTS: Final = "switchboard.parts"
LIVE: Final = "switchboard.live"
STATIC: Final = Path(__file__).parent / "static"
BUILD_SECONDS: Final = 20.0


class Page(ui.page):
    """A page in the language and the theme of who asks for it."""

    def resolve_language(self) -> str | None:  # type: ignore[override]  # narrower than their list of tags
        """See `ui.page`."""
        return current_look.get().tag

    def resolve_dark(self) -> bool | None:
        """See `ui.page`."""
        return current_look.get().is_dark


def register() -> None:
    """Make the pages known to NiceGUI, which has one list of them in a process."""
    app.add_static_files("/files", STATIC, max_cache_age=0)
    Page("/", response_timeout=BUILD_SECONDS)(_show_inbox)
    for panel in PANELS:
        Page(f"/{panel.name}", response_timeout=BUILD_SECONDS)(_shows(panel))


async def _show_inbox(request: Request) -> None:
    view = _view(request)
    ui.page_title(f"{view.tr('nav_inbox')} · {view.parts.name}")
    with page_frame(view, PANELS, here="inbox"):
        await InboxPage(view, request.query_params.get("chat", "")).build()


def _shows(panel: Panel):  # type: ignore[no-untyped-def]  # NiceGUI reads the signature
    async def show(request: Request) -> None:
        view = _view(request)
        ui.page_title(f"{view.tr(panel.title)} · {view.parts.name}")
        with page_frame(view, PANELS, here=panel.name):
            await panel.build(view)

    return show


def _view(request: Request) -> View:
    parts: Parts = request.scope[PARTS]
    live: Live = request.scope[LIVE]
    look = current_look.get()
    return View(parts, live, Badge(request, parts.api.keys), Texts(look.language), look, ui.context.client)
