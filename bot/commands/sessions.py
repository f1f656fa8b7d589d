"""Commands for the sessions of a chat: begin, list, archive, resume, rename, reset, clear, delete."""

from collections.abc import Sequence
from typing import Protocol

from bot.commands.call import Answer, Call, Command, Handler, ask_first, refuse
from bot.commands.engine import Engine
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import ago, count, plain
from bot.messages import Button, Frozen, RunId, SessionKey

SHOWN = 20  # sessions in a list
OFFERED = 5  # of them as buttons
LABEL = 30  # characters on a button
MAX_TITLE = 80  # characters
BUSY = "Something is being answered in that session. Stop it with `/kill all` first."
UNCHANGED = "Nothing was changed."
CONFIRM = Argument(name="confirm", help="Do it without asking", choices=("yes", "no"))
NUMBER = Argument(name="n", help="Its number in /sessions; without it the current one", kind="number")


class ChatSession(Frozen, frozen=True, kw_only=True):
    """A session as its chat lists it.

    Attributes:
        number: Stays the same as long as the session is there, and is given to no other.
        opening: What was said first in it.
        updated_at: Seconds since 1970; 0 where nothing was said yet.
    """

    number: int
    session: SessionKey
    title: str | None
    opening: str
    messages: int
    updated_at: float
    is_current: bool
    is_archived: bool = False

    @property
    def name(self) -> str:
        """What people know it by, as Markdown."""
        return plain(self.title or self.opening) or "(nothing said yet)"


class Sessions(Protocol):
    """Keeps the sessions of each chat; none is ever reached from another chat."""

    async def current(self, chat: SessionKey) -> SessionKey:
        """The session that messages of a chat go to."""

    async def of_chat(self, chat: SessionKey) -> list[ChatSession]:
        """The sessions of a chat in which something was said, and the current one; the newest first."""

    async def begin(self, chat: SessionKey, title: str | None = None) -> SessionKey:
        """Let messages of a chat go to a new session; the old one is kept."""

    async def resume(self, chat: SessionKey, session: SessionKey) -> None:
        """Let messages of a chat go to one of its sessions.

        Raises:
            StoreError: It is none of its sessions.
        """

    async def archive(self, chat: SessionKey, session: SessionKey) -> None:
        """Put a session of a chat aside until it is resumed; if it was the current one, a new one begins."""

    async def rename(self, session: SessionKey, title: str) -> None:
        """Give a session a title."""

    async def forget(self, session: SessionKey) -> None:
        """Hide from the model all that was said; people can still read it."""

    async def clear(self, session: SessionKey, *, but: RunId) -> None:
        """Delete all that was said, but for one run."""

    async def delete(self, chat: SessionKey, session: SessionKey, *, but: RunId) -> None:
        """Delete a session of a chat; if it was the current one, a new one begins."""

    async def erase(self, chat: SessionKey, *, but: RunId) -> None:
        """Delete all sessions of a chat, those of which nothing is listed, too; a new one begins."""


