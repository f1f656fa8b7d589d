"""The inbox: the conversations, the open one, and who is in it."""

import asyncio
from functools import partial
from typing import Final
from urllib.parse import quote

from nicegui import background_tasks, ui
from nicegui.events import GenericEventArguments

from bot.inbox.base import Conversation
from bot.messages import SessionKey
from bot.web.dashboard.actions import ActionBar
from bot.web.dashboard.broadcasting import broadcast_dialog
from bot.web.dashboard.canned import canned_dialog
from bot.web.dashboard.conversations import ConversationList
from bot.web.dashboard.frame import View, empty, icon_button
from bot.web.dashboard.live import Change, Viewer
from bot.web.dashboard.pacing import Paced
from bot.web.dashboard.person import PersonPanel
from bot.web.dashboard.rows import sent
from bot.web.dashboard.shortcuts import show_shortcuts
from bot.web.dashboard.transcript import TranscriptPane
from bot.web.paths import PREFIX

LIST_SECONDS: Final = 0.4  # between two looks at the list


class Composer(ui.element, component="static/composer.js"):
    """Where operators write, as the browser draws it."""


class InboxPage:
    """One operator's inbox, from the moment it is opened until its browser is gone."""

    def __init__(self, view: View, chat: str) -> None:
        self._view = view
        self._desk = view.parts.desk
        self._chat = SessionKey(chat)  # the one that was asked for last
        self._viewer = Viewer()
        self._list = ConversationList(view, chat, pick=self._open, visit=self._visit, press=self._press)
        self._bar = ActionBar(view, back=self._close, aside=self._turn_aside)
        self._transcript = TranscriptPane(view)
        self._person = PersonPanel(view, visit=self._visit)
        self._conversation: Conversation | None = None
        self._one_at_a_time = asyncio.Lock()  # or the bar of one would stand above another

    async def build(self) -> None:
        """Draw it, and keep it up to date."""
        with ui.element("div").classes("ib") as self._whole:
            await self._list.build(beside_search=self._draw_tools)
            with ui.element("section").classes("ib-talk").props('data-empty="true"') as self._talk:
                empty(self._view.tr("talk_none"), "forum").classes("ib-none")
                self._bar.build()
                self._transcript.build()
                self._draw_composer()
            self._person.build()
        client = ui.context.client
        self._listing = Paced(partial(self._view.act, self._list.refresh), client, LIST_SECONDS)
        leave = self._view.live.join(self._viewer)
        client.on_delete(leave)
        client.on_connect(lambda: self._viewer.note(None, None, is_growth=False))
        following = background_tasks.create(self._follow(), name="inbox page", context=client)
        client.on_delete(lambda: following.cancel())
        await self._view.act(lambda: self._list.refresh(is_fresh=True))
        await self._tell_canned()
        if self._chat:
            await self._open(self._chat)

    def _draw_tools(self) -> None:
        tr = self._view.tr
        icon_button("campaign", tr("cast_title"), lambda: broadcast_dialog(self._view))
        icon_button("keyboard", tr("key_title"), lambda: show_shortcuts(self._view)).classes("ib-wide-only")

    def _draw_composer(self) -> None:
        self._composer = Composer()
        self._composer.props["words"] = self._view.tr.some("write_", "canned_")
        self._composer.props["me"] = self._view.operator.name
        self._composer.on("send", self._send)
        self._composer.on("suggest", self._suggest)
        self._composer.on("canned", self._edit_canned)

    # --- what is open

    async def _open(self, chat: SessionKey) -> None:
        await self._view.act(lambda: self._show(chat))

    async def _visit(self, chat: SessionKey, session: SessionKey, line: int | None) -> None:
        self._list.choose(chat)
        await self._view.act(lambda: self._show(chat, session, line))

    async def _show(
        self, chat: SessionKey, session: SessionKey | None = None, line: int | None = None
    ) -> None:
        self._chat = chat
        async with self._one_at_a_time:
            if chat != self._chat:  # another was asked for meanwhile
                return
            one = await self._desk.conversation(chat)
            self._conversation = one
            self._talk.props["data-empty"] = "false"
            self._talk.update()
            self._whole.classes(add="ib-open")
            self._bar.show(one)
            self._composer.run_method("open", chat, one.person)
            await self._transcript.open(one, session or one.session, line)
            await self._person.show(one)
            ui.run_javascript(f"history.replaceState(null, '', '{PREFIX}/?chat={quote(chat, safe='')}')")

    def _close(self) -> None:
        """Back to the list, on a small screen."""
        self._whole.classes(remove="ib-open ib-aside-open")

    def _turn_aside(self) -> None:
        self._whole.classes(toggle="ib-aside-open")

    # --- what happens meanwhile

    async def _follow(self) -> None:
        client = ui.context.client
        while not client.is_deleted:
            change = await self._viewer.next()
            if client.has_socket_connection:  # one that comes back asks for all
                await self._view.act(partial(self._update, change))

    async def _update(self, change: Change) -> None:
        if change.is_all or change.sessions:
            self._listing.ask()
        async with self._one_at_a_time:
            if self._conversation is None:
                return
            session = self._transcript.session
            if change.is_all or session in change.sessions or self._conversation.session in change.sessions:
                await self._refresh_open(self._conversation, is_all=change.is_all)
            elif change.runs:
                self._transcript.grow()

    async def _refresh_open(self, before: Conversation, *, is_all: bool) -> None:
        one = await self._desk.conversation(before.chat)
        self._conversation = one
        self._bar.show(one)
        if one.session != before.session and self._transcript.session == before.session:
            await self._transcript.open(one, one.session)
        else:
            await self._transcript.update()
        await self._person.update(one, is_all=is_all)

    # --- what is written

    async def _send(self, event: GenericEventArguments) -> None:
        chat, text = SessionKey(str(event.args["chat"])), str(event.args["text"])
        is_own, by = bool(event.args["own"]), self._view.operator
        run = await self._view.act(lambda: self._desk.reply(chat, text, by, as_operator=is_own))
        self._composer.run_method("over", chat, run is not None)

    async def _suggest(self, event: GenericEventArguments) -> None:
        chat, by = SessionKey(str(event.args)), self._view.operator
        text = await self._view.act(lambda: self._desk.draft(chat, by))
        self._composer.run_method("offer", chat, text or "")

    async def _edit_canned(self) -> None:
        await canned_dialog(self._view)
        await self._tell_canned()

    async def _tell_canned(self) -> None:
        canned = await self._view.act(self._desk.book.canned) or []
        self._composer.run_method("know", [sent(one) for one in canned])

    async def _press(self, key: str) -> None:
        one = self._conversation
        if key == "?":
            show_shortcuts(self._view)
        elif one is not None and key == "e":
            await self._bar.mark(one, "open" if one.state == "handled" else "handled")
        elif one is not None and key == "u":
            await self._bar.mark_unread(one)
