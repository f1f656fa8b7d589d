"""A bot whose admins are asked to permit calls."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.agent.control import is_operator
from bot.messages import Address, End, Role, Sender
from bot.settings.approvals import ApprovalRule
from bot.tools.approval import Approvals
from bot.tools.base import Arguments, Denied, Risk, Tool, ToolContext
from bot.tools.declare import declare
from tests.agent.rig import Play, Rig, echo, inbound, rig

MEMBER = Sender(id="bob", name="Bob", role=Role.MEMBER)
BOSS = Sender(id="boss", name="Boss", role=Role.OWNER)
PRESSED = re.compile(r"/answer ([0-9a-f]{6}) \d")


def run(command: str) -> str:
    """Run a command."""
    return command


def tool_of(risk: Risk = "exec", name: str = "exec") -> Tool:
    return declare(run, name=name, risk=risk)


def context(sender: Sender = MEMBER, chat: str = "main") -> ToolContext:
    return ToolContext(message=inbound("do it", chat, sender=sender))


@dataclass
class Desk:
    """A bot whose admins are asked; calls are judged in tasks of their own."""

    bot: Rig
    approvals: Approvals

    async def judge(
        self, command: str = "ls", *, tool: Tool | None = None, of: ToolContext | None = None
    ) -> Arguments | Denied:
        """What comes of a call that nobody has to be asked for."""
        async with asyncio.timeout(5):
            return await self.approvals.judge(tool or tool_of(), {"command": command}, of or context())

    @asynccontextmanager
    async def asked(
        self, command: str = "ls", of: ToolContext | None = None, tool: Tool | None = None
    ) -> AsyncIterator[tuple[End, asyncio.Task[Arguments | Denied]]]:
        """A call that somebody is asked for: the question, and the task that waits for the answer."""
        before = len(self.bot.ends)
        async with asyncio.TaskGroup() as group:
            judged = group.create_task(self.judge(command, tool=tool, of=of))
            yield (await self.bot.ended(before + 1))[before], judged

    async def answer(self, command: str, words: str, of: ToolContext | None = None) -> Arguments | Denied:
        """Ask for a call, and have the boss answer."""
        async with self.asked(command, of) as (question, judged):
            await self.says(question, words)
            return await judged

    async def says(self, question: End, words: str, sender: Sender = BOSS, chat: str = "main") -> End:
        """Somebody answers a question; gives what they are told."""
        match = PRESSED.match(question.buttons[0].value)
        assert match is not None
        message = inbound(f"/approve {match[1]} {words}", chat, sender=sender)
        await self.bot.bus.publish(message)
        await self.bot.until(lambda: any(end.run == message.run for end in self.bot.ends))
        return next(end for end in self.bot.ends if end.run == message.run)

    def audited(self) -> list[tuple[str, str, str, str]]:
        """Severity, actor, action and status of what stands in the audit log."""
        lines = [
            json.loads(line)
            for file in sorted((self.bot.home / "audit").glob("*.jsonl"))
            for line in file.read_text().splitlines()
        ]
        return [(line["severity"], line["actor"], line["action"], line["status"]) for line in lines]


@asynccontextmanager
async def desk(
    home: Path,
    rules: Mapping[str, ApprovalRule] | None = None,
    *,
    seconds: float = 5.0,
    chat: Address | None = None,
    redact: Callable[[str], str] = str,
    play: Play = echo,
    **changes: object,
) -> AsyncIterator[Desk]:
    async with rig(home, play, **changes) as bot:
        approvals = Approvals(
            rules or {},
            questions=bot.loop.questions,
            permissions=bot.store.state("bot", "approvals"),
            audit=bot.audit,
            may_approve=lambda message: is_operator(message, ()),
            seconds=seconds,
            chat=chat,
            redact=redact,
        )
        yield Desk(bot, approvals)


def is_allowed(verdict: Arguments | Denied) -> bool:
    return not isinstance(verdict, Denied)


def shown_in(question: End) -> dict[str, str]:
    """The arguments in a question, read as JSON."""
    match = re.search(r"^(`{3,})json\n(.*)\n\1$", question.text, re.MULTILINE)
    assert match is not None, question.text
    arguments: dict[str, str] = json.loads(match[2])
    return arguments
