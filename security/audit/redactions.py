"""Writes down that something was hidden, and never what."""

from collections.abc import Callable, Mapping

from bot.agent.audit import AuditEvent
from bot.messages import RunId, SessionKey
from bot.telemetry import current_turn
from security.audit.log import AuditLog


def note_hidden(log: AuditLog, place: str) -> Callable[[Mapping[str, int]], None]:
    """Make what notes how many of each kind were hidden in one place; to be called on the event loop."""

    def note(kinds: Mapping[str, int]) -> None:
        turn = current_turn()
        event = AuditEvent(
            severity="info",
            actor="redaction",
            action="redacted",
            target=place,
            status="hidden",
            session=SessionKey(turn[0]) if turn is not None else None,
            run=RunId(turn[1]) if turn is not None else None,
            context=tuple(kinds.items()),
        )
        log.note(event)

    return note
