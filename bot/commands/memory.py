"""Commands for what is remembered: look at it, add to it, have it forgotten, search it, take it away."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from bot.commands.call import Answer, Call, Command, Handler, ask_first, refuse
from bot.commands.engine import Engine
from bot.commands.sessions import BUSY, ChatSession, Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import count, plain
from bot.long_term import Fact, LongTerm, Memory, Origin, Scope, Whose, origin_of, tidy
from bot.messages import Address, Button, InboundMessage, SessionKey
from bot.people import Person
from bot.tools.memory import may_change
from bot.tools.recall import Lines, shown, words_in

Format: TypeAlias = Literal["markdown", "json"]

SHOWN = 20  # memories in a list
FOUND = 10  # of a search
CLOSE = 0.2  # how close they have to be to what is searched for, from 0 to 1
OFFERED = 5  # buttons
MAX_UNDONE = 50  # memories of one message
OFF = "Nothing is remembered for long here: BOT_MEMORY__BACKEND is off."
ALONE = "Say this to me alone: it is about you, and others read here."
UNCHANGED = "Nothing was changed."
SOURCES = {
    "learned": "learned from what {who} said",
    "raw": "kept as {who} said it",
    "tool": "remembered when {who} asked",
    "command": "added by {who}",
}


class Exports(Protocol):
    """Hands over what is kept, as files."""

    async def hand_over(
        self,
        message: InboundMessage,
        sessions: Sequence[ChatSession],
        memories: Sequence[Memory],
        form: Format,
    ) -> str:
        """Send memories, and all that was said in sessions, to where a message came from.

        Returns:
            Where the file is, where the channel can send none; else nothing.
        """


class People(Protocol):
    """Knows where somebody has spoken with the bot, on all channels on which they are the same."""

    async def find(self, who: str) -> Person | None: ...

    async def chats(self, person: Person) -> dict[str, tuple[Address, ...]]: ...

    async def forget(self, person: Person) -> None: ...


class MemoryCommands:
    """The handlers.

    Args:
        redact: Masks what the policy wants masked in what is remembered.
        people: Know in which other chats somebody is; without them, there are none.
    """

    def __init__(
        self,
        memories: LongTerm | None,
        whose: Whose,
        lines: Lines,
        sessions: Sessions,
        engine: Engine,
        exports: Exports,
        *,
        redact: Callable[[str], str],
        people: People | None = None,
    ) -> None:
        self._memories = memories
        self._whose = whose
        self._lines = lines
        self._sessions = sessions
        self._engine = engine
        self._exports = exports
        self._redact = redact
        self._people = people

    async def memory(self, call: Call) -> Answer:
        """`/memory`, `/memory add …`, `/memory forget …`, `/memory undo`."""
        if self._memories is None:
            return refuse(OFF)
        rest = call.word("what")
        match call.word("action"):
            case "add":
                return await self._add(self._memories, call, rest)
            case "forget":
                return await self._forget(self._memories, call, rest)
            case "undo":
                return await self._undo(self._memories, call)
        return await self._list(self._memories, call, rest)

    async def forget(self, call: Call) -> Answer:
        """`/forget me`, `/forget 3`, `/forget peanuts`."""
        what = call.word("what")
        if what.lower() in ("me", "me yes", "me no"):
            return await self._forget_person(call, what.lower().removeprefix("me").strip())
        return refuse(OFF) if self._memories is None else await self._forget(self._memories, call, what)

    async def search(self, call: Call) -> Answer:
        """`/search <words>`."""
        query = call.word("words")
        words = words_in(query)
        if not words:
            return refuse("There are no words in that to look for.")
        parts = []
        if self._memories is not None:
            scopes = await self._whose.reads(call.message)
            found = await self._memories.search(scopes, query, limit=FOUND, threshold=CLOSE)
            parts += ["**Remembered**", *(f"- {_memory(one.memory)}" for one in found)] if found else []
        session = call.message.session
        lines = await self._lines.search(call.chat, session, words, FOUND + 1, meaning=query, is_seen=False)
        said = [one for one in lines if one.line.run != call.message.run][:FOUND]
        if said:
            here = await self._sessions.current(call.chat)
            parts += ["**Said**", *(f"- {plain(shown(one, words, here=here), 400)}" for one in said)]
            others = {one.session for one in said} - {here}
            buttons = _way_back(await self._sessions.of_chat(call.chat), others)
            return Answer(text="\n".join(parts), buttons=buttons)
        return Answer(text="\n".join(parts) or f"Nothing was found for {plain(query)!r}.")

    async def export(self, call: Call) -> Answer:
        """`/export`, `/export me`, `/export me json`."""
        form: Format = "json" if call.word("format") == "json" else "markdown"
        memories: Sequence[Memory] = ()
        if call.word("what") == "me":
            if not call.message.is_direct:
                return refuse(ALONE)
            sessions = await self._all_sessions(await self._chats(call))
            if self._memories is not None:
                memories = await self._memories.export(await self._whose.writes(call.message))
        else:
            sessions = [one for one in await self._sessions.of_chat(call.chat) if one.is_current]
        path = await self._exports.hand_over(call.message, sessions, memories, form)
        if not path:
            return Answer(text="", reason="silent")
        told = f"{count(len(sessions), 'session')}, {_counted(len(memories))}"
        return Answer(text=f"{told}: written to `{path}`, where it stays for a day.")

    async def _list(self, memories: LongTerm, call: Call, rest: str) -> Answer:
        before = int(rest) if rest.isdecimal() and len(rest) < 10 else None
        scope = await self._whose.writes(call.message)
        found = await memories.list(scope, limit=SHOWN + 1, before=before)
        if not found:
            return Answer(text="Nothing is remembered here. `/memory add <fact>` adds something.")
        head = "**What I remember of you**" if scope.kind == "person" else "**What I remember of this group**"
        lines = [head, *(f"- {_memory(one)}: {_source(one)}" for one in found[:SHOWN])]
        if len(found) > SHOWN:
            lines.append(f"… and more: `/memory list {found[SHOWN - 1].number}`")
        lines.append("`/memory forget <number>` deletes one, `/memory undo` what was learned last.")
        return Answer(text="\n".join(lines))

    async def _add(self, memories: LongTerm, call: Call, rest: str) -> Answer:
        text = tidy(self._redact(rest))
        if not text:
            return refuse("Say what to remember: `/memory add I am allergic to peanuts`")
        scope = await self._whose.writes(call.message)
        kept = await memories.learn(scope, [Fact(text=text)], origin_of(call.message, "command"))
        return Answer(text=f"Remembered: {_memory(kept[0])}" if kept else "I know that already.")

    async def _forget(self, memories: LongTerm, call: Call, rest: str) -> Answer:
        """Delete one by its number, or show what may be meant."""
        scope = await self._whose.writes(call.message)
        number = rest.removeprefix("#")
        if not number.isdecimal() or len(number) > 9:
            return await self._offer(memories, scope, rest)
        found = await memories.list(scope, limit=1, before=int(number) + 1)
        if not found or found[0].number != int(number):
            return refuse(f"There is no memory {number} here. `/memory` lists them.")
        if not may_change(found[0], call.message, is_admin=call.is_admin):
            return refuse("That was added by somebody else: they or an admin can have it forgotten.")
        await memories.forget(scope, int(number))
        return Answer(text=f"Memory {number} is forgotten.")

    async def _offer(self, memories: LongTerm, scope: Scope, rest: str) -> Answer:
        found = await memories.search([scope], rest, limit=OFFERED, threshold=CLOSE) if rest else ()
        if not found:
            return refuse("Say which: `/forget <number>`, as `/memory` shows it, or `/forget me` for all.")
        lines = ["Which one?", *(f"- {_memory(one.memory)}" for one in found)]
        buttons = tuple(
            Button(label=f"Forget {one.memory.number}", value=f"/forget {one.memory.number}", style="danger")
            for one in found
        )
        return Answer(text="\n".join(lines), buttons=buttons)

    async def _undo(self, memories: LongTerm, call: Call) -> Answer:
        """Take back what was learned from the message that was learned from last."""
        scope = await self._whose.writes(call.message)
        recent = await memories.list(scope, limit=MAX_UNDONE)
        learned = [one for one in recent if one.origin.how in ("learned", "raw")]
        if not learned:
            return refuse("Nothing was learned here lately. `/memory` lists what is remembered.")
        run = max(learned, key=lambda one: one.updated_at).origin.run
        undone = [one for one in learned if one.origin.run == run]
        if not all(may_change(one, call.message, is_admin=call.is_admin) for one in undone):
            return refuse("That was learned from somebody else: they or an admin can take it back.")
        lines = ["**Taken back**"]
        for one in undone:
            lines.append(f"- {await self._take_back(memories, one, origin_of(call.message, 'command'))}")
        return Answer(text="\n".join(lines))

    async def _take_back(self, memories: LongTerm, one: Memory, origin: Origin) -> str:
        if one.previous is None:
            await memories.forget(one.scope, one.number)
            return f"{plain(one.text, 200)} (forgotten)"
        await memories.update(one.scope, one.number, one.previous, origin)
        return f"{plain(one.text, 200)} (again: {plain(one.previous, 200)})"

    async def _forget_person(self, call: Call, confirm: str) -> Answer:
        """Delete what is remembered of a person, and all that was said in this chat."""
        if not call.message.is_direct:
            return refuse(ALONE)
        chats = await self._chats(call)
        if any(self._engine.activity(one.session).is_busy for one in await self._all_sessions(chats)):
            return refuse(BUSY)
        if confirm == "no":
            return Answer(text=UNCHANGED)
        if confirm != "yes":
            question = (
                "This deletes for good what I remember of you, all that was said in "
                f"{'this chat' if len(chats) == 1 else f'{len(chats)} direct chats with you'}, and the files "
                "that you have sent there. Sums of what was used, the audit log and backups stay."
            )
            return ask_first(question, "/forget me yes", label="Forget me")
        gone = 0
        if self._memories is not None:
            gone = await self._memories.forget(await self._whose.writes(call.message))
        for chat in chats:
            await self._sessions.erase(chat, but=call.message.run)
        if self._people is not None and (person := await self._people.find(call.actor)) is not None:
            await self._people.forget(person)  # last: till then, who is stopped half way can start over
        await self._part(chats)
        where = "here" if len(chats) == 1 else f"in {len(chats)} direct chats"
        return Answer(text=f"Forgotten: {_counted(gone)}, and all that was said {where}.")

    async def _part(self, chats: Sequence[SessionKey]) -> None:
        """Let each chat go on in a session of its own, where they were linked and shared one."""
        taken: set[SessionKey] = set()
        for chat in reversed(chats):  # what they share was begun by the last one
            current = await self._sessions.current(chat)
            taken.add(await self._sessions.begin(chat) if current in taken else current)

    async def _chats(self, call: Call) -> list[SessionKey]:
        """This chat, and the others in which its sender is alone with the bot."""
        person = await self._people.find(call.actor) if self._people is not None else None
        if self._people is None or person is None:
            return [call.chat]
        places = await self._people.chats(person)
        others = [address.session() for each in places.values() for address in each]
        return list(dict.fromkeys((call.chat, *others)))

    async def _all_sessions(self, chats: Sequence[SessionKey]) -> list[ChatSession]:
        found = [one for chat in chats for one in await self._sessions.of_chat(chat)]
        return list({one.session: one for one in found}.values())

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        action = Argument(
            name="action", help="list, add, forget or undo", choices=("list", "add", "forget", "undo")
        )
        rest = Argument(name="what", help="The fact, its number, or words of it", kind="rest")
        which = Argument(name="what", help="me, a number, or words", kind="rest", is_required=True)
        words = Argument(name="words", help="What to look for", kind="rest", is_required=True)
        part = Argument(name="what", help="me, or this session", choices=("me", "session"))
        form = Argument(name="format", help="markdown or json", choices=("markdown", "json"))
        return (
            _command("memory", "Show, add or take back what I remember", self.memory, action, rest),
            _command("forget", "Make me forget a memory, or you", self.forget, which),
            _command("search", "Search what was said in this chat", self.search, words),
            _command("export", "Get this session, or all of you, as a file", self.export, part, form),
        )


def _command(name: str, text: str, handler: Handler, *arguments: Argument) -> Command:
    return Command(CommandSpec(name=name, help=text, arguments=arguments, native=name), handler)


def _counted(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


def _memory(memory: Memory) -> str:
    return f"`{memory.number}` {plain(memory.text, 300)}"


def _source(memory: Memory) -> str:
    """How a memory came to be, and when."""
    origin = memory.origin
    who = "you" if memory.scope.kind == "person" else origin.by
    read = f", after reading: {', '.join(origin.foreign)}" if origin.foreign else ""
    return f"{SOURCES[origin.how].format(who=plain(who))}, {memory.updated_at:%Y-%m-%d}{read}"


def _way_back(sessions: Sequence[ChatSession], wanted: set[SessionKey]) -> tuple[Button, ...]:
    return tuple(
        Button(label=f"Session {one.number}", value=f"/resume {one.number}")
        for one in sessions
        if one.session in wanted
    )[:OFFERED]
