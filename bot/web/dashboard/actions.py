"""What an operator does with the open conversation: the bar above it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from nicegui import ui

from bot.inbox.base import MAX_LABEL, Conversation, Filter, State
from bot.messages import SessionKey
from bot.web.dashboard.frame import View, answer_of, button, chip, icon_button
from bot.web.dashboard.rows import name_of

MOST_TARGETS: Final = 100  # conversations that answers can be moved to, in the dialog
STATE_ICONS: Final[tuple[tuple[State, str], ...]] = (
    ("waiting", "schedule"),
    ("muted", "notifications_off"),
    ("open", "inbox"),
)
Doing = Callable[[], Awaitable[object]]


class ActionBar:
    """The bar above a conversation; drawn anew when what it shows has changed.

    Args:
        back: Goes back to the list, where there is room for one column only.
        aside: Shows or hides what stands beside the transcript.
    """

    def __init__(self, view: View, *, back: Callable[[], None], aside: Callable[[], None]) -> None:
        self._view = view
        self._desk = view.parts.desk
        self._back = back
        self._aside = aside
        self._shown: object = None

    def build(self) -> None:
        """Draw what stays; a menu that were drawn anew would close under the hand that has opened it."""
        tr = self._view.tr
        with ui.element("header").classes("ib-bar"):
            icon_button("arrow_back", tr("bar_back"), self._back).classes("ib-back")
            self._title = ui.element("div").classes("ib-title")
            with ui.element("div").classes("ib-actions"):
                self._acts = ui.element("div").classes("ib-acts")
                icon_button("info", tr("bar_aside"), self._aside)
                with icon_button("more_vert", tr("more")):
                    self._menu = ui.menu().classes("sb-menu")

    def show(self, conversation: Conversation) -> None:
        """Show a conversation's name, its state, and what can be done."""
        one = conversation
        shown = (
            one.chat,
            name_of(one),
            one.state,
            one.assignee,
            one.labels,
            one.taken_by,
            one.docked_to,
            one.running,
        )
        if shown == self._shown:
            return
        self._shown = shown
        for place, draw in (
            (self._title, self._draw_title),
            (self._acts, self._draw_acts),
            (self._menu, self._draw_menu),
        ):
            place.clear()
            with place:
                draw(one)

    def _draw_title(self, one: Conversation) -> None:
        ui.label(name_of(one)).classes("ib-name")
        with ui.element("div").classes("ib-under"):
            ui.label(one.chat).classes("ib-key")
            self._draw_chips(one)

    def _draw_acts(self, one: Conversation) -> None:
        if one.running is not None:
            self._button("act_stop", "stop", lambda: self._stop(one), kind="bad")
        if one.taken_by is None:
            self._button("act_take", "front_hand", lambda: self._take(one), kind="main")
        else:
            self._button("act_release", "smart_toy", lambda: self._release(one), kind="main")
        if one.state == "handled":
            self._button("act_open", "undo", lambda: self.mark(one, "open"))
        else:
            self._button("act_handled", "done", lambda: self.mark(one, "handled"))

    def _draw_chips(self, one: Conversation) -> None:
        tr = self._view.tr
        if one.taken_by is not None:
            chip(tr("bar_taken", name=one.taken_by), "accent")
        if one.state != "open":
            chip(tr(f"state_{one.state}"), {"waiting": "warn", "handled": "good"}.get(one.state, "plain"))
        if one.assignee is not None:
            chip(tr("bar_assignee", name=one.assignee))
        if one.docked_to is not None:
            chip(tr("bar_docked", chat=one.docked_to.session()), "warn")
        for label in one.labels:
            chip(label)

    def _draw_menu(self, one: Conversation) -> None:
        mine = self._view.operator.name
        if one.assignee == mine:
            self._item("act_unassign", "person_remove", lambda: self._assign(one, None))
        else:
            self._item("act_assign", "person_add", lambda: self._assign(one, mine))
        self._item("act_assign_other", "group_add", lambda: self._assign_other(one))
        self._item("act_label", "label", lambda: self._label(one))
        self._item("act_unread", "mark_email_unread", lambda: self.mark_unread(one))
        for state, icon in STATE_ICONS:
            if one.state != state:
                self._item(f"act_{state}", icon, partial(self.mark, one, state))
        ui.separator()
        self._item("act_retry", "replay", lambda: self._retry(one))
        if one.docked_to is None:
            self._item("act_dock", "shortcut", lambda: self._dock(one))
        else:
            self._item("act_undock", "keyboard_return", lambda: self._undock(one))
        ui.separator()
        self._item("act_block", "block", lambda: self._block(one, is_blocked=True))
        self._item("act_unblock", "lock_open", lambda: self._block(one, is_blocked=False))

    def _button(self, name: str, icon: str, doing: Doing, *, kind: str = "plain") -> None:
        made = button(self._view.tr(name), doing, icon=icon, kind=kind)
        made.props["data-act"] = name
        made.props["aria-label"] = self._view.tr(name)
        made.tooltip(self._view.tr(name))

    def _item(self, name: str, icon: str, doing: Doing) -> None:
        with ui.menu_item(on_click=doing) as item:
            item.props["data-act"] = name
            ui.icon(icon).classes("ib-item-icon")
            ui.label(self._view.tr(name))

    # --- the acts

    async def _do(self, doing: Doing, done: str) -> None:
        await self._view.act(doing, done=self._view.tr(done))

    async def _take(self, one: Conversation) -> None:
        await self._do(lambda: self._desk.take_over(one.chat, self._view.operator), "done_take")

    async def _release(self, one: Conversation) -> None:
        await self._do(lambda: self._desk.hand_back(one.chat, self._view.operator), "done_release")

    async def _stop(self, one: Conversation) -> None:
        await self._do(lambda: self._desk.stop(one.chat, self._view.operator), "done_stop")

    async def _retry(self, one: Conversation) -> None:
        await self._do(lambda: self._desk.retry(one.chat, self._view.operator), "done_retry")

    async def mark(self, one: Conversation, state: State) -> None:
        """Put it into a state."""
        await self._do(lambda: self._desk.mark(one.chat, state, self._view.operator), f"done_{state}")

    async def mark_unread(self, one: Conversation) -> None:
        """Let it look as if nobody had seen it."""
        await self._do(lambda: self._desk.mark_read(one.chat, 0), "done_unread")

    async def _assign(self, one: Conversation, name: str | None) -> None:
        done = "done_assign" if name else "done_unassign"
        await self._do(lambda: self._desk.assign(one.chat, name, self._view.operator), done)

    async def _assign_other(self, one: Conversation) -> None:
        name = await self._ask_text("act_assign_other", one.assignee or "")
        if name is not None:
            await self._assign(one, name.strip() or None)

    async def _label(self, one: Conversation) -> None:
        tr = self._view.tr
        known = await self._view.act(self._desk.book.labels) or []
        with self._view.dialog(tr("act_label")) as dialog:
            options = sorted({*known, *one.labels})
            field = ui.select(
                options,
                value=list(one.labels),
                multiple=True,
                new_value_mode="add-unique",
                label=tr("label_hint"),
            )
            field.props(f"outlined dense use-chips maxlength={MAX_LABEL}").classes("sb-field")
            _finish(self._view, lambda: dialog.submit(list(field.value)), lambda: dialog.submit(None))
        labels = await answer_of(dialog)
        if isinstance(labels, list):
            await self._do(lambda: self._desk.label(one.chat, labels, self._view.operator), "done_label")

    async def _dock(self, one: Conversation) -> None:
        tr = self._view.tr
        found = await self._view.act(lambda: self._desk.conversations(Filter(), limit=MOST_TARGETS)) or []
        others = [other for other in found if other.chat != one.chat]
        targets = {other.chat: f"{name_of(other)} · {other.chat}" for other in others}
        with self._view.dialog(tr("act_dock")) as dialog:
            ui.label(tr("dock_hint")).classes("sb-dialog-text")
            field = ui.select(targets, with_input=True, label=tr("dock_target"))
            field.props("outlined dense").classes("sb-field")
            _finish(self._view, lambda: dialog.submit(field.value), lambda: dialog.submit(None))
        target = await answer_of(dialog)
        if isinstance(target, str):
            by = self._view.operator
            await self._do(lambda: self._desk.dock(one.chat, SessionKey(target), by), "done_dock")

    async def _undock(self, one: Conversation) -> None:
        await self._do(lambda: self._desk.dock(one.chat, None, self._view.operator), "done_undock")

    async def _block(self, one: Conversation, *, is_blocked: bool) -> None:
        tr, by = self._view.tr, self._view.operator
        if is_blocked and not await self._view.confirm(tr("block_sure", name=name_of(one)), tr("act_block")):
            return
        done = "done_block" if is_blocked else "done_unblock"
        await self._do(lambda: self._desk.block(one.chat, by, is_blocked=is_blocked), done)

    async def _ask_text(self, title: str, now: str) -> str | None:
        with self._view.dialog(self._view.tr(title)) as dialog:
            field = ui.input(value=now).props("outlined dense autofocus maxlength=60").classes("sb-field")
            field.on("keydown.enter", lambda: dialog.submit(field.value))
            _finish(self._view, lambda: dialog.submit(field.value), lambda: dialog.submit(None))
        text = await answer_of(dialog)
        return text if isinstance(text, str) else None


def _finish(view: View, yes: Callable[[], object], no: Callable[[], object]) -> None:
    with ui.row().classes("sb-dialog-buttons"):
        button(view.tr("cancel"), no)
        button(view.tr("save"), yes, kind="main")
