"""The list of conversations, with its filters and its search."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace
from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from bot.inbox.base import Counts, Filter, Place, State
from bot.messages import SessionKey
from bot.web.dashboard.frame import View, icon_button
from bot.web.dashboard.rows import hit_row, row_of, sent

PAGE: Final = 40  # conversations that are read at once
MOST_HITS: Final = 20
LEAST_WORD: Final = 2  # characters of a search for messages
DEBOUNCE: Final = 250  # milliseconds
CHANNELS: Final = ("telegram", "discord", "slack", "feishu", "web", "terminal", "api")
TABS: Final[tuple[str, ...]] = ("all", "unread", "waiting", "mine", "taken", "handled", "muted")
STATES: Final[dict[str, tuple[State, ...]]] = {
    "waiting": ("waiting",),
    "handled": ("handled",),
    "muted": ("muted",),
}

Pick = Callable[[SessionKey], Awaitable[None]]
Visit = Callable[[SessionKey, SessionKey, int], Awaitable[None]]


class Rows(ui.element, component="static/conversations.js"):
    """The rows as the browser draws them."""


class ConversationList:
    """The left column.

    Args:
        pick: Opens a conversation.
        visit: Opens one, in a session, at a line.
        press: Does what a key stands for.
    """

    def __init__(
        self, view: View, here: str, *, pick: Pick, visit: Visit, press: Callable[[str], Awaitable[None]]
    ) -> None:
        self._view = view
        self._here = here
        self._pick = pick
        self._visit = visit
        self._press = press
        self._tab = "all"
        self._wanted = Filter()
        self._tabs: dict[str, ui.element] = {}
        self._counts: dict[str, ui.element] = {}

    async def build(self, *, beside_search: Callable[[], None]) -> None:
        """Draw it.

        Args:
            beside_search: Draws what stands beside the field.
        """
        tr = self._view.tr
        with ui.element("section").classes("ib-list").props(f'aria-label="{tr("list_title")}"'):
            with ui.element("div").classes("ib-list-top"):
                field = ui.input(placeholder=tr("list_search"), on_change=self._search)
                field.classes("ib-search sb-field")
                field.props(f"outlined dense clearable debounce={DEBOUNCE} maxlength=200")
                field.props["aria-label"] = tr("list_search")
                with field.add_slot("prepend"):
                    ui.icon("search")
                self._narrowing()
                beside_search()
            with ui.element("div").classes("ib-tabs").props("role=tablist"):
                for tab in TABS:
                    self._draw_tab(tab)
            self._rows = Rows()
            self._rows.props["words"] = tr.some("list_", "state_")
            self._rows.props["here"] = self._here
            self._rows.on("pick", self._picked)
            self._rows.on("hit", self._hit)
            self._rows.on("more", self._more)
            self._rows.on("key", self._key)

    def _draw_tab(self, tab: str) -> None:
        made = ui.element("button").classes("ib-tab").props(f'type=button role=tab data-tab="{tab}"')
        made.on("click", lambda: self._choose_tab(tab))
        made.props["aria-selected"] = str(tab == self._tab).lower()
        with made:
            ui.label(self._view.tr(f"tab_{tab}"))
            self._counts[tab] = ui.element("span").classes("ib-count")
        self._tabs[tab] = made

    def _narrowing(self) -> None:
        tr = self._view.tr
        with (
            icon_button("tune", tr("list_filter")),
            ui.menu() as menu,
            ui.element("div").classes("ib-filter"),
        ):
            channels = ui.select(
                list(CHANNELS), multiple=True, label=tr("filter_channels"), on_change=self._narrow_channels
            )
            labels = ui.select([], multiple=True, label=tr("filter_labels"), on_change=self._narrow_labels)
            kinds = {"": tr("filter_any"), "direct": tr("filter_direct"), "group": tr("filter_group")}
            kind = ui.select(kinds, value="", label=tr("filter_kind"), on_change=self._narrow_kind)
            for field in (channels, labels, kind):
                field.props("outlined dense options-dense").classes("sb-field")

        async def fill() -> None:
            labels.set_options(await self._view.act(self._view.parts.desk.book.labels) or [])

        menu.on("before-show", fill)

    # --- shown

    async def refresh(self, *, is_fresh: bool = False) -> None:
        """Bring the newest page up to date.

        Args:
            is_fresh: Another filter: nothing of what is shown stays.
        """
        desk, wanted = self._view.parts.desk, self._wanted
        found = await desk.conversations(wanted, limit=PAGE)
        if wanted is not self._wanted:  # another filter was chosen meanwhile, and shows its own
            return
        rows = [sent(row_of(one)) for one in found]
        self._rows.run_method("show", rows, len(found) == PAGE, is_fresh)
        self._show_counts(await desk.book.counts())

    def choose(self, chat: SessionKey) -> None:
        """Show which conversation is open."""
        self._rows.run_method("choose", chat)

    def _show_counts(self, counts: Counts) -> None:
        shown = {"unread": counts.unread, "waiting": counts.states.get("waiting", 0), "taken": counts.taken}
        for tab, number in shown.items():
            text = "" if not number else "99+" if number > 99 else str(number)
            self._counts[tab].props["innerText"] = text
            self._counts[tab].update()

    # --- what the browser asks for

    async def _picked(self, event: GenericEventArguments) -> None:
        await self._pick(SessionKey(str(event.args)))

    async def _hit(self, event: GenericEventArguments) -> None:
        hit = event.args
        await self._visit(SessionKey(str(hit["chat"])), SessionKey(str(hit["session"])), int(hit["number"]))

    async def _key(self, event: GenericEventArguments) -> None:
        await self._press(str(event.args))

    async def _more(self, event: GenericEventArguments) -> None:
        place = Place(updated_at=float(event.args["at"]), chat=SessionKey(str(event.args["chat"])))
        desk, wanted = self._view.parts.desk, self._wanted
        found = await self._view.act(lambda: desk.conversations(wanted, after=place, limit=PAGE)) or []
        if wanted is not self._wanted:
            return
        self._rows.run_method("add", [sent(row_of(one)) for one in found], len(found) == PAGE)

    async def _search(self, event: ValueChangeEventArguments[str | None]) -> None:
        text = (event.value or "").strip()[:200]
        await self._want(replace(self._wanted, text=text))
        words = [word for word in text.split() if len(word) >= LEAST_WORD or not word.isascii()]
        book = self._view.parts.desk.book
        hits = await self._view.act(lambda: book.search(words, MOST_HITS)) if words else []
        if text == self._wanted.text:
            self._rows.run_method("find", [sent(hit_row(hit)) for hit in hits or []])

    async def _choose_tab(self, tab: str) -> None:
        self._tab = tab
        for name, made in self._tabs.items():
            made.props["aria-selected"] = str(name == tab).lower()
            made.update()
        await self._want(
            replace(
                self._wanted,
                states=STATES.get(tab, ()),
                is_unread=tab == "unread",
                is_taken=tab == "taken",
                assignee=self._view.operator.name if tab == "mine" else None,
            )
        )

    async def _narrow_channels(self, event: ValueChangeEventArguments[list[str] | None]) -> None:
        await self._want(replace(self._wanted, channels=tuple(event.value or ())))

    async def _narrow_labels(self, event: ValueChangeEventArguments[list[str] | None]) -> None:
        await self._want(replace(self._wanted, labels=tuple(event.value or ())))

    async def _narrow_kind(self, event: ValueChangeEventArguments[str]) -> None:
        is_direct = {"direct": True, "group": False}.get(event.value)
        await self._want(replace(self._wanted, is_direct=is_direct))

    async def _want(self, wanted: Filter) -> None:
        self._wanted = wanted
        await self._view.act(lambda: self.refresh(is_fresh=True))
