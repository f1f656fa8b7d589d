"""A whole bot that has a key and says it, in every way in which it can: nowhere does it leave."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.app import App
from bot.backends.base import AgentEvent, ErrorEvent, MessageEvent, TurnInput
from bot.hooks import Hooks
from bot.hooks.effects import Change
from bot.hooks.points import MessageSending
from bot.messages import Chunk, End, RunId
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for
from tests.security.redaction.samples import SECRETS
from tests.simulators.model import ModelServer, Reply, call, fail, say
from tests.test_agent import ANN, message_of

KEY = SECRETS["npm"]
OWN = "hunter2-of-the-settings"
MASK = "[REDACTED-NPM]"
FORBIDDEN = (KEY[4:12], KEY[-8:], "hunter2")


@dataclass(slots=True)
class World:
    """A bot, its model, and all that anybody outside gets to see."""

    app: App
    model: ModelServer
    home: Path
    seen: list[str] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self) -> None:
        """Read all answers."""
        with self.app.bus.outbound() as answers:
            async for part in answers:
                self.seen.append(msgspec.json.encode(part).decode())
                async with self.changed:
                    if isinstance(part, End):
                        self.ends.append(part)
                    else:
                        self.chunks.append(part)
                    self.changed.notify_all()

    async def watch(self) -> None:
        """Read all that is told of the work."""
        with self.app.bus.events() as events:
            async for event in events:
                self.seen.append(msgspec.json.encode(event).decode())

    async def says(self, text: str) -> RunId:
        message = message_of(text, ANN)
        await self.app.bus.publish(message)
        return message.run

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(claim)

    async def answer(self, text: str) -> str:
        run = await self.says(text)
        await self.until(lambda: any(end.run == run for end in self.ends))
        return next(end.text for end in self.ends if end.run == run)

    def kept(self) -> str:
        """What the store has of what the bot has said."""
        with closing(sqlite3.connect(self.home / "switchboard.db")) as database:
            rows = database.execute("SELECT text FROM messages WHERE role != 'user'").fetchall()
            rows += database.execute("SELECT * FROM outbox").fetchall()
        return json.dumps(rows, default=str)

    def audited(self) -> list[dict[str, Any]]:
        """What is in the audit log; to be asked once the bot is closed."""
        files = sorted((self.home / "audit").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def check(self) -> None:
        """Nothing that anybody has seen holds a key."""
        everything = "\n".join(self.seen) + self.kept()
        assert not [part for part in FORBIDDEN if part in everything]


@asynccontextmanager
async def living(home: Path, *replies: Reply, **changes: Any) -> AsyncIterator[World]:
    """A bot whose model answers so."""
    own = {"hooks": changes.pop("hooks", None), "backend": changes.pop("backend", None)}
    async with ModelServer() as model:
        model.script(*replies)
        settings = settings_for(home, openai={"base_url": model.url, "api_key": OWN}, **changes)
        async with App(settings, has_web=False, **own) as app, asyncio.TaskGroup() as group:
            world = World(app, model, home)
            tasks = [group.create_task(world.follow()), group.create_task(world.watch())]
            await asyncio.sleep(0)
            yield world
            for task in tasks:
                task.cancel()


def spelt(text: str) -> Reply:
    """An answer letter by letter."""
    return Reply(tokens=tuple(text))


async def test_an_answer_shows_no_key_however_it_comes(home: Path) -> None:
    async with living(home, spelt(f"It is {KEY}, and {OWN}."), say("Fine.")) as world:
        text = await world.answer("what is the key?")
        await world.answer("again")
        history = json.dumps(world.model.requests[1].body["messages"])

    assert text == f"It is {MASK}, and [REDACTED-SECRET]."
    assert "".join(chunk.text for chunk in world.chunks if not chunk.replaces).startswith(f"It is {MASK}")
    assert KEY not in history
    world.check()
    (noted,) = [line for line in world.audited() if line["action"] == "redacted"]
    assert noted["context"] == {"npm": 1, "configured_secret": 1}
    assert noted["run"] is not None


async def test_what_a_hook_puts_into_an_answer_is_looked_at_too(home: Path) -> None:
    hooks = Hooks()

    def add(sending: MessageSending) -> Change:
        return Change(text=f"{sending.text} {KEY}")

    hooks.on(MessageSending, add)
    async with living(home, say("Here:"), hooks=hooks) as world:
        assert await world.answer("go") == f"Here: {MASK}"

    world.check()


async def test_a_killed_answer_ends_with_a_masked_rest_and_says_nothing_more(home: Path) -> None:
    gate = asyncio.Event()
    reply = Reply(tokens=(f"The key is {KEY[:20]}", KEY[20:], " as I said"), gate=gate)
    async with living(home, reply) as world:
        run = await world.says("go")
        await world.until(lambda: bool(world.chunks))
        await world.answer("/kill")
        gate.set()
        await world.until(lambda: any(end.run == run for end in world.ends))
        await world.model.idle()

    (killed,) = [end for end in world.ends if end.run == run]
    assert killed.reason == "killed"
    assert killed.text.startswith("The key is ")
    assert killed.text.endswith("[Response interrupted]")
    world.check()


async def test_what_was_held_back_of_a_killed_answer_is_not_lost(home: Path) -> None:
    gate = asyncio.Event()
    reply = Reply(tokens=("We meet at 14:30 in room 2", "."), gate=gate)
    async with living(home, reply) as world:
        run = await world.says("go")
        await world.until(lambda: bool(world.chunks))
        await world.answer("/kill")
        gate.set()
        await world.until(lambda: any(end.run == run for end in world.ends))

    (killed,) = [end for end in world.ends if end.run == run]
    assert killed.text == "We meet at 14:30 in room 2\n\n[Response interrupted]"


async def test_half_a_key_is_not_shown_where_the_connection_breaks(home: Path) -> None:
    async def break_down(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="The key is ")
        yield MessageEvent(content=KEY[:20])
        yield ErrorEvent(content="the connection broke")

    async with living(home, backend=PlayedBackend(break_down)) as world:
        text = await world.answer("go")

    assert text.startswith("The key is \n\nthe connection broke")
    world.check()


async def test_neither_arguments_nor_results_of_tools_show_a_key(home: Path) -> None:
    home.joinpath("workspace").mkdir(mode=0o700, parents=True)
    home.joinpath("workspace", "keys.txt").write_text(f"npm: {KEY}\nown: {OWN}\n")
    write = call("write", json.dumps({"path": "b.txt", "content": f"{KEY} {OWN}"}))
    read = call("read", '{"path": "keys.txt"}')
    send = call("send_message", json.dumps({"text": f"psst: {KEY}"}))
    async with living(
        home,
        write,
        read,
        send,
        say("Done."),
        approvals={"rules": {"send_message": {"mode": "auto"}}},
        taint={"enabled": False},
    ) as world:
        await world.says("/verbose full")
        await world.answer("go")
        second = json.dumps(world.model.requests[2].body["messages"])

    assert OWN not in second
    assert KEY in second  # a model works with what it reads, unless the settings say otherwise
    world.check()
    audited = json.dumps(world.audited())
    assert "tool attempt write" in audited
    assert "tool result read" in audited
    assert not [part for part in FORBIDDEN if part in audited]


async def test_the_error_of_a_model_shows_no_key(home: Path) -> None:
    async with living(home, fail(401, f"Incorrect API key provided: {OWN}")) as world:
        text = await world.answer("go")

    assert OWN not in text
    world.check()


@pytest.mark.parametrize("text", [f"/note {KEY}", f"/model {KEY}", f"/{KEY}"])
async def test_the_answer_of_a_command_repeats_no_key(home: Path, text: str) -> None:
    async with living(home, say("?")) as world:
        answer = await world.answer(text)

    assert KEY not in answer
