"""The newest lines of the log, for who watches it."""

import logging
import threading
from collections.abc import Iterator

import pytest

from bot.log_tail import MAX_TEXT, LogTail
from bot.telemetry import turn_context

log = logging.getLogger("tests.log_tail")


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


@pytest.fixture
def tail() -> Iterator[LogTail]:
    root = logging.getLogger()
    before, tail = root.level, LogTail(hide, most=5).open()
    root.setLevel("DEBUG")
    yield tail
    root.setLevel(before)
    tail.close()


def texts(tail: LogTail, *, level: str = "DEBUG", text: str = "", after: int = 0) -> list[str]:
    _, lines = tail.read(after=after, level=level, text=text)
    return [line.text for line in lines if line.logger == log.name]


def test_the_newest_lines_are_kept_and_the_oldest_go(tail: LogTail) -> None:
    for number in range(12):
        log.info("line %d", number)

    newest, lines = tail.read()
    assert [line.text for line in lines] == [f"line {number}" for number in range(7, 12)]
    assert newest == lines[-1].number == 12


def test_lines_are_found_by_level_and_by_text_wherever_it_stands(tail: LogTail) -> None:
    log.debug("small")
    log.warning("delivery failed", extra={"channel": "telegram"})
    log.error("other")

    assert texts(tail, level="WARNING") == ["delivery failed", "other"]
    assert texts(tail, text="TELEGRAM") == ["delivery failed"]
    assert texts(tail, text="log_tail", level="ERROR") == ["other"]


def test_who_follows_gets_what_is_new(tail: LogTail) -> None:
    log.info("one")
    newest, _ = tail.read()
    log.info("two")

    assert texts(tail, after=newest) == ["two"]
    assert tail.read(after=newest + 1) == (newest + 1, [])


def test_secrets_are_hidden_in_texts_fields_and_tracebacks(tail: LogTail) -> None:
    try:
        raise ValueError("hunter2")
    except ValueError:
        log.exception("login hunter2", extra={"password": "hunter2"})

    (line,) = tail.read()[1]
    assert "hunter2" not in repr(line)
    assert (line.text, line.fields) == ("login ***", "password=***")
    assert "ValueError: ***" in line.traceback


def test_a_secret_at_the_cut_is_not_shown_in_half(tail: LogTail) -> None:
    log.info("%shunter2", "x" * (MAX_TEXT - 4))

    (line,) = tail.read()[1]
    assert line.text.endswith("x***")
    assert len(line.text) <= MAX_TEXT


def test_a_line_names_the_session_in_whose_turn_it_was_logged(tail: LogTail) -> None:
    with turn_context("web:default:main", "run"):
        log.info("inside")
    log.info("outside")

    assert [line.session for line in tail.read()[1]] == ["web:default:main", ""]


def test_a_line_that_can_not_be_made_raises_nothing(
    tail: LogTail, capsys: pytest.CaptureFixture[str]
) -> None:
    tail.handle(logging.makeLogRecord({"name": log.name, "msg": "%d", "args": ("x",)}))

    assert texts(tail) == []
    assert "Logging error" in capsys.readouterr().err


def test_nothing_is_collected_before_it_is_opened_or_after_it_is_closed() -> None:
    tail = LogTail(hide)
    log.error("before")
    tail.open().open()
    count = logging.getLogger().handlers.count(tail)
    tail.close()
    log.error("after")

    assert count == 1
    assert tail not in logging.getLogger().handlers
    assert tail.read() == (0, [])


def test_lines_of_many_threads_are_numbered_in_order(tail: LogTail) -> None:
    def work() -> None:
        for _ in range(50):
            log.info("x")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    newest, lines = tail.read()
    assert newest == 200
    assert [line.number for line in lines] == list(range(196, 201))
