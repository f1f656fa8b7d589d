"""From an event to what is written of it: redacted, and within bounds."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from bot.agent.audit import AuditEntry, AuditEvent, Value
from bot.messages import RunId, SessionKey, new_id

log = logging.getLogger(__name__)

MAX_NAME: Final = 300  # characters of a field
MAX_TEXT: Final = 2_000  # characters of a value of the context
MAX_VALUES: Final = 20
WITHHELD: Final = "[withheld: it could not be redacted]"


def make_entry(event: AuditEvent, redact: Callable[[str], str], now: datetime) -> AuditEntry:
    """What is to be written; where redacting fails, without the texts that may need it."""
    session, run = event.session, event.run
    try:
        # A target that is the session itself is an id, and has to be found by it.
        target = event.target if event.target == session else _text(event.target, redact, MAX_NAME)
        status = _text(event.status, redact, MAX_NAME)
        context = {_cut(name, MAX_NAME): _value(value, redact) for name, value in event.context[:MAX_VALUES]}
    except Exception as error:  # a redactor may be anybody's; the decision has to be on record all the same
        log.error("audit event not redacted", exc_info=error, extra={"action": event.action})
        target, status, context = WITHHELD, WITHHELD, {}
    return AuditEntry(
        id=new_id(),
        at=now,
        severity=event.severity,
        actor=_cut(event.actor, MAX_NAME),
        action=_cut(event.action, MAX_NAME),
        target=_cut(target, MAX_NAME),
        status=status,
        session=None if session is None else SessionKey(_cut(session, MAX_NAME)),
        run=None if run is None else RunId(_cut(run, MAX_NAME)),
        context=context,
    )


def _value(value: Value, redact: Callable[[str], str]) -> Value:
    return _text(value, redact, MAX_TEXT) if isinstance(value, str) else value


def _text(text: str, redact: Callable[[str], str], limit: int) -> str:
    """Redacted, then cut; what is far behind the cut need not be looked at, and half a secret never stays."""
    return _cut(redact(text[: 4 * limit]), limit)


def _cut(text: str, limit: int) -> str:
    # Half a surrogate pair can't be written.
    whole = text if text.isascii() else text.encode(errors="replace").decode()
    return whole if len(whole) <= limit else f"{whole[:limit]}…"
