"""The command line, run as people run it: a process, its output and its exit code."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.commands.pairing import Request
from bot.messages import Address, SessionKey
from memory.store import Store
from tests.chaos.driver import Child, spawn
from tests.simulators.model import ModelServer

ROOT = Path(__file__).parent.parent
SECRET = "sk-this-must-never-be-shown"


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands of the bot on one data directory."""

    environment: dict[str, str]

    async def run(self, *arguments: str, given: str = "", **variables: str) -> Done:
        """Run `python -m bot …` to its end."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", *arguments),
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.environment, **variables},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(40):
            out, err = await process.communicate(given.encode())
        return Done(process.returncode or 0, out.decode(), err.decode())

    async def start(self) -> Child:
        """Start the bot and wait for its address."""
        return await spawn("bot", environment=self.environment)


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    """A shell whose bot talks to an echoing model."""
    async with ModelServer() as model:
        yield Shell(
            {
                "BOT_HOME": str(tmp_path / "home"),
                "BOT_WEB__PORT": "0",
                "BOT_OPENAI__BASE_URL": model.url,
                "BOT_OPENAI__API_KEY": SECRET,
            }
        )


async def test_wrong_settings_are_listed_together_with_exit_code_2(shell: Shell) -> None:
    done = await shell.run("run", BOT_WEB__PORT="many", BOT_NONSENSE="1", BOT_WEB__HOST="0.0.0.0")

    assert done.code == 2
    assert "BOT_WEB__PORT" in done.err
    assert "BOT_NONSENSE" in done.err
    assert SECRET not in done.out + done.err


async def test_doctor_shows_settings_and_masks_secrets(shell: Shell) -> None:
    done = await shell.run("doctor", "--probe")

    assert "BOT_OPENAI__API_KEY = ********" in done.out
    assert "openai answers" in done.out
    assert SECRET not in done.out + done.err
    assert done.code == 0


async def test_doctor_masks_a_password_in_an_address(shell: Shell) -> None:
    done = await shell.run("doctor", BOT_OPENAI__BASE_URL="http://me:hunter2@127.0.0.1:9/v1")

    assert "hunter2" not in done.out
    assert "127.0.0.1:9/v1" in done.out


async def test_a_home_that_can_not_be_made_is_a_clear_error(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = await shell.run("run", BOT_HOME=str(tmp_path / "file" / "home"))

    assert done.code == 2
    assert "BOT_HOME" in done.err


async def test_doctor_says_what_is_missing(shell: Shell) -> None:
    done = await shell.run("doctor", BOT_PROVIDER="local")

    assert done.code == 1
    assert "python -m bot model get" in done.out


async def test_a_piped_message_is_answered_on_standard_output(shell: Shell) -> None:
    done = await shell.run("chat", given="hi\nthere\n")

    assert (done.code, done.out) == (0, "echo: hi\necho: there\n"), done.err


async def test_chat_talks_to_the_bot_that_runs(shell: Shell) -> None:
    child = await shell.start()
    try:
        done = await shell.run("chat", given="hi\n")
    finally:
        await child.kill()

    assert (done.code, done.out) == (0, "echo: hi\n"), done.err


async def test_a_second_bot_is_refused_and_says_who_has_the_home(shell: Shell) -> None:
    child = await shell.start()
    try:
        done = await shell.run("run")
    finally:
        await child.kill()

    assert done.code == 1
    assert f"in use by process {child.process.pid}" in done.err


async def test_sigterm_ends_the_bot_with_exit_code_0(shell: Shell) -> None:
    child = await shell.start()
    child.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        code = await child.process.wait()

    assert code == 0


async def test_a_backup_taken_while_the_bot_runs_brings_the_history_back(
    shell: Shell, tmp_path: Path
) -> None:
    archive = str(tmp_path / "backup.tar.gz")
    child = await shell.start()
    try:
        await shell.run("chat", given="remember me\n")
        made = await shell.run("backup", archive)
        refused = await shell.run("restore", archive, "--yes")
    finally:
        await child.kill()
    await shell.run("chat", given="forget this\n")
    restored = await shell.run("restore", archive, "--yes")
    again = await shell.run("journal", "list")
    async with Store(Path(shell.environment["BOT_HOME"])) as store:
        lines = await store.history.recent(SessionKey("terminal:default:main"))

    assert made.code == 0, made.err
    assert "in use" in refused.err
    assert "The data that stood there are in" in restored.out
    assert "Nothing waits" in again.out
    assert [line.text for line in lines] == ["remember me", "echo: remember me"]


async def test_restore_asks_first(shell: Shell, tmp_path: Path) -> None:
    archive = str(tmp_path / "backup.tar.gz")
    await shell.run("chat", given="hi\n")
    await shell.run("backup", archive)
    done = await shell.run("restore", archive, given="n\n")

    assert done.code == 1
    assert "Nothing was changed" in done.out


async def test_a_parked_message_that_does_not_exist_can_not_be_retried(shell: Shell) -> None:
    await shell.run("chat", given="hi\n")
    done = await shell.run("journal", "retry", "nothing")

    assert done.code == 1
    assert "no parked message" in done.err


async def test_the_models_of_the_provider_are_listed(shell: Shell) -> None:
    done = await shell.run("model", "list")

    assert done.code == 0, done.err
    assert done.out.strip()


async def test_the_example_of_a_bot_of_ones_own_answers() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "examples" / "own_backend.py"), "Polly wants a cracker"),
        env={**os.environ, "PYTHONPATH": str(ROOT), "BOT_HOME": str(Path.cwd() / "home")},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()

    assert out == b"Polly wants a cracker \n"


async def keep_request(home: Path) -> str:
    """Have somebody wait to be let in; gives their code."""
    now = time.time()
    request = Request(
        code="ABCDEFGH",
        kind="user",
        subject="telegram:default:42",
        name="Ann",
        address=Address(channel="telegram", chat="42"),
        asked_at=now,
        told_at=now,
        expires_at=now + 3_600,
    )
    async with Store(home) as store:
        await store.pairings.put(request)
    return "abcd-efgh"


@pytest.mark.parametrize("is_running", [True, False])
async def test_the_first_who_is_let_in_from_the_terminal_is_the_owner_with_the_bot_running_or_not(
    shell: Shell, home: Path, is_running: bool
) -> None:
    child = await shell.start() if is_running else None
    try:
        code = await keep_request(home)
        listed = await shell.run("pair", "list")
        wrong = await shell.run("pair", "XXXX-XXXX")
        done = await shell.run("pair", code)
    finally:
        if child is not None:
            await child.kill()
    async with Store(home) as store:
        roles = dict(store.rules.of("role"))

    assert "Ann, telegram:default:42" in listed.out
    assert "ABCDEFGH" not in listed.out
    assert (wrong.code, done.code) == (1, 0), done.err
    assert "is owner from now on" in done.out
    assert roles == {"telegram:default:42": "owner"}
