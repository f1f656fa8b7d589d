"""Logs: one structured line an event, written by a thread, with the session and the turn on each."""

import atexit
import json
import logging
import logging.handlers
import queue
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO, TypeAlias

Redact: TypeAlias = Callable[[str], str]

_turn: ContextVar[tuple[str, str] | None] = ContextVar("turn", default=None)

MAX_WAITING = 10_000  # lines; past it a line is dropped rather than the event loop held up
STOP_SECONDS = 2.0  # the most that the end of the process waits for the last lines
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "turn"}
_COLOURS = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[1;31m"}


@contextmanager
def turn_context(session: str, run: str) -> Iterator[None]:
    """Put the session and the turn on every line logged inside."""
    token = _turn.set((session, run))
    try:
        yield
    finally:
        _turn.reset(token)


def current_turn() -> tuple[str, str] | None:
    """Session and run of the turn in which this is called; `None` outside of turns."""
    return _turn.get()


def extra_fields(record: logging.LogRecord) -> dict[str, object]:
    """What was given with a line as `extra`."""
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


class _LineFormatter(logging.Formatter):
    """Makes a line in which nothing is to be read that must not be.

    Attributes:
        redact: Hides that; called in the thread that writes, so that nobody waits for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.redact: Redact = str

    def phrase(self, record: logging.LogRecord) -> str:
        """The event itself."""
        return self.redact(record.getMessage())

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """What the line says beyond its phrase, in a fixed order."""
        fields: dict[str, object] = {}
        if turn := getattr(record, "turn", None):
            fields["session"], fields["turn"] = turn
        fields |= {key: self._hidden(value) for key, value in extra_fields(record).items()}
        return fields

    def traceback(self, record: logging.LogRecord) -> str:
        """That of the error of a line which has one; empty where it has none."""
        return self.redact(self.formatException(record.exc_info)) if record.exc_info else ""

    def _hidden(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case dict():
                return {str(key): self._hidden(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self._hidden(inner) for inner in value]
            case _:
                return self.redact(str(value))


class JsonFormatter(_LineFormatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": self.phrase(record),
            "logger": record.name,
        }
        line = {**line, **self.fields(record), **line}  # our four stand first, and no field takes their place
        if traceback := self.traceback(record):
            line["traceback"] = traceback
        return json.dumps(line, default=str, ensure_ascii=False)


class ConsoleFormatter(_LineFormatter):
    """A line for people: time, level, phrase, fields."""

    def __init__(self, *, has_colour: bool) -> None:
        super().__init__()
        self._has_colour = has_colour

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        colour = _COLOURS.get(record.levelname, "") if self._has_colour else ""
        level = f"{colour}{record.levelname.lower():8}{chr(27) + '[0m' if colour else ''}"
        fields = " ".join(f"{key}={value}" for key, value in self.fields(record).items())
        text = f"{clock} {level} {self.phrase(record)}{'  ' + fields if fields else ''}"
        traceback = self.traceback(record)
        return f"{text}\n{traceback}" if traceback else text


class _Queueing(logging.handlers.QueueHandler):
    """Notes the turn while the context is still there, and leaves the rest to the thread.

    Args:
        formatter: Makes the lines there.
    """

    def __init__(self, waiting: "queue.Queue[logging.LogRecord | None]", formatter: _LineFormatter) -> None:
        super().__init__(waiting)
        self.line_formatter = formatter

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        record.turn = _turn.get()
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:  # standard error does not drain: losing a line is better than standing still
            _Queueing.dropped += 1

    dropped = 0


class _Listener(logging.handlers.QueueListener):
    """Ends when told to, even with a full queue and a stream that does not drain."""

    def __init__(self, waiting: "queue.Queue[logging.LogRecord | None]", handler: logging.Handler) -> None:
        super().__init__(waiting, handler)
        self._waiting = waiting

    def enqueue_sentinel(self) -> None:
        while True:
            with suppress(queue.Full):
                self._waiting.put_nowait(None)
                return
            with suppress(queue.Empty):
                self._waiting.get_nowait()

    def stop(self) -> None:
        if (thread := self._thread) is not None:
            self.enqueue_sentinel()
            thread.join(STOP_SECONDS)
            self._thread = None


def set_up_logging(
    level: str, style: Literal["auto", "console", "json"], stream: TextIO = sys.stderr
) -> logging.handlers.QueueListener:
    """Send the log of the whole process to `stream`; called once, by the command line.

    Returns:
        What writes: `stop` it to have all that waits written; at the end of the process it stops by itself.
    """
    is_console = style == "console" or (style == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    formatter = ConsoleFormatter(has_colour=stream.isatty()) if is_console else JsonFormatter()
    handler.setFormatter(formatter)
    waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(MAX_WAITING)
    listener = _Listener(waiting, handler)
    root = logging.getLogger()
    root.handlers[:] = [_Queueing(waiting, formatter)]
    root.setLevel(level)
    for name in ("uvicorn.error", "asyncio", "websockets", "aiohttp", "mcp", "httpx2"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    listener.start()
    atexit.register(listener.stop)
    return listener


def hide_in_log(redact: Redact) -> None:
    """Have a function hide what must not be logged, from now on, where `set_up_logging` was called.

    Args:
        redact: For phrases, fields and tracebacks; must be safe to call in another thread.
    """
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _Queueing):
            handler.line_formatter.redact = redact
