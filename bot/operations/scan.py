"""`scan`: try the injection scanner on texts, files or standard input."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from bot.app import open_scanner
from bot.errors import BotError
from bot.operations.terminal import say
from bot.settings import load_settings

MOST_BYTES = 64 * 1024 * 1024  # of a file, or of a line
ON_STANDARD_INPUT = "-"


class Place(Protocol):
    """A finding, in characters of the input."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def type(self) -> str: ...


class Grade(Protocol):
    """How bad it is, by name."""

    @property
    def name(self) -> str: ...


class Found(Protocol):
    """What a scan has found."""

    @property
    def level(self) -> Grade: ...
    @property
    def score(self) -> float: ...
    @property
    def reasons(self) -> Sequence[str]: ...
    @property
    def spans(self) -> Sequence[Place]: ...


class Scans(Protocol):
    """Looks at texts."""

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Found:
        """Look at one."""


class Line(msgspec.Struct, frozen=True):
    """What stands in a line of `--jsonl`; other keys are left out."""

    text: str


def scan(texts: Sequence[str], files: Sequence[Path], is_jsonl: bool, is_strict: bool) -> int:
    """`scan`: with neither texts nor files, what comes on standard input; 1 if some of it can't be read.

    Args:
        texts: To be looked at one by one.
        files: The same, each as a whole; `-` is standard input. With `is_jsonl`, a text a line.
        is_jsonl: Read and write JSON, line for line.
        is_strict: As for what tools bring: quotations count in full.
    """
    scanner: Scans = open_scanner(load_settings())
    sources = [*files] if texts or files else [Path(ON_STANDARD_INPUT)]
    code = 0
    for number, text in enumerate(texts, 1):
        found = scanner.scan(text, are_quotes_lenient=not is_strict)
        say(as_json(found, text) if is_jsonl else as_words(found, f"text {number}"))
    for source in sources:
        with _open(source) as stream:
            if is_jsonl:
                code = max(code, scan_lines(scanner, stream, is_strict=is_strict))
            else:
                found = scanner.scan(_read(stream, source), are_quotes_lenient=not is_strict)
                say(as_words(found, "standard input" if str(source) == ON_STANDARD_INPUT else str(source)))
    return code


def scan_lines(scanner: Scans, lines: Iterable[bytes], *, is_strict: bool) -> int:
    """Answer each line by one; a bad one by its error. Gives the exit code."""
    code = 0
    for line in lines:
        try:
            text = msgspec.json.decode(line, type=Line).text
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            say(msgspec.json.encode({"error": str(error)}).decode())
            code = 1
            continue
        say(as_json(scanner.scan(text, are_quotes_lenient=not is_strict), text))
    return code


def as_json(found: Found, text: str) -> str:
    """A finding as one line of JSON."""
    spans = [{"start": span.start, "end": span.end, "type": span.type} for span in found.spans]
    return msgspec.json.encode(
        {
            "level": found.level.name,
            "score": round(found.score, 4),
            "reasons": list(found.reasons),
            "spans": spans,
            "text": text,
        }
    ).decode()


def as_words(found: Found, name: str) -> str:
    """A finding as one line for people."""
    places = ", ".join(f"{span.type} {span.start}-{span.end}" for span in found.spans[:5])
    reasons = ", ".join(found.reasons)
    return f"{found.level.name:8} {found.score:.2f}  {name}" + (
        f"  {reasons}  at {places}" if reasons else ""
    )


def _open(source: Path) -> BinaryIO:
    if str(source) == ON_STANDARD_INPUT:
        return sys.stdin.buffer
    try:
        return source.open("rb")
    except OSError as error:
        raise BotError(f"{source} can't be read: {error.strerror}") from error


def _read(stream: BinaryIO, source: Path) -> str:
    body = stream.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise BotError(f"{source} is larger than {MOST_BYTES // 1_048_576} MB")
    return body.decode("utf-8", "replace")
