"""What the bot needs of an audit log, and what its lines look like; `security/audit` fulfils it."""

from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from bot.messages import Frozen, RunId, SessionKey

Severity: TypeAlias = Literal["info", "warning", "critical", "alert"]
Value: TypeAlias = str | int | float


class AuditEvent(Frozen, frozen=True, kw_only=True):
    """A decision or an act that somebody may want to read about later; never a message's text.

    Attributes:
        severity: `alert` wants somebody to look now.
        actor: Who, as admins are named: `telegram:42`; `agent` or a part of the bot where nobody asked.
        action: What: `kill_session`, `tool exec`.
        target: To whom or what.
        status: How it was decided, or how it went.
        context: More that is known, as pairs of a name and a value; at most 20 are kept.
    """

    severity: Severity
    actor: str
    action: str
    target: str
    status: str
    session: SessionKey | None = None
    run: RunId | None = None
    context: tuple[tuple[str, Value], ...] = ()


class AuditEntry(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """An event as it stands in the log.

    Attributes:
        number: Counts all lines of the log, from 1; 0 in files from before lines were chained.
        at: When it was handed in, in UTC.
    """

    number: int = 0
    id: str
    at: datetime
    severity: Severity
    actor: str
    action: str
    target: str
    status: str
    session: SessionKey | None = None
    run: RunId | None = None
    context: dict[str, Value] = {}  # noqa: RUF012 - msgspec copies it


class Damaged(Frozen, frozen=True, kw_only=True):
    """A line that can't be read."""

    file: str
    line: int


class Fault(Frozen, frozen=True, kw_only=True):
    """Something was done to the log; `line` counts from 1 in its file, `None` is the file as a whole."""

    file: str
    line: int | None
    text: str


class Findings(Frozen, frozen=True, kw_only=True):
    """What a check of the log has found.

    Attributes:
        faults: In the order of the log, the first bad line first; at most 50.
        notes: What is no fault, but good to know: a line that a crash has cut, a file nobody counts.
    """

    files: int
    lines: int
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


class Audit(Protocol):
    """Keeps what happened."""

    async def record(self, event: AuditEvent) -> None:
        """Append an event; a failure to write is logged as critical and stops nobody."""
