"""Logs: one line an event, with its session and turn, and nobody waits for it to be written."""

import atexit
import io
import json
import logging
import logging.handlers
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bot.settings.redaction import LogsPlace
from bot.telemetry import MAX_WAITING, current_turn, hide_in_log, set_up_logging, turn_context
from security.redaction import Policy, Redactor
from tests.security.redaction.samples import SECRETS

log = logging.getLogger("tests.telemetry")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Clogged(io.StringIO):
    """A stream that takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.opened = threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        assert self.opened.wait(20)
        return super().write(text)


@pytest.fixture
def set_up() -> Iterator[Callable[..., logging.handlers.QueueListener]]:
    """`set_up_logging`, undone afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    listeners: list[logging.handlers.QueueListener] = []

    def start(*arguments: object) -> logging.handlers.QueueListener:
        listeners.append(set_up_logging(*arguments))  # type: ignore[arg-type]  # the tests pass what it takes
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.stop()
        atexit.unregister(listener.stop)
    root.handlers[:] = handlers
    root.setLevel(level)


SetUp = Callable[..., logging.handlers.QueueListener]


def written(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object_with_time_level_event_and_fields(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "json", stream)

    log.info("turn ended", extra={"steps": 3, "text": "ä\n☃"})
    listener.stop()

    (line,) = written(stream)
    assert str(line.pop("at")).endswith("+00:00")
    assert line == {
        "level": "info",
        "event": "turn ended",
        "logger": "tests.telemetry",
        "steps": 3,
        "text": "ä\n☃",
    }


def test_inside_a_turn_every_line_names_session_and_turn(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "json", stream)

    log.info("before")
    with turn_context("web:default:main", "r1"):
        log.info("outer")
        with turn_context("web:default:other", "r2"):
            log.info("inner")
        logging.getLogger("another").warning("outer again")
    log.info("after")
    listener.stop()

    assert [(line["event"], line.get("session"), line.get("turn")) for line in written(stream)] == [
        ("before", None, None),
        ("outer", "web:default:main", "r1"),
        ("inner", "web:default:other", "r2"),
        ("outer again", "web:default:main", "r1"),
        ("after", None, None),
    ]


def test_an_error_brings_its_traceback_in_the_same_line(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "json", stream)

    try:
        raise ZeroDivisionError("a bug")
    except ZeroDivisionError:
        log.exception("turn failed")
    listener.stop()

    (line,) = written(stream)
    assert "ZeroDivisionError: a bug" in str(line["traceback"])


def test_no_field_takes_the_place_of_the_event(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "json", stream)

    log.info("turn ended", extra={"event": "x", "level": "x", "logger": "x", "at": "x"})
    listener.stop()

    (line,) = written(stream)
    assert (line["event"], line["level"], line["logger"]) == ("turn ended", "info", "tests.telemetry")


def test_what_is_no_json_is_written_as_text(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "json", stream)

    log.info("odd", extra={"thing": {1, 2}, "error": ValueError("no")})
    listener.stop()

    (line,) = written(stream)
    assert (line["thing"], line["error"]) == ("{1, 2}", "no")


@pytest.mark.parametrize("style", ["json", "console"])
def test_no_secret_is_logged_wherever_in_a_line_it_stands(set_up: SetUp, style: str) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", style, stream)
    hide_in_log(Redactor(Policy.of(LogsPlace(), key=b"key"), ["hunter2-hunter2"]).redact)
    key = SECRETS["npm"]

    log.info("call of %s failed", key)
    log.warning(
        "odd", extra={"url": f"https://x.example/?k={key}", "cause": ValueError(key), "ports": [1, 2]}
    )
    log.warning("deep", extra={"parts": {"inner": [key, "hunter2-hunter2"], "pair": (key, 1)}})
    try:
        raise ZeroDivisionError(key)
    except ZeroDivisionError:
        log.exception("turn failed")
    listener.stop()

    text = stream.getvalue()
    assert key not in text
    assert "hunter2" not in text
    assert text.count("[REDACTED-NPM]") == 6
    assert "[REDACTED-SECRET]" in text
    assert "[1, 2]" in text


def test_inside_a_turn_everybody_can_ask_which_it_is() -> None:
    with turn_context("web:default:main", "r1"):
        inside = current_turn()

    assert (inside, current_turn()) == (("web:default:main", "r1"), None)


def test_less_than_the_level_is_not_written(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("WARNING", "json", stream)

    log.info("quiet")
    log.warning("loud")
    listener.stop()

    assert [line["event"] for line in written(stream)] == ["loud"]


def test_on_a_terminal_lines_are_for_people(set_up: SetUp) -> None:
    stream = Terminal()
    listener = set_up("INFO", "auto", stream)

    with turn_context("web:default:main", "r1"):
        log.warning("model slow", extra={"seconds": 2.5})
        log.info("turn ended")
    listener.stop()

    first, second = stream.getvalue().splitlines()
    fields = "session=web:default:main turn=r1"
    assert first.endswith(f"\x1b[33mwarning \x1b[0m model slow  {fields} seconds=2.5")
    assert second.endswith(f"info     turn ended  {fields}")


def test_away_from_a_terminal_lines_are_objects(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "auto", stream)

    log.info("ready")
    listener.stop()

    assert written(stream)[0]["event"] == "ready"


def test_the_console_shows_tracebacks_and_no_colours_in_a_file(set_up: SetUp) -> None:
    stream = io.StringIO()
    listener = set_up("INFO", "console", stream)

    try:
        raise ZeroDivisionError("a bug")
    except ZeroDivisionError:
        log.exception("turn failed")
    listener.stop()

    assert "ZeroDivisionError: a bug" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_stream_that_does_not_drain_holds_nobody_up(set_up: SetUp) -> None:
    stream = Clogged()
    listener = set_up("INFO", "json", stream)
    log.info("first")
    assert stream.reached.wait(5)

    began = time.monotonic()
    for number in range(MAX_WAITING + 500):
        log.info("line", extra={"number": number})
    seconds = time.monotonic() - began
    stream.opened.set()
    listener.stop()

    assert seconds < 5
    assert 0 < len(written(stream)) <= MAX_WAITING + 1


def test_the_end_of_the_process_does_not_wait_for_a_stream_that_never_drains(set_up: SetUp) -> None:
    stream = Clogged()
    listener = set_up("INFO", "json", stream)
    for _ in range(MAX_WAITING + 500):
        log.info("line")

    began = time.monotonic()
    listener.stop()
    seconds = time.monotonic() - began
    stream.opened.set()

    assert seconds < 10
