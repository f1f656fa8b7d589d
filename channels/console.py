"""The terminal with a person in front of it."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from bot.messages import (
    AgentStart,
    Compaction,
    EndReason,
    LongRunning,
    Missed,
    Retry,
    RunId,
    StoredMessage,
    SystemEvent,
    Thinking,
    ToolResult,
    ToolStart,
)
from channels.connections import Connection
from channels.conversation import Conversation
from channels.frames import CommandHint, Over, Welcome

SHOWN: Final = 6  # lines of history at the start
HELP: Final = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves."
NAME: Final = "bold ansiblue"
QUIET: Final = "ansibrightblack"
BAD: Final = "ansired"


def describe(event: SystemEvent | Missed) -> str | None:
    """What an event looks like in the line of what goes on; None for those that say nothing to a person."""
    match event:
        case AgentStart() | Thinking() | Compaction(phase="end"):
            return "thinking"
        case Compaction():
            return "shortening the conversation"
        case ToolStart(name=name):
            return f"using {name}"
        case ToolResult(name=name, status=status):
            return f"used {name}" if status == "ok" else f"{name} failed, going on"
        case Retry(wait=wait):
            return f"the model did not answer, trying again in {wait:.0f} s"
        case LongRunning(stage=stage, seconds=seconds):
            return f"still busy ({stage}, {seconds:.0f} s)"
        case _:
            return None


class Answer:
    """A growing answer: its whole lines are printed, the last one waits until it is whole."""

    def __init__(self) -> None:
        self.printed = ""
        self.rest = ""

    def grow(self, text: str) -> list[str]:
        """Add text; gives the lines that are whole now."""
        *lines, self.rest = (self.rest + text).split("\n")
        self.printed += "".join(f"{line}\n" for line in lines)
        return lines

    def finish(self, text: str) -> str | None:
        """What is still to be printed of the final text; None where it is not what was printed."""
        return text[len(self.printed) :] if text.startswith(self.printed) else None


class Commands(Completer):
    """Completes `/` with the commands that the bot told us."""

    def __init__(self) -> None:
        self.known: tuple[CommandHint, ...] = ()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """See `Completer`."""
        text = document.text_before_cursor
        if text.startswith("/"):
            for hint in self.known:
                if hint.name.startswith(text):
                    yield Completion(hint.name, start_position=-len(text), display_meta=hint.help)


class Console:
    """Prints above a line that is always ready for typing; fulfils `Screen`."""

    def __init__(self, history_file: Path) -> None:
        self._history_file = history_file
        self._commands = Commands()
        self._session: PromptSession[str] | None = None
        self._bot = "Bot"
        self._answers: dict[RunId, Answer] = {}
        self._status = ""

    async def run(self, connection: Connection) -> int:
        """Talk until the person leaves."""
        self._history_file.parent.mkdir(parents=True, exist_ok=True)
        self._session = PromptSession(
            history=FileHistory(str(self._history_file)),
            completer=self._commands,
            complete_while_typing=True,
            erase_when_done=True,
        )
        conversation = Conversation(connection, self)
        follower = asyncio.create_task(conversation.follow(), name="terminal")
        with patch_stdout(raw=True):
            typing = asyncio.create_task(self._read(self._session, conversation), name="typing")
            try:
                await asyncio.wait([follower, typing], return_when=asyncio.FIRST_COMPLETED)
                (typing if typing.done() else follower).result()
            finally:
                for task in (follower, typing):
                    task.cancel()
                await asyncio.gather(follower, typing, return_exceptions=True)
        return 0

    async def _read(self, session: "PromptSession[str]", conversation: Conversation) -> None:
        has_stopped = False
        while True:
            try:
                text = await session.prompt_async(self._draw_prompt)
            except EOFError:
                return
            except KeyboardInterrupt:
                if has_stopped or not conversation.is_busy:
                    return
                text, has_stopped = "/kill", True
            else:
                has_stopped = False
            if text.strip():
                self._print((QUIET, "You: "), ("", text))
                await conversation.say(text)

    def _draw_prompt(self) -> FormattedText:
        """The line that is being written, or what goes on, above the one for typing."""
        growing = next((answer.rest for answer in self._answers.values() if answer.rest), "")
        lines = [("", f"{growing}\n")] if growing else []
        if self._status and not growing:
            lines = [(QUIET, f"… {self._status}\n")]
        return FormattedText([*lines, (NAME, "› ")])

    def greet(self, welcome: Welcome) -> None:
        """See `Screen`."""
        self._bot = welcome.bot
        self._commands.known = welcome.commands
        self._print((NAME, welcome.bot), (QUIET, f"  {HELP}"))
        for line in [line for line in welcome.messages if line.role != "tool"][-SHOWN:]:
            self._print_line(line)

    def say(self, text: str) -> None:
        """See `Screen`."""
        self._print((QUIET, "You, elsewhere: "), ("", text))

    def grow(self, run: RunId, text: str, *, replaces: bool) -> None:
        """See `Screen`."""
        answer = self._answers.get(run)
        if answer is None or replaces:
            if answer is not None and answer.printed:
                self._print((QUIET, "(begins anew)"))
            self._print((NAME, f"{self._bot}:"))
            answer = self._answers[run] = Answer()
        for line in answer.grow(text):
            self._print(("", line))
        self._redraw()

    def end(self, over: Over) -> None:
        """See `Screen`."""
        answer = self._answers.pop(over.run, None)
        if answer is None and over.text:
            self._print((NAME, f"{self._bot}:"))
        rest = (answer or Answer()).finish(over.text)
        if rest is None:
            self._print((QUIET, "(the final text)"))
        if over.text:
            self._print(("", over.text if rest is None else rest))
        self._print_reason(over.reason, over.reference)
        self._status = ""
        self._redraw()

    def happen(self, event: SystemEvent | Missed) -> None:
        """See `Screen`."""
        status = describe(event)
        if status is not None:
            self._status = status
            self._redraw()

    def warn(self, text: str) -> None:
        """See `Screen`."""
        self._print((BAD, text))

    def _print_line(self, line: StoredMessage) -> None:
        if line.role == "user":
            self._print((QUIET, "You: "), ("", line.text))
        else:
            self._print((NAME, f"{self._bot}:"))
            self._print(("", line.text))
            self._print_reason(line.reason or "done", None)

    def _print_reason(self, reason: EndReason, reference: str | None) -> None:
        if reason == "killed":
            self._print((QUIET, "(stopped)"))
        elif reason == "error":
            self._print((BAD, f"(error{f', reference {reference}' if reference else ''})"))

    def _print(self, *parts: tuple[str, str]) -> None:
        print_formatted_text(FormattedText(parts))

    def _redraw(self) -> None:
        if self._session is not None:
            self._session.app.invalidate()
