"""The journal: what was accepted, by whom it is being answered, and when it is done."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.agent.store import Accepted, Amended, Begun, Pending, Recovery, TurnRecord
from bot.agent.taint import known_taint
from bot.errors import Fenced, StoreError
from bot.messages import (
    End,
    InboundMessage,
    RunId,
    SessionKey,
    decode_inbound,
    encoder,
)
from memory import amendments, bursts, overheard
from memory.context import read_context
from memory.database import Database
from memory.outbox import put_in_outbox
from memory.rows import append_answer_line, append_user_line, follow_alias
from memory.usage import add_spent, add_turn

# One statement: the message in the session that its alias leads to, and begun at once where there is none.
ACCEPT = (
    "INSERT INTO journal (run, dedupe_key, session, state, attempts, message, accepted_at, started_at)"
    " SELECT :run, :key, leads_to, iif(begins, 'running', :state), begins, :message, :now,"
    " iif(begins, :now, NULL)"
    " FROM (SELECT leads_to, :begins AND leads_to = :session AS begins FROM"
    " (SELECT coalesce((SELECT session FROM aliases WHERE alias = :session), :session) AS leads_to))"
    " WHERE true ON CONFLICT (dedupe_key) DO NOTHING RETURNING session, state"
)
KEEP_DONE = 30 * 86_400  # seconds that the dedupe key of an answered message is kept


@dataclass(frozen=True, slots=True)
class JournalEntry:
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

    async def accept(
        self, message: InboundMessage, *, is_control: bool = False, history: int | None = None
    ) -> Accepted:
        """See the protocol."""
        values = {
            "run": message.run,
            "key": message.dedupe_key,
            "session": message.session,
            "state": "done" if is_control else "queued",
            "begins": history is not None,
            "message": b"" if is_control else encoder.encode(message),
            "now": time.time(),
        }

        def job(db: sqlite3.Connection) -> Accepted:
            added = db.execute(ACCEPT, values).fetchone()
            if added is None:
                return Accepted(is_new=False, session=follow_alias(db, message.session))
            session, state = added
            begun = None
            if state == "running":
                begun = _open(db, message, attempt=1, history=history or 0, in_context=True)
            return Accepted(is_new=True, session=session, begun=begun)

        return await self._database.write(job)

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
        return await self._database.write(
            lambda db: _begin(db, message, attempts=attempts, history=history, in_context=in_context)
        )

    async def upcoming(self, session: SessionKey, *, history: int) -> Begun:
        """What the next turn of a session would begin with; what was overheard is left for that turn."""

        def job(db: sqlite3.Connection) -> Begun:
            row = db.execute("SELECT messages, turns FROM sessions WHERE session = ?", (session,)).fetchone()
            messages, turns = row or (0, 0)
            return read_context(db, session, before=messages + 1, history=history, turns=turns)

        return await self._database.read(job)

    async def merge(self, kept: Pending, burst: Sequence[Pending]) -> None:
        """See the protocol."""
        message, now = kept.message, time.time()
        absorbed = [pending for pending in burst if pending.message.run != message.run]

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE journal SET message = ? WHERE run = ? AND attempts = ? AND state = 'queued'",
                (encoder.encode(message), message.run, kept.attempts),
            )
            _fenced(changed, message.run)
            bursts.keep(db, message.run, [pending.message for pending in burst])
            for pending in absorbed:
                changed = db.execute(
                    "UPDATE journal SET state = 'done', message = x'', ended_at = ?"
                    " WHERE run = ? AND state = 'queued'",
                    (now, pending.message.run),
                )
                _fenced(changed, pending.message.run)

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

        def job(db: sqlite3.Connection) -> None:
            _close_entry(db, end)
            for message in absorbed:
                _close_absorbed(db, message, in_context=in_context)
            if end.text:
                append_answer_line(db, end, speaker, in_context=in_context, carried=record.carried)
            if in_context:
                add_turn(db, end, record)
            add_spent(db, record.spent)
            if has_outbox and (_has_something(end) or _is_shown(db, end.run)):
                put_in_outbox(db, end)

        await self._database.write(job)

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
            append_answer_line(db, end, speaker)
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def cancel(
        self, message: InboundMessage, end: End, *, speaker: str, has_outbox: bool = True
    ) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE journal SET state = 'done', message = x'', ended_at = ?"
                " WHERE run = ? AND state = 'queued'",
                (time.time(), message.run),
            )
            _fenced(changed, message.run)
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
            append_answer_line(db, end, speaker, in_context=in_context, carried=carried)
            if has_outbox:
                put_in_outbox(db, end)

        await self._database.write(job)

    async def hear(self, message: InboundMessage) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            append_user_line(db, message)

        await self._database.write(job)

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


def _begin(
    db: sqlite3.Connection,
    message: InboundMessage,
    *,
    attempts: int,
    history: int,
    in_context: bool = True,
) -> Begun:
    taken = db.execute(
        "UPDATE journal SET state = 'running', attempts = attempts + 1, started_at = ?"
        " WHERE run = ? AND attempts = ? AND state = 'queued'",
        (time.time(), message.run, attempts),
    )
    if taken.rowcount != 1:
        raise Fenced(f"run {message.run} is not waiting for attempt {attempts + 1}")
    return _open(db, message, attempt=attempts + 1, history=history, in_context=in_context)


def _open(
    db: sqlite3.Connection, message: InboundMessage, *, attempt: int, history: int, in_context: bool
) -> Begun:
    """What a turn begins with that is this process's now."""
    number, turns = _place_user_line(db, message, is_first=attempt == 1, in_context=in_context)
    if not in_context:
        return Begun(attempt=attempt, turns=turns, history=())
    heard = () if message.is_direct else overheard.give(db, message, is_first=number == 1)
    return read_context(
        db,
        message.session,
        before=number,
        history=history,
        turns=turns,
        attempt=attempt,
        overheard=heard,
    )


