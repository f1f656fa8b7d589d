"""The chats that have written to the bot, so that it can write to all of them."""

import sqlite3
import time
from collections import OrderedDict

from msgspec.structs import replace

from bot.messages import Address, decode_address, encoder
from memory.database import Database

NOTE_EVERY = 3600.0  # seconds until a chat is written down again
MAX_KEPT = 10_000  # chats whose last note is remembered


class Chats:
    """Writes down where messages come from, each chat once an hour at most."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: OrderedDict[str, float] = OrderedDict()

    async def note_chat(self, address: Address) -> None:
        """Remember a chat; returns at once where it was noted lately."""
        chat = replace(address, thread=None)
        key, now = chat.session(), time.time()
        if now - self._noted.get(key, 0.0) < NOTE_EVERY:
            return
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO chats (chat, channel, address, last_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (chat) DO UPDATE SET address = excluded.address, last_at = excluded.last_at",
                (key, chat.channel, encoder.encode(chat), now),
            )
        )
        self._noted[key] = now
        if len(self._noted) > MAX_KEPT:
            self._noted.popitem(last=False)

    async def addresses(self) -> list[Address]:
        """Every chat, without its threads; the one that spoke last comes first."""

        def job(db: sqlite3.Connection) -> list[Address]:
            rows = db.execute("SELECT address FROM chats ORDER BY last_at DESC")
            return [decode_address(blob) for (blob,) in rows]

        return await self._database.read(job)
