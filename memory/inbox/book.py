"""The inbox: conversations as the history has them, and what operators have put to them."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec

from bot.inbox.base import (
    MAX_NAME,
    Canned,
    Conversation,
    Counts,
    Filter,
    Hit,
    InboxError,
    Note,
    Place,
    State,
    ToolLine,
)
from bot.messages import Address, RunId, SessionKey, StoredMessage, decode_address, encoder
from bot.tools.base import SUBAGENT
from memory.database import Database
from memory.inbox import writing
from memory.inbox.following import behind, follow, follow_chat
from memory.inbox.listing import count, find
from memory.inbox.rows import conversation_at, conversation_of
from memory.recall import Recall
from memory.rows import LINE, line_from

STEP: Final = (
    200  # conversations that one job brings up to date, some 10 ms: the writer does nothing else then
)
MOST_CALLS: Final = 1_000  # tool calls that are given at once
MOST_RESULT: Final = 20_000  # characters of what a tool gave
CALL: Final = "run, call_id, name, arguments, state, substr(result, 1, ?), started_at, ended_at"
NEWEST: Final = "coalesce((SELECT messages FROM sessions s WHERE s.session = conversations.session), 0)"
LISTED: Final = "SELECT 1 FROM conversations WHERE chat = ? AND state IS NOT NULL"

Result = TypeVar("Result")


class Inbox:
    """Fulfils `bot.inbox.base.InboxBook` on the database."""

    def __init__(self, database: Database, recall: Recall) -> None:
        self._database = database
        self._recall = recall
        self._following = asyncio.Lock()

    async def find(
        self, wanted: Filter, *, after: Place | None = None, limit: int = 50
    ) -> list[Conversation]:
        """See the protocol."""
        await self.catch_up()
        return await self._database.read(
            lambda db: [conversation_at(db, id_) for id_ in find(db, wanted, after=after, limit=limit)]
        )

    async def get(self, chat: SessionKey) -> Conversation | None:
        """See the protocol."""
        await self.catch_up()
        return await self._database.read(lambda db: conversation_of(db, chat))

    async def counts(self) -> Counts:
        """See the protocol."""
        await self.catch_up()
        return await self._database.read(count)

    async def catch_up(self) -> None:
        """Bring the list up to what was said; whoever reads it does so first."""
        async with self._following:
            left = await self._database.read(behind)
            if left is None:
                return
            for first in range(0, len(left.keys), STEP):  # some a job, so that no turn waits for long
                await self._database.write(partial(follow, keys=left.keys[first : first + STEP]))
            await self._database.write(partial(follow, keys=(), line=left.line))

    async def lines(
        self, session: SessionKey, *, before: int | None = None, after: int | None = None, limit: int = 50
    ) -> list[StoredMessage]:
        """See the protocol."""
        order = "DESC" if after is None else "ASC"

        def job(db: sqlite3.Connection) -> list[StoredMessage]:
            rows = db.execute(
                f"SELECT {LINE} FROM messages WHERE session = ? AND number > ? AND number < ?"
                f" ORDER BY number {order} LIMIT ?",
                (session, after or 0, before if before is not None else 1 << 62, limit),
            ).fetchall()
            return [line_from(row) for row in (rows if after is not None else reversed(rows))]

        return await self._database.read(job)

    async def tools(self, runs: Sequence[RunId]) -> list[ToolLine]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[ToolLine]:
            rows = db.execute(
                f"SELECT {CALL} FROM tool_calls WHERE run IN (SELECT value FROM json_each(?))"
                " ORDER BY started_at, run, call_id LIMIT ?",
                (MOST_RESULT, msgspec.json.encode(runs).decode(), MOST_CALLS),
            )
            names = ToolLine.__struct_fields__
            return [ToolLine(**dict(zip(names, row, strict=True))) for row in rows]

        return await self._database.read(job)

    async def search(self, words: Sequence[str], limit: int) -> list[Hit]:
        """See the protocol."""
        found = await self._recall.everywhere(words, limit)
        sessions = msgspec.json.encode([one.session for one in found]).decode()

        def job(db: sqlite3.Connection) -> dict[str, str]:
            rows = db.execute(
                "SELECT session, chat FROM chat_sessions WHERE session IN (SELECT value FROM json_each(?))",
                (sessions,),
            )
            return dict(rows)

        chats = await self._database.read(job)
        return [
            Hit(
                chat=SessionKey(chats.get(one.session, one.session)),
                session=one.session,
                title=one.title,
                line=one.line,
            )
            for one in found
            if SUBAGENT not in one.session
        ]

    async def mark(self, chat: SessionKey, state: State) -> None:
        """See the protocol."""
        await self._change(
            chat,
            "UPDATE conversations SET mark = :mark, mark_session = session, mark_upto ="
            f" {NEWEST} WHERE chat = :chat",
            mark=None if state == "open" else state,
        )

    async def mark_read(self, chat: SessionKey, upto: int | None = None) -> None:
        """See the protocol; of two operators, who has read further counts."""
        await self._change(
            chat,
            "UPDATE conversations SET read_upto = CASE WHEN :upto = 0 THEN 0 ELSE max("
            f" iif(read_session = session, read_upto, 0), min(coalesce(:upto, 1 << 62), {NEWEST})) END,"
            " read_session = session WHERE chat = :chat",
            upto=upto,
        )

    async def assign(self, chat: SessionKey, assignee: str | None) -> None:
        """See the protocol."""
        name = writing.checked(assignee or "", MAX_NAME, "a name")
        await self._change(chat, "UPDATE conversations SET assignee = :name WHERE chat = :chat", name=name)

    async def label(self, chat: SessionKey, labels: Sequence[str]) -> None:
        """See the protocol."""
        await self._put(chat, lambda db: writing.put_labels(db, chat, labels))

    async def labels(self) -> list[str]:
        """See the protocol."""
        return await self._database.read(writing.labels_in_use)

    async def notes(self, chat: SessionKey) -> list[Note]:
        """See the protocol."""
        return await self._database.read(lambda db: writing.notes_of(db, chat))

    async def add_note(self, chat: SessionKey, text: str, *, by: str) -> Note:
        """See the protocol."""
        return await self._put(chat, lambda db: writing.add_note(db, chat, text, by))

    async def delete_note(self, chat: SessionKey, id_: int) -> bool:
        """See the protocol."""
        return await self._database.write(lambda db: writing.delete_note(db, chat, id_))

    async def take(self, chat: SessionKey, by: str | None) -> None:
        """See the protocol."""
        await self._change(
            chat,
            f"UPDATE conversations SET taken_by = :by, taken_upto = {NEWEST} WHERE chat = :chat",
            by=by,
        )

    async def taken(self) -> dict[SessionKey, str]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> dict[SessionKey, str]:
            return dict(db.execute("SELECT chat, taken_by FROM conversations WHERE taken_by IS NOT NULL"))

        return await self._database.read(job)

    async def dock(self, chat: SessionKey, target: Address | None) -> None:
        """See the protocol."""
        await self._change(
            chat,
            "UPDATE conversations SET docked_to = :target WHERE chat = :chat",
            target=None if target is None else encoder.encode(target),
        )

    async def docked(self) -> dict[SessionKey, Address]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> dict[SessionKey, Address]:
            rows = db.execute("SELECT chat, docked_to FROM conversations WHERE docked_to IS NOT NULL")
            return {chat: decode_address(address) for chat, address in rows}

        return await self._database.read(job)

    async def canned(self) -> list[Canned]:
        """See the protocol."""
        return await self._database.read(writing.canned_replies)

    async def put_canned(self, canned: Canned) -> None:
        """See the protocol."""
        await self._database.write(lambda db: writing.put_canned(db, canned))

    async def delete_canned(self, name: str) -> bool:
        """See the protocol."""
        return await self._database.write(lambda db: writing.delete_canned(db, name))

    async def _change(self, chat: SessionKey, statement: str, **values: object) -> None:
        """Change the row of a conversation."""
        await self._put(chat, lambda db: db.execute(statement, {"chat": chat, **values}))

    async def _put(self, chat: SessionKey, change: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do something to a conversation that there is; its row is right before and after."""

        def job(db: sqlite3.Connection) -> Result:
            follow_chat(db, chat)
            if db.execute(LISTED, (chat,)).fetchone() is None:
                raise InboxError(f"there is no conversation {chat!r}")
            result = change(db)
            follow_chat(db, chat)
            return result

        return await self._database.write(job)
