"""The open conversation, line by line, as it goes on."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from bot.inbox.base import Conversation, ToolLine
from bot.messages import RunId, SessionKey, StoredMessage
from bot.web.dashboard.frame import View
from bot.web.dashboard.rows import Part, asked, grown_of, line_of, sent, tools_by_run

PAGE: Final = 50  # lines that are read at once
AROUND: Final = 20  # lines behind one that was looked for
MOST_NEW: Final = 200  # lines that are taken up at once; a reader who has more to catch up with begins anew


class Lines(ui.element, component="static/transcript.js"):
    """The lines as the browser draws them."""


class TranscriptPane:
    """A window of a session's lines; the browser says which way it moves."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._book = view.parts.desk.book
        self._chat = SessionKey("")
        self._session = SessionKey("")
        self._last = 0  # the newest line that the browser has, where it follows
        self._follows = False
        self._seen = 0
        self._one_at_a_time = asyncio.Lock()  # or lines of one conversation would be shown in another

    def build(self) -> None:
        """Draw it, with nothing in it."""
        self._lines = Lines()
        self._lines.props["words"] = self._view.tr.some("line_", "tool_", "end_", "ask_", "option_")
        self._lines.on("older", self._older)
        self._lines.on("newer", self._newer)
        self._lines.on("latest", self._latest)
        self._lines.on("cut", self._cut)
        self._lines.on("seen", self._see)
        self._lines.on("answer", self._answer)

    @property
    def session(self) -> SessionKey:
        """The session that is shown."""
        return self._session

    async def open(self, conversation: Conversation, session: SessionKey, line: int | None = None) -> None:
        """Show a conversation.

        Args:
            session: Which of its sessions; an older one stands still.
            line: Show this line instead of the newest.
        """
        async with self._one_at_a_time:
            await self._begin(conversation.chat, session, line)

    async def _begin(self, chat: SessionKey, session: SessionKey, line: int | None = None) -> None:
        self._chat, self._session, self._seen = chat, session, 0
        before = None if line is None else line + AROUND + 1
        lines = await self._book.lines(session, before=before, limit=PAGE)
        self._last = lines[-1].number if lines else 0
        self._follows = line is None or await self._is_end(self._last)
        part = await self._part(lines, older=len(lines) == PAGE, newer=not self._follows)
        self._lines.run_method("open", sent(part), line)

    async def update(self) -> None:
        """Bring it up to date: what was said meanwhile, what is asked, what grows."""
        async with self._one_at_a_time:
            if not self._chat:
                return
            if not self._follows:
                self._send(self._live_part())
                return
            lines = await self._book.lines(self._session, after=self._last, limit=MOST_NEW)
            if len(lines) == MOST_NEW:
                await self._begin(self._chat, self._session)
                return
            self._last = lines[-1].number if lines else self._last
            self._send(await self._part(lines))

    def grow(self) -> None:
        """Show answers that are being written as far as they are."""
        if self._chat:
            self._send(self._live_part())

    def _live_part(self) -> Part:
        drafts = self._view.live.growing.of(self._session) if self._follows else {}
        questions = asked(self._view.parts.desk.questions(self._chat), self._chat)
        return Part(chat=self._chat, growing=grown_of(drafts), questions=questions)

    async def _part(
        self,
        lines: Sequence[StoredMessage],
        *,
        place: str = "end",
        older: bool | None = None,
        newer: bool | None = None,
    ) -> Part:
        live = self._live_part()
        runs = {line.run for line in lines} | {grown.run for grown in live.growing or ()}
        return Part(
            chat=self._chat,
            place=place,
            lines=tuple(map(line_of, lines)),
            tools=tools_by_run(await self._tools(runs)),
            older=older,
            newer=newer,
            growing=live.growing,
            questions=live.questions,
        )

    async def _tools(self, runs: set[RunId]) -> Sequence[ToolLine]:
        return await self._book.tools(sorted(runs)) if runs else ()

    async def _is_end(self, number: int) -> bool:
        return not await self._book.lines(self._session, after=number, limit=1)

    def _send(self, part: Part) -> None:
        self._lines.run_method("merge", sent(part))

    # --- what the browser asks for

    async def _older(self, event: GenericEventArguments) -> None:
        await self._view.act(partial(self._read_before, event.args["chat"], int(event.args["number"])))

    async def _newer(self, event: GenericEventArguments) -> None:
        await self._view.act(partial(self._read_after, event.args["chat"], int(event.args["number"])))

    async def _latest(self) -> None:
        await self._view.act(self._read_latest)

    def _cut(self) -> None:
        self._follows = False

    async def _see(self, event: GenericEventArguments) -> None:
        number = int(event.args["number"])
        if event.args["chat"] != self._chat or not self._follows or number <= self._seen:
            return
        self._seen = number
        await self._view.act(partial(self._view.parts.desk.mark_read, self._chat, number))

    async def _answer(self, event: GenericEventArguments) -> None:
        desk, by = self._view.parts.desk, self._view.operator
        question, text = str(event.args["id"]), str(event.args["text"])
        await self._view.act(partial(desk.answer, question, text, by), done=self._view.tr("ask_answered"))

    async def _read_before(self, chat: str, number: int) -> None:
        async with self._one_at_a_time:
            if chat != self._chat:
                return
            lines = await self._book.lines(self._session, before=number, limit=PAGE)
            self._send(await self._part(lines, place="top", older=len(lines) == PAGE))

    async def _read_after(self, chat: str, number: int) -> None:
        async with self._one_at_a_time:
            if chat != self._chat:
                return
            lines = await self._book.lines(self._session, after=number, limit=PAGE)
            self._follows = len(lines) < PAGE
            self._last = lines[-1].number if lines else number
            self._send(await self._part(lines, place="bottom", newer=not self._follows))

    async def _read_latest(self) -> None:
        async with self._one_at_a_time:
            await self._begin(self._chat, self._session)
