"""`audit verify`, `tail`, `search` and `export`: the audit log, with the bot running or not."""

import json
import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from bot.agent.audit import AuditEntry, Damaged, Findings
from bot.agent.audit_query import CSV_HEAD, SEVERITIES, Query, as_csv, as_json
from bot.app import open_audit
from bot.errors import ConfigError, StoreError
from bot.messages import utc_now
from bot.operations.terminal import say
from bot.settings import Settings, load_settings

LOOK_SECONDS: Final = 0.3  # between two looks for new lines, which another process writes
MAX_COUNT: Final = 100_000
FORMS: Final = ("jsonl", "csv")
AGO: Final = re.compile(r"(\d{1,6})([smhdw])")
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Book(Protocol):
    """The log, as it is read."""

    def check(self) -> Findings:
        """Check all of it.

        Raises:
            StoreError: It can't be read.
        """

    def read_new(self) -> Iterator[AuditEntry | Damaged]:
        """What was written since the last call, the oldest first; at first, everything.

        Raises:
            StoreError: It can't be read.
        """


def make_query(
    *,
    actor: str | None = None,
    action: str | None = None,
    severity: str | None = None,
    session: str | None = None,
    since: str | None = None,
    until: str | None = None,
    text: str | None = None,
) -> Query:
    """Read what a person has typed.

    Raises:
        ConfigError: A severity or a time is none.
    """
    if severity is not None and severity not in SEVERITIES:
        raise ConfigError(f"{severity!r} is no severity: there are {', '.join(SEVERITIES)}")
    return Query(
        actor=actor,
        action=action,
        severity=severity,
        session=session,
        since=None if since is None else read_time(since, utc_now()),
        until=None if until is None else read_time(until, utc_now()),
        text=text,
    )


def read_time(text: str, now: datetime) -> datetime:
    """A time as people write it: `2026-11-21`, `2026-11-21T10:30`, or so long ago: `90m`, `2h`, `7d`.

    Without an offset it is in UTC, as in the log.

    Raises:
        ConfigError: It is none.
    """
    ago = AGO.fullmatch(text)
    try:
        if ago is not None:
            return now - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is no time: write 2026-11-21, 2026-11-21T10:30, or 2h, 7d ago") from None


# --- what the command line calls


def verify() -> int:
    """`audit verify`."""
    return audit_verify(_open(load_settings()))


def tail(count: int, is_following: bool, is_json: bool) -> int:
    """`audit tail`."""
    stop = threading.Event() if is_following else None
    return audit_tail(_open(load_settings()), count, stop=stop, is_json=is_json)


def search(asked: Mapping[str, str | None], limit: int, is_json: bool) -> int:
    """`audit search`; `asked` has what `make_query` takes."""
    return audit_search(_open(load_settings()), make_query(**asked), limit, is_json=is_json)


def export(file: Path, form: str, asked: Mapping[str, str | None]) -> int:
    """`audit export`."""
    return audit_export(_open(load_settings()), file.absolute(), form, make_query(**asked))


def _open(settings: Settings) -> Book:
    return open_audit(settings)


# --- what they do


def audit_verify(book: Book) -> int:
    """Tell whether the log is whole; 1 where it is not, with the first bad line named first."""
    findings = book.check()
    for note in findings.notes:
        say(f"note   {_shown(note)}")
    if not findings.faults:
        say(f"The audit log is whole: {findings.lines} lines in {findings.files} files.")
        return 0
    for fault in findings.faults:
        where = fault.file if fault.line is None else f"{fault.file}, line {fault.line}"
        say(f"fault  {_shown(where)}: {_shown(fault.text)}")
    say(f"The audit log is NOT whole: see above, of {findings.lines} lines in {findings.files} files.")
    return 1


def audit_tail(book: Book, count: int, *, stop: threading.Event | None = None, is_json: bool = False) -> int:
    """Print the last events, the newest last; with `stop`, go on with what comes until it is set."""
    for item in deque(book.read_new(), maxlen=max(0, min(count, MAX_COUNT))):
        _print(item, is_json=is_json)
    with suppress(KeyboardInterrupt):  # how a person ends it
        while stop is not None and not stop.wait(LOOK_SECONDS):
            for item in book.read_new():
                _print(item, is_json=is_json)
    return 0


def audit_search(book: Book, query: Query, limit: int, *, is_json: bool = False) -> int:
    """Print the last events that are wanted, the newest last; 1 where there is none, as grep does."""
    found: deque[AuditEntry] = deque(maxlen=max(1, min(limit, MAX_COUNT)))
    count = 0
    for entry in _entries(book):
        if query.matches(entry):
            found.append(entry)
            count += 1
    for entry in found:
        _print(entry, is_json=is_json)
    if not is_json and count == 0:
        say("No event in the audit log matches.")
    elif not is_json and count > len(found):
        say(f"These are the last {len(found)} of {count}: --limit shows more.")
    return 0 if count else 1


def audit_export(book: Book, file: Path, form: str, query: Query) -> int:
    """Write the events that are wanted into a new file that only its owner may read.

    Raises:
        ConfigError: The file is there already, or can't be made; the form is neither `jsonl` nor `csv`.
        StoreError: It could not be written.
    """
    if form not in FORMS:
        raise ConfigError(f"{form!r} is no format: there are {' and '.join(FORMS)}")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConfigError(f"{file} is there already: name a new file") from None
    except OSError as error:
        raise ConfigError(f"{file} can't be made: {error.strerror}") from error
    count = 0
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
            if form == "csv":
                out.write(CSV_HEAD)
            for entry in _entries(book):
                if query.matches(entry):
                    out.write(as_csv(entry) if form == "csv" else as_json(entry) + "\n")
                    count += 1
    except (OSError, StoreError) as error:
        file.unlink(missing_ok=True)
        raise StoreError(f"{file} could not be written: {error}") from error
    say(f"Exported {count} events: {file}")
    return 0


def _entries(book: Book) -> Iterator[AuditEntry]:
    """The events; lines that can't be read are counted on the way, and told of by `verify`."""
    return (item for item in book.read_new() if isinstance(item, AuditEntry))


def _print(item: AuditEntry | Damaged, *, is_json: bool) -> None:
    match item:
        case AuditEntry() if is_json:
            say(as_json(item))
        case AuditEntry():
            say(_line(item))
        case Damaged(file=file, line=line) if not is_json:
            say(f"(line {line} of {_shown(file)} can't be read: `python -m bot audit verify` looks at all)")


def _line(entry: AuditEntry) -> str:
    """An event for a terminal."""
    about: dict[str, object] = {"session": entry.session, "run": entry.run, **entry.context}
    more = "".join(f" {name}={value}" for name, value in about.items() if value is not None)
    text = (
        f"{entry.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} {entry.severity:8} {entry.actor}  {entry.action}"
        f"  {entry.target}  {entry.status} {more}"
    )
    return _shown(text.rstrip())


def _shown(text: str) -> str:
    """With what a terminal would obey, or can't show, made visible."""
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)