def _place_user_line(
    db: sqlite3.Connection, message: InboundMessage, *, is_first: bool, in_context: bool
) -> tuple[int, int]:
    """Number of the person's message in the history, and the turns so far; written at the first attempt."""
    if not is_first:
        row = db.execute(
            "SELECT m.number, s.turns FROM messages m JOIN sessions s ON s.session = m.session"
            " WHERE m.run = ? AND m.role = 'user'",
            (message.run,),
        ).fetchone()
        if row:
            number, turns = row
            return number, turns
    return append_user_line(db, message, in_context=in_context)


def _has_something(end: End) -> bool:
    return end.reason != "silent" and bool(end.text or end.attachments)


def _is_shown(db: sqlite3.Connection, run: RunId) -> bool:
    """Whether a platform shows something of a run, which an answer without text has to take back."""
    return db.execute("SELECT 1 FROM deliveries WHERE run = ? LIMIT 1", (run,)).fetchone() is not None


def _add_exchange(db: sqlite3.Connection, message: InboundMessage, end: End, speaker: str) -> None:
    """Add a message and its reply for people to see; the model never gets them."""
    said = db.execute("SELECT 1 FROM messages WHERE run = ? AND role = 'user'", (message.run,))
    if said.fetchone() is None:  # an attempt that was given back has put it there
        append_user_line(db, message, in_context=False)
    append_answer_line(db, end, speaker, in_context=False)


def _fenced(changed: sqlite3.Cursor, run: RunId) -> None:
    if changed.rowcount != 1:
        raise Fenced(f"run {run} is over, or goes on under another attempt")


def _close_entry(db: sqlite3.Connection, end: End) -> None:
    changed = db.execute(
        "UPDATE journal SET state = 'done', message = x'', ended_at = ?"
        " WHERE run = ? AND attempts = ? AND state = 'running'",
        (time.time(), end.run, end.attempt),
    )
    _fenced(changed, end.run)


def _close_absorbed(db: sqlite3.Connection, message: InboundMessage, *, in_context: bool) -> None:
    """Put a message that a running turn took up into the history; one that was taken back is gone."""
    changed = db.execute(
        "UPDATE journal SET state = 'done', message = x'', ended_at = ? WHERE run = ? AND state = 'queued'",
        (time.time(), message.run),
    )
    if changed.rowcount == 1:
        append_user_line(db, message, in_context=in_context)
