"""Secrets on the command line, and a bot whose settings only name them."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable
from io import StringIO
from pathlib import Path

import aiohttp
import pytest

from bot.app import App, open_secrets
from bot.errors import ConfigError, StoreError
from bot.operations.secrets import secret_delete, secret_list, secret_rekey, secret_set
from bot.settings import load_settings
from tests.bots import settings_for
from tests.simulators.model import ModelServer
from tests.test_cli import Shell

KEY = "sk-this-lies-in-the-store-alone"
TOKEN = "a token of the page, long enough"
PHRASE = "a phrase that somebody has made up"


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, model: ModelServer) -> Shell:
    return Shell(
        {
            "BOT_HOME": str(tmp_path / "home"),
            "BOT_WEB__PORT": "0",
            "BOT_OPENAI__BASE_URL": model.url,
            "BOT_OPENAI__API_KEY": "secret:openai",
        }
    )


async def test_a_bot_runs_on_secrets_that_its_settings_only_name(shell: Shell, model: ModelServer) -> None:
    before = await shell.run("chat", given="hi\n")
    kept = await shell.run("secret", "set", "openai", given=f"{KEY}\n")
    after = await shell.run("chat", given="hi\n")

    assert (before.code, kept.code, after.code) == (2, 0, 0), after.err
    assert "python -m bot secret set openai" in before.err
    assert after.out == "echo: hi\n"
    assert {request.headers["authorization"] for request in model.requests} == {f"Bearer {KEY}"}
    assert not any(KEY in done.out + done.err for done in (kept, after))


@pytest.fixture
def typed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Settings that name a secret; what it is called with comes in by a pipe."""
    monkeypatch.setenv("BOT_HOME", str(home))
    monkeypatch.setenv("BOT_OPENAI__API_KEY", "secret:openai")
    return lambda text: monkeypatch.setattr(sys, "stdin", StringIO(text))


def value_of(name: str) -> str | None:
    """What is in the store, by the settings in force."""

    async def look() -> str | None:
        async with open_secrets(load_settings()) as secrets:
            return await secrets.get(name)

    return asyncio.run(look())


def test_secrets_move_to_a_phrase_and_to_another_and_back_to_a_file(
    typed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(KEY)
    secret_set("openai")
    monkeypatch.setenv("BOT_SECRET_KEY", PHRASE)
    before = secret_list()
    secret_rekey()
    after = secret_list()
    typed("short")
    with pytest.raises(ConfigError, match="16 characters"):
        secret_rekey()
    typed(PHRASE * 2)
    secret_rekey()
    with pytest.raises(StoreError, match="BOT_SECRET_KEY is not the key"):
        value_of("openai")
    monkeypatch.setenv("BOT_SECRET_KEY", PHRASE * 2)
    typed("")
    secret_rekey()
    monkeypatch.delenv("BOT_SECRET_KEY")

    assert (before, after) == (1, 0)
    assert value_of("openai") == KEY
    said = capsys.readouterr().out
    assert "Take BOT_SECRET_KEY out" in said
    assert KEY not in said


def test_what_is_forgotten_is_gone_and_missed(
    typed: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    typed(KEY)
    secret_set("openai")

    codes = [secret_delete("openai"), secret_delete("openai"), secret_list()]

    assert codes == [0, 1, 0]
    said = capsys.readouterr().out
    assert "BOT_OPENAI__API_KEY still names it" in said
    assert "openai  missing  BOT_OPENAI__API_KEY: python -m bot secret set openai" in said


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("Not A Name", "x", "can't be a name"),
        ("one", "secret:two", "the name of a secret"),
        ("one", "", "characters"),
    ],
)
def test_what_cannot_be_a_secret_is_told(
    typed: Callable[[str], None], name: str, value: str, why: str
) -> None:
    typed(value)

    with pytest.raises((ConfigError, StoreError), match=why):
        secret_set(name)


async def test_the_page_asks_for_the_token_that_is_in_the_store(home: Path) -> None:
    settings = settings_for(home, web={"port": 0, "token": "secret:page"})
    async with open_secrets(settings) as secrets:
        await secrets.put("page", "open sesame")
    async with App(settings) as running:
        answers = {}
        async with aiohttp.ClientSession() as session:
            for token in ("open sesame", "secret:page"):
                headers = {"Authorization": f"Bearer {token}"}
                async with session.get(f"{running.url}/api/status", headers=headers) as answer:
                    answers[token] = answer.status

    assert answers == {"open sesame": 200, "secret:page": 401}


async def test_a_bot_with_the_wrong_key_does_not_start(home: Path) -> None:
    settings = settings_for(home, web={"port": 0, "token": "secret:page"}, secret_key=PHRASE)
    with pytest.raises(ConfigError, match="secret set page"):
        await App(settings).__aenter__()
    async with open_secrets(settings) as secrets:
        await secrets.put("page", "open sesame")

    wrong = settings_for(home, web={"port": 0, "token": "secret:page"}, secret_key=PHRASE * 2)
    with pytest.raises(StoreError, match="BOT_SECRET_KEY is not the key"):
        await App(wrong).__aenter__()


async def test_all_that_a_bot_leaves_in_its_home_is_for_its_owner_alone(shell: Shell, tmp_path: Path) -> None:
    """Database and its log, lock, audit log and its key, workspace, key of the secrets, backups."""
    home, guarded = tmp_path / "home", Shell(shell.environment | {"BOT_WEB__TOKEN": TOKEN})
    await guarded.run("secret", "set", "openai", given=KEY)
    child = await guarded.start()
    try:
        talked = await guarded.run("chat", given="hi\n")
        await guess(child.url)
        running = modes_in(home)
        saved = await guarded.run("backup", str(home / "backup.tar.gz"))
    finally:
        await child.kill()
    restored = await guarded.run("restore", "--yes", str(home / "backup.tar.gz"))

    assert (talked.code, saved.code, restored.code) == (0, 0, 0), talked.err + saved.err + restored.err
    assert "not in it" in saved.out
    found = modes_in(home)
    assert {"switchboard.db-wal", "switchboard.db-shm", "lock", "audit", "audit.key"} <= running.keys()
    assert {"switchboard.db", "workspace", "secret.key", "audit.key"} <= found.keys()
    loose = {name: oct(mode) for name, mode in (*running.items(), *found.items()) if mode & 0o077}
    assert loose == {}


async def guess(url: str) -> None:
    """Try wrong tokens until that stands in the audit log."""
    async with aiohttp.ClientSession() as session:
        for number in range(3):
            headers = {"Authorization": f"Bearer {number}"}
            async with session.get(f"{url}/api/status", headers=headers) as answer:
                assert answer.status == 401


def modes_in(home: Path) -> dict[str, int]:
    """Every file and directory by its name, and what may be done with it."""
    return {path.name: stat.S_IMODE(os.lstat(path).st_mode) for path in (home, *home.rglob("*"))}
