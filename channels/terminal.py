"""Chat in a terminal, or through a pipe: `echo hi | python -m bot chat`."""

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Final, TextIO

from bot.errors import ChannelError
from bot.messages import Missed, RunId, SystemEvent
from channels.connections import Connection, LocalConnection, WebSocketConnection
from channels.conversation import Conversation
from channels.frames import Over, Refused, Welcome

__all__ = ["Connection", "LocalConnection", "WebSocketConnection", "chat"]

ANSWER_TIMEOUT: Final = 1800.0  # seconds for one answer in a pipe, its wait in the queue included
HARMLESS: Final = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


async def chat(
    connection: Connection,
    *,
    data_dir: Path,
    is_interactive: bool,
    source: TextIO | None = None,
    sink: TextIO | None = None,
    errors: TextIO | None = None,
    answer_timeout: float = ANSWER_TIMEOUT,
) -> int:
    """Talk until the person leaves or the input ends; gives the exit code.

    Args:
        data_dir: Where what was typed is kept, as `chat_history`.
        is_interactive: A person sits there; else each line is a message and only answers are printed.
        source: Default: standard input; so for `sink` and `errors`. With a person there it is the terminal.
        answer_timeout: Seconds to wait for one answer of a line.

    Raises:
        ChannelError: The bot can't be reached.
    """
    if is_interactive:
        console = import_module("channels.console")  # prompt_toolkit: only where somebody types
        code: int = await console.Console(data_dir / "chat_history").run(connection)
        return code
    pipe = Pipe(sink or sys.stdout, errors or sys.stderr)
    return await pipe.run(connection, source or sys.stdin, answer_timeout)


class Pipe:
    """Answers to one stream, troubles to another; what is said elsewhere is not shown."""

    def __init__(self, sink: TextIO, errors: TextIO) -> None:
        self._sink = sink
        self._errors = errors

    async def run(self, connection: Connection, source: TextIO, answer_timeout: float) -> int:
        """Send line after line, each when the one before is answered; 1 where one of them failed."""
        conversation = Conversation(connection, self)
        follower = asyncio.create_task(conversation.follow(), name="terminal")
        asking = asyncio.create_task(self._ask_all(conversation, source, answer_timeout), name="pipe")
        try:
            await asyncio.wait([follower, asking], return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                follower.result()
                raise ChannelError("the bot closed the connection")
            return asking.result()
        finally:
            for task in (follower, asking):
                task.cancel()
            await asyncio.gather(follower, asking, return_exceptions=True)

    async def _ask_all(self, conversation: Conversation, source: TextIO, answer_timeout: float) -> int:
        code = 0
        while line := await asyncio.to_thread(source.readline):
            text = line.strip()
            if text and not await self._ask(conversation, text, answer_timeout):
                code = 1
        return code

    async def _ask(self, conversation: Conversation, text: str, answer_timeout: float) -> bool:
        try:
            async with asyncio.timeout(answer_timeout):
                outcome = await (await conversation.say(text))
        except TimeoutError:
            self.warn(f"No answer came within {answer_timeout:g} s.")
            return False
        if isinstance(outcome, Refused):
            return False
        if outcome.reason == "error":
            reference = f" (reference {outcome.reference})" if outcome.reference else ""
            self.warn(f"{outcome.text}{reference}")
            return False
        if outcome.text:
            self._sink.write(f"{outcome.text.translate(HARMLESS)}\n")
            self._sink.flush()
        return True

    def greet(self, welcome: Welcome) -> None:
        """See `Screen`; only answers are printed."""

    def say(self, text: str) -> None:
        """See `Screen`; only answers are printed."""

    def grow(self, run: RunId, text: str, *, replaces: bool) -> None:
        """See `Screen`; answers are printed when they are whole."""

    def end(self, over: Over) -> None:
        """See `Screen`; printed in the order of the lines, by `run`."""

    def happen(self, event: SystemEvent | Missed) -> None:
        """See `Screen`; only answers are printed."""

    def warn(self, text: str) -> None:
        """Print to the stream of errors."""
        self._errors.write(f"{text}\n")
        self._errors.flush()
