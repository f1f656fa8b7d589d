"""Kills the real process at random moments while people talk to it, and counts what is lost or doubled.

python -m tests.chaos.driver --kills 200 --seed 7
"""

import argparse
import asyncio
import logging
import os
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from channels.frames import Hello, Older, decode_server
from tests.chaos.page import Page

log = logging.getLogger(__name__)

CHATS = ("main", "second", "third")
ROOT = Path(__file__).parents[2]
START_SECONDS = 30.0
SETTLE_SECONDS = 120.0
EARLY = 0.15  # the share of kills that hit a process which is still starting
TOKENS = 12  # of an answer; the first is the message itself
TAIL = "".join(f" t{number}" for number in range(1, TOKENS))
encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Findings:
    """What the driver saw; anything in `faults` breaks the promise."""

    kills: int = 0
    sent: int = 0
    mid_answer: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Child:
    """A process and the first address it printed."""

    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        """Pull the plug."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


async def launch(*arguments: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    """Start a Python module."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *arguments,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def spawn(*arguments: str, environment: dict[str, str]) -> Child:
    """Start a Python module and wait until it has printed its address."""
    process = await launch(*arguments, environment=environment)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            while line := await process.stdout.readline():
                for word in line.decode().split():
                    if word.startswith("http://"):
                        return Child(process, word)
    except TimeoutError:
        process.kill()
    await process.wait()
    raise RuntimeError(f"{arguments[0]} did not start (exit code {process.returncode})")


