"""What the panels are built of: parts that load and draw themselves, lists with more behind them, lines."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from nicegui import ui

from bot.agent.audit import AuditEvent, Value
from bot.errors import BotError
from bot.inbox.base import Operator
from bot.messages import Role
from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import View, button, empty, icon_button

log = logging.getLogger(__name__)

LOAD_SECONDS: Final = 60.0
PAGE: Final = 50  # lines of a list, until somebody wants more
MOST: Final = 1_000

Data = TypeVar("Data")
Item = TypeVar("Item")


class Section(Generic[Data]):
    """A part of a panel that loads what it shows, and draws it anew where that has changed.

    Args:
        load: Gets the data; what goes wrong is told in place of them.
        draw: Called inside of an empty box.
        every: Seconds between two looks by itself.

    Attributes:
        box: Stays when the section is drawn anew; what must outlive that (a dialog) is made inside.
    """

    def __init__(
        self,
        view: View,
        load: Callable[[], Awaitable[Data]],
        draw: Callable[[Data], None],
        *,
        every: float | None = None,
    ) -> None:
        self._view = view
        self._load = load
        self._draw = draw
        self._shown: Data | None = None
        self._fault: str | None = None
        self._one_at_a_time = asyncio.Lock()
        self.box = ui.element("div").classes("sb-section")
        with self.box:
            self._body = ui.element("div").classes("sb-section")
            if every is not None:
                ui.timer(every, self.show, immediate=False)

    async def show(self) -> None:
        """Bring it up to date; who may not look any more is signed out."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(LOAD_SECONDS):
                    if not await self._view.badge.holds():
                        self._view.sign_out()
                        return
                    data = await self._load()
            except (BotError, TimeoutError) as error:
                self._complain(str(error))
                return
            if self._fault is None and self._shown is not None and data == self._shown:
                return
            self._shown, self._fault = data, None
            self._body.clear()
            with self._body:
                self._draw(data)

    async def act(
        self,
        doing: Callable[[], Awaitable[object]],
        *,
        question: str = "",
        yes: str = "",
        done: str | None = None,
    ) -> None:
        """Do something and show what has become of it.

        Args:
            question: Asked first, where it can't be taken back; `yes` is the button that does it.
            done: Said then, as it is shown.
        """
        with self.box:
            if question and not await self._view.confirm(question, yes):
                return
            await self._view.act(doing, done=self._view.tr("done") if done is None else done)
        self._view.live.touch()
        await self.show()

    def _complain(self, cause: str) -> None:
        if cause == self._fault:  # it is told already
            return
        log.warning("panel not loaded", extra={"cause": cause})
        tr, self._fault = self._view.tr, cause
        self._body.clear()
        with self._body, ui.element("div").classes("sb-card sb-fault").props('role="alert"'):
            ui.label(tr("panel_not_loaded")).classes("sb-card-title")
            if cause:
                ui.label(cause).classes("sb-quiet")
            with ui.row():
                button(tr("refresh"), self.show, icon="refresh")


class Listing(Generic[Item]):
    """A list that shows a page, and more when asked.

    Args:
        load: Gets so many at most, those that come first.
        draw: Draws one.
        nothing: What is said where there is none, beside an icon.
    """

    def __init__(
        self,
        view: View,
        load: Callable[[int], Awaitable[Sequence[Item]]],
        draw: Callable[[Item], None],
        *,
        nothing: str,
        icon: str = "inbox",
        every: float | None = None,
    ) -> None:
        self._view = view
        self._ask = load
        self._draw_one = draw
        self._empty = (nothing, icon)
        self._limit = PAGE
        self.section = Section(view, self._load, self._draw, every=every)

    async def show(self) -> None:
        """Bring it up to date."""
        await self.section.show()

    async def _load(self) -> Sequence[Item]:
        return await self._ask(self._limit + 1)

    def _draw(self, items: Sequence[Item]) -> None:
        if not items:
            empty(*self._empty)
            return
        with ui.element("div").classes("sb-card sb-lines"):
            for item in items[: self._limit]:
                self._draw_one(item)
        if len(items) > self._limit and self._limit < MOST:
            button(self._view.tr("more"), self._more, kind="quiet").classes("sb-more")

    async def _more(self) -> None:
        self._limit = min(MOST, self._limit + PAGE)
        await self.show()


def heading(view: View, title: str, hint: str, *, refresh: Callable[[], Awaitable[None]] | None) -> None:
    """The head of a panel; `title` and `hint` name texts."""
    with ui.element("header").classes("sb-head"):
        with ui.element("div").classes("sb-grow"):
            ui.label(view.tr(title)).classes("sb-title").props('role="heading" aria-level="1"')
            ui.label(view.tr(hint)).classes("sb-note")
        if refresh is not None:
            icon_button("refresh", view.tr("refresh"), refresh)


def subheading(text: str) -> None:
    """The head of a part of a panel."""
    ui.label(text).classes("sb-subtitle").props('role="heading" aria-level="2"')


def line() -> tuple[ui.element, ui.element]:
    """A line of a list: where its text goes, and beside it (below, on a phone) what can be done."""
    with ui.element("div").classes("sb-item"):
        text = ui.element("div").classes("sb-item-text")
        side = ui.element("div").classes("sb-item-side")
    return text, side


def words(text: str, *classes: str) -> ui.label:
    """A piece of text in a row."""
    return ui.label(text).classes(" ".join(classes))


def is_owner(view: View) -> bool:
    """Whether the operator steers the bot as a whole; who does not is told so in place of the panel."""
    if view.operator.role is Role.OWNER:
        return True
    empty(view.tr("panel_owners_only"), "lock")
    return False


async def note(
    parts: Parts, by: Operator, action: str, target: str, *, context: Sequence[tuple[str, Value]] = ()
) -> None:
    """Write into the audit log that an operator has steered the bot."""
    event = AuditEvent(
        severity="warning",
        actor=by.actor,
        action=action,
        target=target,
        status="done",
        context=(("operator", by.name), *context),
    )
    await parts.api.audit.record(event)
