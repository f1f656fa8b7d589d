"""Which model and backend a session has chosen, kept with the session and at hand in memory."""

import sqlite3
import time

import msgspec

from bot.agent.choice import NO_CHOICE, Choice
from bot.messages import SessionKey
from memory.database import Database

_decode = msgspec.json.Decoder(Choice).decode


class Choices:
    """Fulfils `bot.agent.choice.SessionSettings`; `load` comes first.

    The metadata of a session are a JSON object, of which the choice is a part.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[SessionKey, Choice] = {}

    async def load(self) -> None:
        """Read what sessions have chosen; called when the store opens."""

        def job(db: sqlite3.Connection) -> list[tuple[SessionKey, str]]:
            return db.execute("SELECT session, metadata FROM sessions WHERE metadata <> '{}'").fetchall()

        rows = await self._database.read(job)
        found = {session: _decode(metadata) for session, metadata in rows}
        self._kept = {session: choice for session, choice in found.items() if choice != NO_CHOICE}

    def of(self, session: SessionKey) -> Choice:
        """See the protocol."""
        return self._kept.get(session, NO_CHOICE)

    async def choose(self, session: SessionKey, choice: Choice) -> None:
        """Answer a session so from its next turn on."""
        kept = msgspec.to_builtins(choice)
        patch = msgspec.json.encode({name: kept.get(name) for name in Choice.__struct_fields__}).decode()

        def job(db: sqlite3.Connection) -> None:
            now = time.time()
            db.execute(
                "INSERT INTO sessions (session, created_at, updated_at) VALUES (?, ?, ?)"
                " ON CONFLICT (session) DO NOTHING",
                (session, now, now),
            )
            # a null in the patch takes the key away: RFC 7396
            db.execute(
                "UPDATE sessions SET metadata = json_patch(metadata, ?) WHERE session = ?", (patch, session)
            )

        await self._database.write(job)
        if choice == NO_CHOICE:
            self._kept.pop(session, None)
        else:
            self._kept[session] = choice

    def drop(self, session: SessionKey) -> None:
        """Forget the choice of a session that was deleted."""
        self._kept.pop(session, None)
