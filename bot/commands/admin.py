"""Admin commands for the bot as a whole: info, name, presence, reload, restart, broadcast, journal."""

import platform
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol

from bot.commands.call import Answer, Call, Command, Handler, ask_first, refuse
from bot.commands.engine import ChannelState, Engine, Operations
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import ago, code, count, duration, plain
from bot.messages import Address, RunId

PACKAGE = "switchboard-bot"
MAX_NAME = 64
MAX_STATUS = 128  # characters of an activity; Discord takes no more
BRACKETS = str.maketrans("", "", "[](){}<>")
MAX_BROADCASTS = 10  # texts that wait to be confirmed
BROADCAST_SECONDS = 600.0  # that a text waits to be confirmed
CONFIRMED = re.compile(r"yes ([0-9a-f]{8})")
STATES = ("online", "idle", "dnd", "invisible")
NAME = "name"  # of the changed settings
PRESENCE = "presence"


class ChangedSettings(Protocol):
    """Keeps what was changed at run time over a restart."""

    async def change(self, name: str, value: str | None, *, by: str) -> None: ...


class Chats(Protocol):
    """Knows every chat that has written."""

    async def addresses(self) -> Sequence[Address]: ...


class AdminCommands:
    """The handlers, over the running bot.

    Args:
        is_open: Whether anybody is answered in a chat; others get no broadcast.
    """

    def __init__(
        self,
        engine: Engine,
        operations: Operations,
        *,
        changed: ChangedSettings,
        chats: Chats,
        is_open: Callable[[Address], bool],
    ) -> None:
        self._engine = engine
        self._operations = operations
        self._changed = changed
        self._chats = chats
        self._is_open = is_open
        self._broadcasts: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def info(self, call: Call) -> Answer:
        """`/admin info`."""
        engine, chats = self._engine, await self._chats.addresses()
        lines = [
            f"**{plain(engine.name)}** {_version()} on Python {platform.python_version()}",
            f"- Up for {duration(engine.uptime)}",
            f"- {count(len(chats), 'chat')} known, {count(engine.running, 'turn')} running",
            f"- Memory: {_memory()}",
            *(_channel(channel) for channel in engine.channels()),
        ]
        return Answer(text="\n".join(lines))

    async def restart(self, call: Call) -> Answer:
        """`/admin restart`."""
        self._operations.restart()
        return Answer(text="I finish what is running and start again.")

    async def reload(self, call: Call) -> Answer:
        """`/admin reload`."""
        lines = await self._operations.reload()
        if not lines:
            return Answer(text="The settings are as they were.")
        return Answer(
            text="\n".join(["The settings were read again:", *(f"- {plain(line)}" for line in lines)])
        )

    async def set_name(self, call: Call) -> Answer:
        """`/admin setname [name]`; without one, back to the name of the settings."""
        name = clean_name(call.word("name"))
        if call.word("name") and not name:
            return refuse("Nothing is left of that name without brackets.")
        in_force = await self._operations.rename(name or None)
        await self._changed.change(NAME, name or None, by=call.actor)
        return Answer(text=f"I am called **{plain(in_force)}** now.", target=NAME)

    async def set_status(self, call: Call) -> Answer:
        """`/admin setstatus <status> [activity]`."""
        status, activity = call.word("status"), clean_activity(call.word("activity"))
        if activity.lower() == "none":
            activity = ""
        shown = await self._operations.set_presence(status, activity or None)
        await self._changed.change(PRESENCE, f"{status} {activity}".rstrip(), by=call.actor)
        where = f"on {', '.join(shown)}" if shown else "as soon as a platform that has it is connected"
        return Answer(text=f"I am shown as {status} {where}.", target=status)

    async def broadcast(self, call: Call) -> Answer:
        """`/admin broadcast <text>`, and `/admin broadcast yes <token>` of its button."""
        text = call.word("text")
        if (confirmed := CONFIRMED.fullmatch(text)) is not None:
            return await self._send(confirmed[1])
        addresses = await self._addresses()
        if not addresses:
            return refuse("There is no chat to write to.")
        token = secrets.token_hex(4)
        self._broadcasts[token] = (time.monotonic(), text)
        if len(self._broadcasts) > MAX_BROADCASTS:
            self._broadcasts.popitem(last=False)
        question = f"This goes to {count(len(addresses), 'chat')}:\n\n{text}"
        return ask_first(question, f"/admin broadcast yes {token}", label="Send it")

    async def _send(self, token: str) -> Answer:
        at, text = self._broadcasts.pop(token, (0.0, ""))
        if not text or time.monotonic() - at > BROADCAST_SECONDS:
            return refuse("I have that text no longer: give the command again.")
        number = await self._operations.broadcast(text, await self._addresses())
        return Answer(text=f"It goes to {count(number, 'chat')}.", target=count(number, "chat"))

    async def _addresses(self) -> list[Address]:
        return [address for address in await self._chats.addresses() if self._is_open(address)]

    async def journal(self, call: Call) -> Answer:
        """`/admin journal [list]`, `/admin journal retry <id>`."""
        if call.word("action") == "retry":
            if not call.word("id"):
                return refuse("Which one? `/admin journal` lists them.")
            await self._operations.retry(RunId(call.word("id")))
            return Answer(text="It is taken up now.", target=call.word("id"))
        entries = await self._operations.unfinished()
        own = [entry for entry in entries if entry.run != call.message.run]
        if not own:
            return Answer(text="Nothing waits: every accepted message is answered.")
        lines = [
            f"- {entry.state}: {code(entry.run)} of {code(entry.session)}, {ago(entry.accepted_at)}, "
            f"{count(entry.attempts, 'attempt')}"
            for entry in own[:20]
        ]
        if len(own) > len(lines):
            lines.append(f"- … and {len(own) - len(lines)} more")
        return Answer(text="\n".join(lines))

    def commands(self) -> tuple[Command, ...]:
        """What is registered; what no admin of one group may do has no name in the platforms' menus."""
        name = Argument(name="name", help="The new name; without it that of the settings", kind="rest")
        status = Argument(name="status", help="How I am shown", choices=STATES, is_required=True)
        activity = Argument(name="activity", help="What I am doing; none to show nothing", kind="rest")
        text = Argument(name="text", help="What to tell everybody", kind="rest", is_required=True)
        action = Argument(name="action", help="What to do", choices=("list", "retry"))
        id_ = Argument(name="id", help="retry: which message")
        return (
            _command("info", "Show how I am doing", self.info, native="info"),
            _command(
                "setstatus", "Change how I am shown", self.set_status, status, activity, native="setstatus"
            ),
            _command("setname", "Change my name", self.set_name, name, native="setname"),
            _command("reload", "Read the settings again", self.reload, is_operators=True),
            _command("restart", "Start again", self.restart, is_operators=True),
            _command("broadcast", "Write to every chat", self.broadcast, text, is_operators=True),
            _command("journal", "Show what is not answered", self.journal, action, id_, is_operators=True),
        )


