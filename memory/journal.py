"""The journal: what was accepted, by whom it is being answered, and when it is done."""

import sqlite3
import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bot.agent.store import Accepted, Amended, Begun, Pending, Recovery, TurnRecord
from bot.agent.taint import known_taint
from bot.errors import StoreError
from bot.messages import (
    End,
    InboundMessage,
    RunId,
    SessionKey,
    decode_inbound,
    encoder,
)
from memory import amendments, bursts, overheard
from memory.closing import Ending, close_waiting, finish, over
from memory.context import Opening, read_context
from memory.database import Database
from memory.opening import Arrival, Opener, Start
from memory.outbox import put_in_outbox
from memory.rows import answer_line, append_lines, follow_alias, user_line
from memory.windows import Windows
from memory.worker import Gathered

KEEP_DONE = 30 * 86_400  # seconds that the dedupe key of an answered message is kept


class JournalEntry(msgspec.Struct, frozen=True):
    """An accepted message that is not done, as the journal has it; times are seconds since 1970."""

    run: RunId
    session: SessionKey
    state: str
    attempts: int
    crashes: int
    accepted_at: float
    started_at: float | None


class Journal:
    """Fulfils `bot.agent.store.Journal` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        windows = Windows()
        database.on_undo(windows.clear)
        self._opener = Opener(windows)

    async def accept(
        self, message: InboundMessage, *, is_control: bool = False, history: int | None = None
    ) -> Accepted:
        """See the protocol."""
        arrival = Arrival(
            message=message,
            body=b"" if is_control else encoder.encode(message),
            now=time.time(),
            is_control=is_control,
            history=history,
        )
        return await self._database.write(Gathered(self._opener.accept, arrival))

    async def knows(self, message: InboundMessage) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            found = db.execute("SELECT 1 FROM journal WHERE dedupe_key = ?", (message.dedupe_key,))
            return found.fetchone() is not None

        return await self._database.read(job)

    async def begin(
        self, message: InboundMessage, *, attempts: int, history: int, in_context: bool = True
    ) -> Begun:
        """See the protocol."""
        start = Start(message=message, attempts=attempts, history=history, in_context=in_context)
        return await self._database.write(Gathered(self._opener.begin, start))

    async def upcoming(self, session: SessionKey, *, history: int) -> Begun:
        """What the next turn of a session would begin with; what was overheard is left for that turn."""

        opening = Opening(session=session, run=None, history=history)
        return await self._database.read(lambda db: read_context(db, opening))

    async def merge(self, kept: Pending, burst: Sequence[Pending]) -> None:
        """See the protocol."""
        message = kept.message
        absorbed = [pending for pending in burst if pending.message.run != message.run]

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE journal SET message = ? WHERE run = ? AND attempts = ? AND state = 'queued'",
                (encoder.encode(message), message.run, kept.attempts),
            )
            _fenced(changed, message.run)
            bursts.keep(db, message.run, [pending.message for pending in burst])
            for pending in absorbed:
                if not close_waiting(db, pending.message.run):
                    raise over(pending.message.run)

        await self._database.write(job)

    async def overhear(self, message: InboundMessage, *, most: int) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            return overheard.keep(db, message, follow_alias(db, message.session), most=most)

        return await self._database.write(job)

    async def leave_overheard(self, run: RunId) -> None:
        """See the protocol."""
        await self._database.write(
            lambda db: db.execute("UPDATE overheard SET run = NULL WHERE run = ?", (run,))
        )

    async def amend(self, change: InboundMessage) -> Amended:
        """See the protocol."""
        return await self._database.write(lambda db: amendments.follow(db, change))

    async def finish(
        self,
        end: End,
        record: TurnRecord,
        *,
        speaker: str,
        has_outbox: bool,
        in_context: bool = True,
        absorbed: Sequence[InboundMessage] = (),
    ) -> None:
        """See the protocol."""

        ending = Ending(
            end=end,
            record=record,
            speaker=speaker,
            has_outbox=has_outbox,
            in_context=in_context,
            absorbed=tuple(absorbed),
        )
        await self._database.write(Gathered(finish, ending))

    async def requeue(self, run: RunId, attempt: int) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE journal SET state = 'queued' WHERE run = ? AND attempts = ? AND state = 'running'",
                (run, attempt),
            )
            _fenced(changed, run)

        await self._database.write(job)

    async def recover(self, max_crashes: int) -> Recovery:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> Recovery:
            old = time.time() - KEEP_DONE
            db.execute("DELETE FROM journal WHERE state = 'done' AND accepted_at < ?", (old,))
            bursts.forget_done(db)
            db.execute("UPDATE journal SET state = 'queued', crashes = crashes + 1 WHERE state = 'running'")
            rows = db.execute(
                "SELECT message, session, attempts, crashes >= ? FROM journal"
                " WHERE state = 'queued' ORDER BY seq",
                (max_crashes,),
            ).fetchall()
            found = [
                (Pending(message=_message(blob, session), attempts=attempts), is_harmful)
                for blob, session, attempts, is_harmful in rows
            ]
            return Recovery(
                pending=tuple(pending for pending, is_harmful in found if not is_harmful),
                parked=tuple(pending for pending, is_harmful in found if is_harmful),
            )

        return await self._database.write(job)

    async def park(self, end: End, *, speaker: str, has_outbox: bool = True) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE journal SET state = 'parked' WHERE run = ? AND attempts = ? AND state = 'queued'",
                (end.run, end.attempt),
            )
            _fenced(changed, end.run)
            append_lines(db, [answer_line(end, speaker)])
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def cancel(
        self, message: InboundMessage, end: End, *, speaker: str, has_outbox: bool = True
    ) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            if not close_waiting(db, message.run):
                raise over(message.run)
            _add_exchange(db, message, end, speaker)
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def note(self, message: InboundMessage, end: End, *, speaker: str, has_outbox: bool) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            _add_exchange(db, message, end, speaker)
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def say(self, end: End, *, speaker: str, has_outbox: bool, in_context: bool) -> None:
        """See the protocol; what the turn has read that says it goes along, into whatever session."""
        turn = known_taint()
        carried = turn.carried() if turn is not None and in_context else None

        def job(db: sqlite3.Connection) -> None:
            append_lines(db, [answer_line(end, speaker, in_context=in_context, carried=carried)])
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def hear(self, message: InboundMessage) -> None:
        """See the protocol."""
        await self._database.write(lambda db: append_lines(db, [user_line(message)]))

    async def unfinished(self) -> list[JournalEntry]:
        """What is not done, oldest first, for people to look at."""

        def job(db: sqlite3.Connection) -> list[JournalEntry]:
            rows = db.execute(
                "SELECT run, session, state, attempts, crashes, accepted_at, started_at FROM journal"
                " WHERE state <> 'done' ORDER BY seq LIMIT 1000"
            )
            return [JournalEntry(*row) for row in rows]

        return await self._database.read(job)

    async def retry(self, run: RunId) -> Pending:
        """Let a parked message run again, its crashes forgotten.

        Raises:
            StoreError: No parked message has this id.
        """

        def job(db: sqlite3.Connection) -> Pending:
            row = db.execute(
                "UPDATE journal SET state = 'queued', crashes = 0 WHERE run = ? AND state = 'parked'"
                " RETURNING message, session, attempts",
                (run,),
            ).fetchone()
            if row is None:
                raise StoreError(f"no parked message has the id {run!r}: `python -m bot journal` lists them")
            blob, session, attempts = row
            for table in (
                "outbox",
                "deliveries",
            ):  # the answer to come is a new one, not the note that is void
                db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
            return Pending(message=_message(blob, session), attempts=attempts)

        return await self._database.write(job)


def _message(blob: bytes, session: SessionKey) -> InboundMessage:
    """Decode a journaled message; its session is the one the aliases gave when it was accepted."""
    message = decode_inbound(blob)
    return message if message.session == session else replace(message, session=session)


def _add_exchange(db: sqlite3.Connection, message: InboundMessage, end: End, speaker: str) -> None:
    """Add a message and its reply for people to see; the model never gets them."""
    lines = [answer_line(end, speaker, in_context=False)]
    said = db.execute("SELECT 1 FROM messages WHERE run = ? AND role = 'user'", (message.run,))
    if said.fetchone() is None:  # an attempt that was given back has put it there
        lines.insert(0, user_line(message, in_context=False))
    append_lines(db, lines)


def _fenced(changed: sqlite3.Cursor, run: RunId) -> None:
    if changed.rowcount != 1:
        raise over(run)
