"""mem0 within bounds: nothing of it phones home, keeps what was forgotten, or writes memories into a log."""

import logging
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bot.long_term import Fact
from tests.memory.long_term.conftest import ANN, BY_ANN, WordVectors, opened

pytestmark = pytest.mark.skipif(find_spec("mem0") is None, reason="the extra `memory` is not installed")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every host that is looked up."""
    asked: list[str] = []
    look_up = socket.getaddrinfo

    def noting(host: str, *rest: int, **others: int) -> object:
        asked.append(host)
        return look_up(host, *rest, **others)

    monkeypatch.setattr(socket, "getaddrinfo", noting)
    return asked


async def test_it_talks_to_nobody_and_writes_no_memory_into_logs_or_files(
    tmp_path: Path,
    home: Path,
    hosts: list[str],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobodys = tmp_path / "nobodys-home"
    nobodys.mkdir()
    monkeypatch.setenv("HOME", str(nobodys))
    caplog.set_level(logging.DEBUG)
    async with opened("mem0", home, WordVectors()) as memories:
        await memories.learn(ANN, [Fact(text="xylophone lessons")], BY_ANN)
        await memories.search([ANN], "xylophone", limit=3)
        await memories.update(ANN, 1, "zither lessons", BY_ANN)
        await memories.forget(ANN)
    shown = capfd.readouterr()

    assert hosts == []
    assert os.environ["MEM0_TELEMETRY"] == "False"
    assert "xylophone" not in caplog.text + shown.out + shown.err
    assert list(nobodys.rglob("*")) == []
    assert [file for file in (home / "mem0").rglob("*") if b"xylophone" in file.read_bytes()] == []


async def test_it_is_not_loaded_before_it_is_needed(home: Path) -> None:
    loaded = "mem0" in sys.modules
    async with opened("mem0", home, WordVectors()) as memories:
        assert list(await memories.search([ANN], "boat", limit=3)) == []
        assert list(await memories.list(ANN, limit=3)) == []
        assert ("mem0" in sys.modules) == loaded


async def test_meaning_and_words_are_weighed_together(home: Path) -> None:
    async with opened("mem0", home, WordVectors()) as memories:
        await memories.learn(
            ANN, [Fact(text="red boat"), Fact(text="red house, green tree, blue sky")], BY_ANN
        )
        (best, second) = await memories.search([ANN], "red boat", limit=2)

    assert best.memory.text == "red boat"
    assert best.score > second.score
