"""The chats that have written to the bot, so that it can write to all of them, and who spoke there last."""

import sqlite3
import time
from collections import OrderedDict

from msgspec.structs import replace

from bot.messages import Address, Sender, decode_address, encoder
from memory.database import Database
from memory.inbox.following import note_conversation

NOTE_EVERY = 3600.0  # seconds until a chat is written down again
MAX_KEPT = 10_000  # conversations whose last note is remembered


class Chats:
    """Writes down where messages come from, each chat and each thread once an hour at most."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: OrderedDict[str, tuple[float, Sender | None]] = OrderedDict()

    async def note_chat(self, address: Address, person: Sender | None = None) -> None:
        """Remember a chat; returns at once where it was noted lately.

        Args:
            person: Who speaks there; in a direct chat, one who has another name now is noted at once.
        """
        key, now = address.session(), time.time()
        noted_at, known = self._noted.get(key, (0.0, person))
        if now - noted_at < NOTE_EVERY and (known == person or not address.is_direct):
            return
        chat = replace(address, thread=None)

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO chats (chat, channel, address, last_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (chat) DO UPDATE SET address = excluded.address, last_at = excluded.last_at",
                (chat.session(), chat.channel, encoder.encode(chat), now),
            )
            note_conversation(db, address, person)

        await self._database.write(job)
        self._noted[key] = now, person
        if len(self._noted) > MAX_KEPT:
            self._noted.popitem(last=False)

    async def addresses(self) -> list[Address]:
        """Every chat, without its threads; the one that spoke last comes first."""

        def job(db: sqlite3.Connection) -> list[Address]:
            rows = db.execute("SELECT address FROM chats ORDER BY last_at DESC")
            return [decode_address(blob) for (blob,) in rows]

        return await self._database.read(job)
