"""The newest lines of the log, for who watches it on a page; collected only while somebody may."""

import logging
import threading
from collections import deque
from typing import Final, Self

from bot.messages import Frozen
from bot.telemetry import Redact, current_turn, extra_fields

MAX_LINES: Final = 2_000
MAX_TEXT: Final = 2_000  # characters of a line's text, and of its fields
MAX_TRACEBACK: Final = 8_000
MARGIN: Final = 4  # texts are cut twice: so that no half of a secret is left at the cut that shows
_formatter: Final = logging.Formatter()


class LogLine(Frozen, frozen=True):
    """A line of the log, redacted.

    Attributes:
        number: Counts from 1; a gap is what was pushed out.
        at: Seconds since 1970.
        session: In whose turn it was logged; empty outside of turns.
        fields: What it says beside its text, as `name=value`.
    """

    number: int
    at: float
    level: str
    logger: str
    text: str
    session: str = ""
    fields: str = ""
    traceback: str = ""

    @property
    def rank(self) -> int:
        """How grave it is, as `logging` counts."""
        return logging.getLevelNamesMapping().get(self.level, 0)

    def has(self, text: str) -> bool:
        """Whether a text stands in it, in whatever case."""
        wanted = text.casefold()
        every = (self.text, self.fields, self.session, self.logger, self.traceback)
        return any(wanted in one.casefold() for one in every)


class LogTail(logging.Handler):
    """Collects lines between `open` and `close`.

    A line costs the one who logs it no more than its text; redacting is done by who reads.

    Args:
        redact: Hides what must not be shown; called in the reader's thread.
    """

    def __init__(self, redact: Redact, *, most: int = MAX_LINES) -> None:
        super().__init__()
        self._redact = redact
        self._coming: deque[LogLine] = deque(maxlen=most)
        self._kept: deque[LogLine] = deque(maxlen=most)
        self._count = 0
        self._reading = threading.Lock()

    def open(self) -> Self:
        """Collect from now on; does nothing where it does already."""
        root = logging.getLogger()
        if self not in root.handlers:
            root.addHandler(self)
        return self

    def close(self) -> None:
        """Collect no more, and forget all."""
        logging.getLogger().removeHandler(self)
        self._coming.clear()
        self._kept.clear()
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`, which lets one in at a time."""
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - a line that can't be made must not raise where it is logged
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        self._count += 1
        turn = current_turn()
        trace = _formatter.formatException(record.exc_info) if record.exc_info else ""
        fields = " ".join(f"{name}={value}" for name, value in extra_fields(record).items())
        self._coming.append(
            LogLine(
                self._count,
                record.created,
                record.levelname,
                record.name,
                record.getMessage()[: MARGIN * MAX_TEXT],
                turn[0] if turn is not None else "",
                fields[: MARGIN * MAX_TEXT],
                trace[-MARGIN * MAX_TRACEBACK :],
            )
        )

    def read(
        self, *, after: int = 0, level: str = "DEBUG", text: str = "", limit: int = MAX_LINES
    ) -> tuple[int, list[LogLine]]:
        """The number of the newest line, and the lines that are wanted, the oldest first.

        Blocks while it redacts what is new: for a thread.

        Args:
            after: Only lines behind this number.
            level: This one, or a graver one.
            text: Stands somewhere in them.
        """
        least = logging.getLevelNamesMapping()[level]
        with self._reading:
            while self._coming:
                self._kept.append(self._hidden(self._coming.popleft()))
            kept = list(self._kept)
        found = [
            line
            for line in kept
            if line.number > after and line.rank >= least and (not text or line.has(text))
        ]
        return (kept[-1].number if kept else 0), found[-limit:]

    def _hidden(self, line: LogLine) -> LogLine:
        return LogLine(
            line.number,
            line.at,
            line.level,
            line.logger,
            self._redact(line.text)[:MAX_TEXT],
            line.session,
            self._redact(line.fields)[:MAX_TEXT] if line.fields else "",
            self._redact(line.traceback)[-MAX_TRACEBACK:] if line.traceback else "",
        )
