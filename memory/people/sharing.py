"""One session for all direct chats of somebody who is linked."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from bot.commands.sessions import ChatSession
from bot.messages import RunId, SessionKey
from bot.people import Person
from memory.choices import Choices
from memory.database import Database
from memory.rows import follow_alias
from memory.sessions import OF_CHAT, Sessions, point

SHARED: Final = 0  # the number of a session in a chat that it does not belong to
# Direct chats of the person that has one, but those of API keys, where the caller names the conversation.
SIBLINGS: Final = (
    "SELECT c.chat FROM identity_chats h JOIN identities i ON i.identity = h.identity"
    " JOIN identities j ON j.person = i.person JOIN identity_chats c ON c.identity = j.identity"
    " WHERE h.chat = ? AND c.chat NOT LIKE 'api:%' AND h.chat NOT LIKE 'api:%' ORDER BY c.last_at"
)


class SharedSessions(Sessions):
    """Fulfils `bot.people.Share`, too: whatever session one chat of a person goes on in, the others do."""

    def __init__(self, database: Database, choices: Choices) -> None:
        super().__init__(database, choices)
        self._shared = database

    async def join(self, person: Person, lead: str) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> SessionKey | None:
            chats = _chats(db, [lead]) or _chats(db, person.identities)
            return chats[-1] if chats else None

        if (chat := await self._shared.read(job)) is not None:
            await self._spread(chat)

    async def part(self, alone: Person, left: Person) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[tuple[SessionKey, SessionKey]]:
            chats = _chats(db, (*alone.identities, *left.identities))
            return [(chat, _go_home(db, chat)) for chat in chats if _is_foreign(db, chat)]

        for chat, session in await self._shared.write(job):
            self.on_switch(chat, session)
        if left.is_linked:
            await self.join(left, left.identities[0])

    async def of_chat(self, chat: SessionKey) -> list[ChatSession]:
        """See `bot.commands.sessions.Sessions`; the one that is shared stands first."""
        own = await super().of_chat(chat)
        if any(one.is_current for one in own):
            return own
        current = await self.current(chat)
        home = await self._shared.read(lambda db: _home(db, current))
        shared = [one for one in await super().of_chat(home) if one.session == current]
        return [*(replace(one, number=SHARED, is_current=True) for one in shared), *own]

    async def begin(self, chat: SessionKey, title: str | None = None) -> SessionKey:
        """See `bot.commands.sessions.Sessions`; the next ones, too."""
        session = await super().begin(chat, title)
        await self._spread(chat)
        return session

    async def resume(self, chat: SessionKey, session: SessionKey) -> None:
        await super().resume(chat, session)
        await self._spread(chat)

    async def delete(self, chat: SessionKey, session: SessionKey, *, but: RunId) -> None:
        await super().delete(chat, session, but=but)
        await self._spread(chat)

    async def erase(self, chat: SessionKey, *, but: RunId) -> None:
        await super().erase(chat, but=but)
        await self._spread(chat)

    async def _spread(self, chat: SessionKey) -> None:
        """Let the other chats of a person go on where one does."""

        def job(db: sqlite3.Connection) -> list[tuple[SessionKey, SessionKey]]:
            session = follow_alias(db, chat)
            others = [SessionKey(other) for (other,) in db.execute(SIBLINGS, (chat,)) if other != chat]
            for other in others:
                point(db, other, session)
            return [(other, session) for other in others]

        for other, session in await self._shared.write(job):
            self.on_switch(other, session)


def _chats(db: sqlite3.Connection, identities: Sequence[str]) -> list[SessionKey]:
    """The direct chats of identities, in the order in which they were noted: the newest at the end."""
    marks = ", ".join("?" * len(identities))
    rows = db.execute(
        f"SELECT chat FROM identity_chats WHERE identity IN ({marks}) AND chat NOT LIKE 'api:%'"
        " ORDER BY last_at",
        tuple(identities),
    )
    return [SessionKey(chat) for (chat,) in rows]


def _home(db: sqlite3.Connection, session: SessionKey) -> SessionKey:
    """The chat that a session belongs to."""
    row = db.execute("SELECT chat FROM chat_sessions WHERE session = ?", (session,)).fetchone()
    return row[0] if row else session


def _is_foreign(db: sqlite3.Connection, chat: SessionKey) -> bool:
    """Whether a chat goes on in a session of another one."""
    found = db.execute(f"SELECT 1 FROM ({OF_CHAT}) WHERE session = ?", (chat, chat, follow_alias(db, chat)))
    return found.fetchone() is None


def _go_home(db: sqlite3.Connection, chat: SessionKey) -> SessionKey:
    """Let a chat go on in the newest session of its own; gives that."""
    (session,) = db.execute(
        f"SELECT session FROM ({OF_CHAT}) ORDER BY number DESC LIMIT 1", (chat, chat)
    ).fetchone()
    point(db, chat, session)
    return SessionKey(session)
