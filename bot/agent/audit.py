"""What the loop needs of an audit log; `security/audit.py` fulfils it."""

from typing import Literal, Protocol

from bot.messages import Frozen, RunId, SessionKey


class AuditEvent(Frozen, frozen=True, kw_only=True):
    """A decision or an act that somebody may want to read about later; never a message's text."""

    severity: Literal["info", "warning", "critical", "alert"]
    actor: str
    action: str
    target: str
    status: str
    session: SessionKey | None = None
    run: RunId | None = None


class Audit(Protocol):
    """Keeps what happened."""

    async def record(self, event: AuditEvent) -> None:
        """Append an event; a failure to write is logged as critical and stops nobody."""