class Driver:
    """Talks to the bot over its web channel, and kills it again and again."""

    def __init__(self, home: Path, model_url: str, *, seed: int) -> None:
        self._random = random.Random(seed)
        self._pages = {chat: Page(chat) for chat in CHATS}
        self._written: dict[str, list[tuple[str, str]]] = {chat: [] for chat in CHATS}
        self._environment = {
            "BOT_HOME": str(home),
            "BOT_WEB__PORT": "0",
            "BOT_OPENAI__BASE_URL": model_url,
            "BOT_MODEL": "echo",
            "BOT_QUEUE__CAP": "200",  # every message gets an answer of its own
            "BOT_MAX_CRASHES": "1000000",  # the process dies because we kill it, not because of a message
        }
        self._news = asyncio.Condition()
        self.findings = Findings()

    async def run(self, kills: int) -> Findings:
        """Kill so many times, then let the bot finish in peace, and check everything."""
        for number in range(kills):
            if self._random.random() < EARLY:
                await self._kill_early()
            else:
                await self._kill_in_use()
            self.findings.kills += 1
            if number % 20 == 19:
                log.warning("killed %d times, %d messages sent", number + 1, self.findings.sent)
        await self._settle()
        return self.findings

    async def _kill_early(self) -> None:
        """Pull the plug somewhere in the start, where the journal is read and turns are taken up again."""
        process = await launch("bot", environment=self._environment)
        await asyncio.sleep(self._random.random())
        await Child(process, "").kill()

    async def _kill_in_use(self) -> None:
        child = await self._start()
        try:
            await self._live(child)
        finally:
            await child.kill()

    async def _start(self) -> Child:
        child = await spawn("bot", environment=self._environment)
        child.url = child.url.removesuffix("/chat")
        return child

    @asynccontextmanager
    async def _connected(self, child: Child) -> AsyncIterator[dict[str, ClientConnection]]:
        """Every page open, each with a task that applies what comes."""
        address = child.url.replace("http://", "ws://") + "/chat/ws"
        sockets = {chat: await connect(address, max_size=None) for chat in CHATS}
        readers = []
        try:
            for chat, socket in sockets.items():
                await socket.send(encode(Hello(chat=chat)), text=True)
                readers.append(asyncio.create_task(self._read(socket, self._pages[chat])))
                for send in list(self._pages[chat].unsent.values()):
                    await socket.send(encode(send), text=True)
            yield sockets
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            for socket in sockets.values():
                await socket.close()

    async def _read(self, socket: ClientConnection, page: Page) -> None:
        async for data in socket:
            page.take(decode_server(data))
            async with self._news:
                self._news.notify_all()

    async def _live(self, child: Child) -> None:
        """Some messages, some time, and then the plug is pulled in the midst of it."""
        try:
            async with self._connected(child) as sockets:
                for _ in range(self._random.randint(0, 3)):
                    await self._write(sockets, self._random.choice(CHATS))
                    await asyncio.sleep(self._random.choice((0, 0, self._random.random() * 0.05)))
                await asyncio.sleep(self._random.random() * 0.3)
                self.findings.mid_answer += any(page.drafts for page in self._pages.values())
                await child.kill()
        except (ConnectionClosed, OSError):
            log.info("the connection went with the process")

    async def _write(self, sockets: dict[str, ClientConnection], chat: str) -> None:
        self.findings.sent += 1
        text = f"message {self.findings.sent} of {chat} " + "word " * self._random.randint(0, 6)
        send = self._pages[chat].write(text.strip())
        self._written[chat].append((send.id, send.text))
        await sockets[chat].send(encode(send), text=True)

    async def _settle(self) -> None:
        """Start once more, wait until nothing is open, and compare page and history with what was sent."""
        child = await self._start()
        try:
            async with self._connected(child) as sockets:
                async with asyncio.timeout(SETTLE_SECONDS), self._news:
                    await self._news.wait_for(lambda: all(self._is_answered(chat) for chat in CHATS))
                for chat, socket in sockets.items():
                    self._check("page", chat, self._pages[chat])
                    self._check("history", chat, await self._read_history(child, chat))
                    await socket.close()
        except TimeoutError:
            for chat in CHATS:
                self._check("page", chat, self._pages[chat])
            self.findings.faults.append("not everything was answered in time")
        finally:
            child.process.terminate()
            await child.process.wait()

    def _is_answered(self, chat: str) -> bool:
        page = self._pages[chat]
        answers = page.answers()
        return not page.unsent and all(answers.get(id_) for id_, _ in self._written[chat])

    async def _read_history(self, child: Child, chat: str) -> Page:
        """A tab opened anew, scrolled up to the first message."""
        page = Page(chat)
        async with connect(child.url.replace("http://", "ws://") + "/chat/ws", max_size=None) as socket:
            await socket.send(encode(Hello(chat=chat)), text=True)
            more = True
            while more:
                frame = decode_server(await socket.recv())
                page.take(frame)
                more = bool(getattr(frame, "more", True))
                if more and page.lines and hasattr(frame, "more"):
                    first = min(line.number for line in page.lines.values() if line.number)
                    await socket.send(encode(Older(before=first)), text=True)
        return page

    def _check(self, what: str, chat: str, page: Page) -> None:
        faults = self.findings.faults
        answers = page.answers()
        for id_, text in self._written[chat]:
            if answers.get(id_) != [f"echo: {text}{TAIL}"]:
                faults.append(f"{what} of {chat}: {text!r} has the answers {answers.get(id_)}")
        if extra := set(answers) - {id_ for id_, _ in self._written[chat]}:
            faults.append(f"{what} of {chat}: {len(extra)} messages that nobody sent")
        if what == "history":
            self._check_order(chat, page)

    def _check_order(self, chat: str, page: Page) -> None:
        """By number: each message is followed by its answer, and messages stand as they were accepted."""
        lines = sorted(page.lines.values(), key=lambda line: line.number)
        runs = [line.run for line in lines]
        roles = [line.role for line in lines]
        numbers = [line.number for line in lines]
        if roles != ["user", "assistant"] * (len(lines) // 2) or runs[::2] != runs[1::2]:
            self.findings.faults.append(f"history of {chat}: messages and answers do not alternate")
        if numbers != list(range(1, len(lines) + 1)):
            self.findings.faults.append(f"history of {chat}: the numbers have gaps or doubles")
        if runs[::2] != sorted(runs[::2]):
            self.findings.faults.append(f"history of {chat}: answered in another order than accepted")


async def torment(kills: int, seed: int) -> Findings:
    """Run the whole ordeal in a directory of its own, with an echoing model beside it."""
    model = await spawn(
        "tests.simulators.model",
        *("--tokens", str(TOKENS), "--delay", "0.02", "--first", "0.02"),
        environment={},
    )
    try:
        with tempfile.TemporaryDirectory() as home:
            return await Driver(Path(home), model.url, seed=seed).run(kills)
    finally:
        await model.kill()


def main() -> int:
    """Run from the command line; exit code 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    findings = asyncio.run(torment(options.kills, options.seed))
    log.warning("seed %d: %s", options.seed, findings)
    return bool(findings.faults)


if __name__ == "__main__":
    sys.exit(main())
