"""Who is in the open conversation: identities, what is remembered of them, notes, and what it has cost."""

from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui

from bot.agent.estimate import DANGER, WARNING
from bot.agent.prices import say_cost
from bot.inbox.base import MAX_NOTE, Conversation, Filter
from bot.long_term import MAX_TEXT, Memory, Origin, Scope
from bot.messages import SessionKey
from bot.people import Person
from bot.web.dashboard.frame import View, answer_of, button, chip, icon_button, moment
from bot.web.dashboard.gauge import Fullness
from bot.web.dashboard.panels.blocks import note
from bot.web.dashboard.rows import name_of

MOST_MEMORIES: Final = 30
MOST_TALKS: Final = 20


class PersonPanel:
    """The right column.

    Args:
        visit: Opens another conversation.
    """

    def __init__(
        self,
        view: View,
        *,
        visit: Callable[[SessionKey, SessionKey, int | None], Awaitable[None]],
    ) -> None:
        self._view = view
        self._desk = view.parts.desk
        self._visit = visit
        self._chat = SessionKey("")  # whose notes are shown
        self._drawn: object = None  # what the costs were drawn for: measuring takes a prompt

    def build(self) -> None:
        """Draw the places of its parts."""
        with ui.element("aside").classes("ib-aside").props(f'aria-label="{self._view.tr("side_title")}"'):
            self._who = ui.element("section").classes("ib-card")
            self._cost = ui.element("section").classes("ib-card")
            self._build_notes()
            self._memories = ui.element("section").classes("ib-card")
            self._talks = ui.element("section").classes("ib-card")

    async def show(self, one: Conversation) -> None:
        """Show who is in a conversation."""
        person = await self._view.parts.people.find(one.subject) if one.subject else None
        self._draw_who(one, person)
        await self._draw_cost(one)
        await self._show_notes(one)
        await self._draw_memories(_scope_of(one, person))
        await self._draw_talks(one, person)

    async def update(self, one: Conversation, *, is_all: bool) -> None:
        """Bring up to date what changes as a conversation goes on.

        Args:
            is_all: An operator has done something.
        """
        await self._draw_cost(one)
        if is_all:
            await self._draw_notes(one)

    # --- who

    def _draw_who(self, one: Conversation, person: Person | None) -> None:
        tr = self._view.tr
        with _anew(self._who):
            ui.label(person.name if person and person.name else name_of(one)).classes("ib-aside-name")
            with ui.row().classes("sb-row"):
                for identity in person.identities if person else filter(None, (one.subject,)):
                    chip(identity)
            if person is None:
                return
            if person.language or person.zone:
                ui.label(" · ".join(filter(None, (person.language, person.zone)))).classes("sb-quiet")
            if person.notes:
                ui.label(person.notes).classes("ib-note-text")
            with ui.row().classes("sb-row"):
                ui.label(tr("side_since")).classes("sb-quiet")
                moment(person.created_at)

    # --- what it has cost

    async def _draw_cost(self, one: Conversation) -> None:
        tr = self._view.tr
        drawn = (one.session, one.messages, one.tokens)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        fullness = await self._view.parts.gauge(one)
        with _anew(self._cost):
            ui.label(tr("side_tokens")).classes("sb-card-title")
            with ui.row().classes("sb-row ib-cost"):
                self._draw_pie(fullness)
                with ui.element("div"):
                    ui.label(tr("side_window", used=f"{fullness.used:,}", window=f"{fullness.window:,}"))
                    ui.label(tr("side_used", tokens=f"{one.tokens:,}")).classes("sb-quiet")
                    if one.cost:
                        cost = say_cost(one.cost, self._view.parts.workings.spending.currency)
                        ui.label(tr("side_cost", cost=cost)).classes("sb-quiet")

    def _draw_pie(self, fullness: Fullness) -> None:
        share = min(1.0, fullness.used / max(fullness.window, 1))
        level = "bad" if share >= DANGER else "warn" if share >= WARNING else "good"
        pie = ui.element("div").classes(f"ib-pie ib-pie-{level}").style(f"--share: {share:.3f}")
        pie.props(f'role=img data-level={level} aria-label="{share:.0%}"')
        with pie:
            ui.label(f"{share:.0%}")

    # --- notes

    def _build_notes(self) -> None:
        tr = self._view.tr
        with ui.element("section").classes("ib-card"):
            ui.label(tr("side_notes")).classes("sb-card-title")
            self._notes = ui.element("div").classes("ib-notes")
            self._field = ui.textarea(placeholder=tr("side_note_hint")).classes("sb-field ib-note-field")
            self._field.props(f"outlined dense autogrow maxlength={MAX_NOTE}")
            button(tr("side_note_add"), self._add_note, icon="add")

    async def _show_notes(self, one: Conversation) -> None:
        if one.chat != self._chat:
            self._chat = one.chat
            self._field.set_value("")
        await self._draw_notes(one)

    async def _draw_notes(self, one: Conversation) -> None:
        tr = self._view.tr
        notes = await self._desk.book.notes(one.chat)
        with _anew(self._notes):
            for one_note in notes:
                with ui.element("div").classes("ib-note"):
                    with ui.row().classes("sb-row"):
                        ui.label(one_note.by).classes("ib-speaker sb-grow")
                        moment(one_note.at)
                        icon_button("close", tr("delete"), lambda id_=one_note.id: self._drop_note(one, id_))
                    ui.label(one_note.text).classes("ib-note-text")

    async def _add_note(self) -> None:
        chat, text = self._chat, str(self._field.value or "")
        added = await self._view.act(lambda: self._desk.add_note(chat, text, self._view.operator))
        if added is not None and chat == self._chat:
            self._field.set_value("")

    async def _drop_note(self, one: Conversation, id_: int) -> None:
        if await self._view.confirm(self._view.tr("side_note_sure"), self._view.tr("delete")):
            await self._view.act(lambda: self._desk.delete_note(one.chat, id_, self._view.operator))

    # --- what is remembered

    async def _draw_memories(self, scope: Scope | None) -> None:
        tr, kept = self._view.tr, self._view.parts.memories
        known = await kept.list(scope, limit=MOST_MEMORIES) if kept is not None and scope is not None else ()
        with _anew(self._memories):
            ui.label(tr("side_memories")).classes("sb-card-title")
            for memory in known:
                with ui.element("div").classes("ib-memory"):
                    ui.label(memory.text).classes("sb-grow ib-note-text")
                    icon_button("edit", tr("edit"), lambda memory=memory: self._edit(memory))
                    icon_button("delete", tr("side_forget"), lambda memory=memory: self._forget(memory))
            if not known:
                ui.label(tr("side_no_memories")).classes("sb-quiet")

    async def _edit(self, memory: Memory) -> None:
        tr, kept = self._view.tr, self._view.parts.memories
        with self._view.dialog(tr("side_memory_edit")) as dialog:
            field = ui.textarea(value=memory.text).props(f"outlined autogrow autofocus maxlength={MAX_TEXT}")
            field.classes("sb-field")
            with ui.row().classes("sb-dialog-buttons"):
                button(tr("cancel"), lambda: dialog.submit(None))
                button(tr("save"), lambda: dialog.submit(field.value), kind="main")
        text = await answer_of(dialog)
        if isinstance(text, str) and text.strip() and kept is not None:
            origin = Origin(how="command", by=self._view.operator.actor)

            async def edit() -> None:
                if await kept.update(memory.scope, memory.number, text.strip(), origin) is not None:
                    await self._note("memory edit", memory)
                await self._draw_memories(memory.scope)

            await self._view.act(edit)

    async def _forget(self, memory: Memory) -> None:
        tr, kept = self._view.tr, self._view.parts.memories
        if kept is not None and await self._view.confirm(tr("side_forget_sure"), tr("side_forget")):

            async def forget() -> None:
                if await kept.forget(memory.scope, memory.number):
                    await self._note("memory forget", memory)
                await self._draw_memories(memory.scope)

            await self._view.act(forget)

    async def _note(self, action: str, memory: Memory) -> None:
        view, number = self._view, ("number", memory.number)
        await note(view.parts, view.operator, action, str(memory.scope), context=[number])

    # --- where else they talk

    async def _draw_talks(self, one: Conversation, person: Person | None) -> None:
        tr = self._view.tr
        identities = person.identities if person is not None else (one.subject,)
        found = (
            await self._desk.conversations(Filter(text=one.person), limit=MOST_TALKS) if one.person else []
        )
        others = [other for other in found if other.subject in identities and other.chat != one.chat]
        with _anew(self._talks):
            ui.label(tr("side_history")).classes("sb-card-title")
            for other in others:
                with ui.element("button").classes("ib-talk-row").props("type=button") as row:
                    ui.label(f"{other.address.channel} · {name_of(other)}").classes("sb-grow")
                    moment(other.updated_at)
                row.on("click", lambda other=other: self._visit(other.chat, other.session, None))
            if not others:
                ui.label(tr("side_no_history")).classes("sb-quiet")


def _anew(place: ui.element) -> ui.element:
    place.clear()
    return place


def _scope_of(one: Conversation, person: Person | None) -> Scope | None:
    """Whose memories are shown: the person's where they are alone with the bot, else the group's."""
    if not one.address.is_direct:
        address = one.address
        return Scope(kind="chat", key=f"{address.channel}:{address.account}:{address.chat}")
    return person.scope if person is not None else None
