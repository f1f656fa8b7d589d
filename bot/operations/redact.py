"""`redact`: shows what redaction makes of files or standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Protocol

import msgspec

from bot.app import redactor_of
from bot.errors import ConfigError
from bot.settings import load_settings
from bot.settings.redaction import PlaceSettings

PIECE = 65_536  # characters read at a time
EVERYTHING = PlaceSettings(
    secrets="mask",
    email="mask",
    phone="mask",
    card="mask",
    iban="mask",
    national_id="mask",
    ip="mask",
    birth_date="mask",
)


class Found(Protocol):
    """What was hidden; offsets are characters of the text that came in."""

    @property
    def kind(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Shown(Protocol):
    """A text as it may be shown."""

    @property
    def text(self) -> str: ...
    @property
    def matches(self) -> tuple[Found, ...]: ...


class Stream(Protocol):
    """A text on its way, in pieces."""

    def feed(self, text: str) -> str: ...
    def flush(self) -> str: ...


class TextRedactor(Protocol):
    """What the command needs of a redactor."""

    def open(self) -> Stream: ...
    def inspect(self, text: str) -> Shown: ...


class _Line(msgspec.Struct):
    text: str


class _Span(msgspec.Struct):
    start: int
    end: int
    type: str


class _Answer(msgspec.Struct):
    level: str
    score: float
    reasons: list[str]
    spans: list[_Span]
    text: str


def redact(files: list[Path], is_jsonl: bool, is_all: bool) -> int:
    """`redact`: 0 where all could be read.

    Args:
        files: What to read, one after the other; none is standard input.
        is_jsonl: Lines are `{"text": ...}`, and so are the answers.
        is_all: Hide all kinds, whatever the settings say of answers.

    Raises:
        ConfigError: A file can't be read, or a line is no such JSON.
    """
    settings = load_settings()
    place = EVERYTHING if is_all else settings.redaction.outbound
    write(redactor_of(settings, place), files, is_jsonl=is_jsonl)
    return 0


def write(redactor: TextRedactor, files: list[Path], *, is_jsonl: bool) -> None:
    """Write what may be shown of some files, or of standard input, to standard output.

    Raises:
        ConfigError: As `redact` does; what came before has been written.
    """
    sources: list[Path | None] = [*files] or [None]
    for path in sources:
        try:
            with path.open(encoding="utf-8") if path else nullcontext(sys.stdin) as source:
                for part in answers(redactor, source) if is_jsonl else pieces(redactor, source):
                    sys.stdout.write(part)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise ConfigError(f"{path or 'standard input'}: {error}") from error
        finally:
            sys.stdout.flush()


def pieces(redactor: TextRedactor, source: IO[str]) -> Iterator[str]:
    """A text of any length, as it may be shown."""
    stream = redactor.open()
    while piece := source.read(PIECE):
        yield stream.feed(piece)
    yield stream.flush()


def answers(redactor: TextRedactor, lines: Iterable[str]) -> Iterator[str]:
    """An answer a line, as JSON; empty lines get none."""
    for line in lines:
        if line.strip():
            yield (
                msgspec.json.encode(_answer(redactor, msgspec.json.decode(line, type=_Line))).decode() + "\n"
            )


def _answer(redactor: TextRedactor, line: _Line) -> _Answer:
    shown = redactor.inspect(line.text)
    spans = [_Span(found.start, found.end, found.kind) for found in shown.matches]
    return _Answer(
        level="HIGH" if spans else "NONE",
        score=1.0 if spans else 0.0,
        reasons=sorted({span.type for span in spans}),
        spans=spans,
        text=shown.text,
    )
