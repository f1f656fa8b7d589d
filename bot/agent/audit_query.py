"""Which events of the audit log somebody wants, and what they look like in a file."""

import csv
import json
from collections.abc import Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from io import StringIO
from typing import Final, get_args

import msgspec

from bot.agent.audit import AuditEntry, Severity
from bot.messages import encoder

SEVERITIES: Final[tuple[str, ...]] = get_args(Severity)
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would calculate what begins so
COLUMNS: Final = (
    *("number", "id", "at", "severity", "actor", "action", "target", "status", "session", "run", "context"),
)


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; what is `None` is not asked for.

    Attributes:
        actor, action, session: Patterns with `*` and `?` for the whole of it.
        severity: This one or a graver one.
        since, until: From this time on, and before this one.
        text: Stands somewhere in the event, in whatever case.
    """

    actor: str | None = None
    action: str | None = None
    severity: str | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None

    def matches(self, entry: AuditEntry) -> bool:
        """Whether an event is wanted."""
        patterns = (
            (self.actor, entry.actor),
            (self.action, entry.action),
            (self.session, entry.session or ""),
        )
        if not all(pattern is None or fnmatchcase(value, pattern) for pattern, value in patterns):
            return False
        if self.severity is not None and SEVERITIES.index(entry.severity) < SEVERITIES.index(self.severity):
            return False
        if self.since is not None and entry.at < self.since:
            return False
        if self.until is not None and entry.at >= self.until:
            return False
        return self.text is None or self.text.casefold() in _all_text(entry).casefold()


def as_json(entry: AuditEntry) -> str:
    """An event as one line of JSON, without its end."""
    return encoder.encode(entry).decode()


def as_csv(entry: AuditEntry) -> str:
    """An event as a line under `CSV_HEAD`."""
    plain: dict[str, object] = {name: getattr(entry, name) for name in COLUMNS}
    plain["at"] = entry.at.isoformat()
    plain["context"] = json.dumps(entry.context, ensure_ascii=False)
    return _row(tuple(_cell("" if value is None else str(value)) for value in plain.values()))


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


def _row(cells: Sequence[str]) -> str:
    out = StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()


def _all_text(entry: AuditEntry) -> str:
    fields = (entry.actor, entry.action, entry.target, entry.status, entry.session, entry.run)
    return "\n".join(map(str, (*fields, *entry.context, *entry.context.values())))


CSV_HEAD: Final = _row(COLUMNS)