def clean_name(typed: str) -> str:
    """A name as it is kept: on one line, without brackets, and not too long; may be empty."""
    return " ".join(typed.translate(BRACKETS).split())[:MAX_NAME]


def clean_activity(typed: str) -> str:
    """What the bot is doing, on one line and not too long."""
    return " ".join(typed.split())[:MAX_STATUS]


def read_presence(kept: str) -> tuple[str, str | None]:
    """Status and activity, as the changed setting `presence` keeps them."""
    status, _, activity = kept.partition(" ")
    return status, activity or None


def _command(
    name: str,
    text: str,
    handler: Handler,
    *arguments: Argument,
    native: str | None = None,
    is_operators: bool = False,
) -> Command:
    spec = CommandSpec(name=f"admin {name}", help=text, arguments=arguments, is_admin=True, native=native)
    return Command(spec, handler, is_operators)


def _channel(state: ChannelState) -> str:
    name = state.channel if state.account == "default" else f"{state.channel} ({plain(state.account)})"
    heard = f", last heard of {ago(state.last_event_at.timestamp())}" if state.last_event_at else ""
    if state.is_connected:
        return f"- {name}: connected{heard}"
    return f"- {name}: not connected{heard}{f' ({plain(state.cause, 120)})' if state.cause else ''}"


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:  # run from a checkout that was not installed
        return "(not installed)"


def _memory() -> str:
    """What the process takes of the machine's memory, where the system tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return "unknown"
    sizes = [line.split()[1] for line in status.read_text("utf-8").splitlines() if line.startswith("VmRSS:")]
    return f"{int(sizes[0]) / 1024:,.0f} MB" if sizes else "unknown"