class SessionCommands:
    """The handlers, over the store's sessions."""

    def __init__(self, sessions: Sessions, engine: Engine) -> None:
        self._sessions = sessions
        self._engine = engine

    async def new(self, call: Call) -> Answer:
        """`/new [title]`."""
        title = _title(call.word("title"))
        await self._sessions.begin(call.chat, title or None)
        named = f" called **{plain(title)}**" if title else ""
        return Answer(text=f"A new session{named} begins. The one before is kept: `/sessions` lists them.")

    async def show(self, call: Call) -> Answer:
        """`/sessions [archived]`, and `/sessions archive n`."""
        if call.word("what") == "archive":
            return await self._archive(call)
        is_archived = call.word("what") == "archived"
        found = _kept(await self._sessions.of_chat(call.chat), is_archived=is_archived)
        if is_archived and not found:
            return Answer(text="No session of this chat is archived.")
        lines = [_line(session) for session in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"… and {len(found) - SHOWN} older ones; `/resume <words>` finds them.")
        title = "**Archived sessions of this chat**" if is_archived else "**Sessions of this chat**"
        return Answer(text="\n".join([title, *lines]), buttons=_resume_buttons(found))

    async def _archive(self, call: Call) -> Answer:
        number = call.number("n")
        if number is None:
            return refuse("Which one? Say `/sessions archive <number>`; `/sessions` lists them.")
        chosen = _numbered(await self._sessions.of_chat(call.chat), number)
        if chosen is None:
            return refuse(f"There is no session {number}. `/sessions` lists them.")
        if self._engine.activity(chosen.session).is_busy:
            return refuse(BUSY)
        await self._sessions.archive(call.chat, chosen.session)
        fresh = " A new session begins." if chosen.is_current else ""
        way_back = f"`/sessions archived` lists it, `/resume {number}` brings it back."
        return Answer(text=f"Session {number} is archived: {way_back}{fresh}")

    async def resume(self, call: Call) -> Answer:
        """`/resume [n|text]`; without either, the one before the current."""
        found = await self._sessions.of_chat(call.chat)
        asked = call.word("which")
        matching = _matching(found, asked)
        if not matching:
            words = f" that is or says {plain(asked)!r}" if asked else " to go back to"
            return refuse(f"There is no session{words}. `/sessions` lists them.")
        if len(matching) > 1:
            lines = [_line(session) for session in matching[:SHOWN]]
            text = "\n".join(["Which one? Say `/resume <number>`.", *lines])
            return Answer(text=text, buttons=_resume_buttons(matching))
        session = matching[0]
        await self._sessions.resume(call.chat, session.session)
        return Answer(text=f"Back in session {session.number}: {session.name}.")

    async def rename(self, call: Call) -> Answer:
        """`/rename <title>`."""
        title = _title(call.word("title"))
        await self._sessions.rename(await self._sessions.current(call.chat), title)
        return Answer(text=f"This session is called **{plain(title, MAX_TITLE)}** now.")

    async def reset(self, call: Call) -> Answer:
        """`/reset`."""
        await self._sessions.forget(await self._sessions.current(call.chat))
        return Answer(text="I have forgotten what was said before; you can still read it.")

    async def clear(self, call: Call) -> Answer:
        """`/clear`, and `/clear yes`."""
        session = await self._sessions.current(call.chat)
        if self._engine.activity(session).is_busy:
            return refuse(BUSY)
        if call.word("confirm") == "no":
            return Answer(text=UNCHANGED)
        if call.word("confirm") != "yes":
            question = "This deletes all messages of the current session for good."
            return ask_first(question, "/clear yes", label="Delete the messages")
        await self._sessions.clear(session, but=call.message.run)
        return Answer(text="The messages of this session are deleted.")

    async def delete(self, call: Call) -> Answer:
        """`/delete [n]`, and `/delete n yes`."""
        number = call.number("n")
        chosen = _numbered(await self._sessions.of_chat(call.chat), number)
        if chosen is None:
            return refuse(f"There is no session {number}. `/sessions` lists them.")
        if self._engine.activity(chosen.session).is_busy:
            return refuse(BUSY)
        if call.word("confirm") == "no":
            return Answer(text=UNCHANGED)
        if call.word("confirm") != "yes" or number is None:  # a number means the same one when it is pressed
            question = f"This deletes session {chosen.number} ({chosen.name}) for good."
            return ask_first(
                question, f"/delete {chosen.number} yes", label=f"Delete session {chosen.number}"
            )
        await self._sessions.delete(call.chat, chosen.session, but=call.message.run)
        fresh = " A new session begins." if chosen.is_current else ""
        return Answer(text=f"Session {chosen.number} is deleted.{fresh}")

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        title = Argument(name="title", help="What to call it", kind="rest")
        named = Argument(name="title", help="The new title", kind="rest", is_required=True)
        what = Argument(name="what", help="archived: those put aside", choices=("archived", "archive"))
        number = Argument(name="n", help="archive: the number of the one to put aside", kind="number")
        which = Argument(name="which", help="Its number, or words of its title", kind="rest")
        return (
            _command("new", "Begin a new session, and keep this one", self.new, title),
            _command("sessions", "List the sessions of this chat", self.show, what, number),
            _command("resume", "Go back to another session", self.resume, which),
            _command("rename", "Give this session a title", self.rename, named),
            _command("reset", "Make me forget what was said before", self.reset),
            _command("clear", "Delete the messages of this session", self.clear, CONFIRM),
            _command("delete", "Delete a session", self.delete, NUMBER, CONFIRM),
        )


def _command(name: str, text: str, handler: Handler, *arguments: Argument) -> Command:
    return Command(CommandSpec(name=name, help=text, arguments=arguments, native=name), handler)


def _title(text: str) -> str:
    """A title on one line, cut to its limit."""
    return " ".join(text.split())[:MAX_TITLE]


def _line(session: ChatSession) -> str:
    mark = " (current)" if session.is_current else ""
    used = f", {ago(session.updated_at)}" if session.updated_at else ""
    # no ordered list: that would count for itself
    return f"- `{session.number}` {session.name}: {count(session.messages, 'message')}{used}{mark}"


def _resume_buttons(sessions: Sequence[ChatSession]) -> tuple[Button, ...]:
    others = [session for session in sessions if not session.is_current]
    return tuple(
        Button(
            label=f"{session.number}: {_short(session.title or session.opening)}",
            value=f"/resume {session.number}",
        )
        for session in others[:OFFERED]
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LABEL else f"{line[: LABEL - 1]}…"


def _numbered(sessions: Sequence[ChatSession], number: int | None) -> ChatSession | None:
    """The session with a number, or the current one where none is asked for."""
    for session in sessions:
        if session.number == number or (number is None and session.is_current):
            return session
    return None


def _kept(sessions: Sequence[ChatSession], *, is_archived: bool) -> list[ChatSession]:
    """Those that are archived, or the others."""
    return [session for session in sessions if session.is_archived == is_archived]


def _matching(sessions: Sequence[ChatSession], asked: str) -> list[ChatSession]:
    """The sessions that somebody may mean: by number, by title, or by words of either."""
    if not asked:
        return [session for session in sessions if not (session.is_current or session.is_archived)][:1]
    if asked.isdecimal():
        numbered = _numbered(sessions, int(asked[:9]))
        return [numbered] if numbered else []
    words = " ".join(asked.casefold().split())
    exact = [session for session in sessions if (session.title or "").casefold() == words]
    return exact or [
        session for session in sessions if words in f"{session.title or ''}\n{session.opening}".casefold()
    ]
