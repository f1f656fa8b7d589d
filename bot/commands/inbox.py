"""`/inbox`, `/canned` and `/dock`: the conversations of all channels, steered from an admin's own chat."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from bot.commands.call import Answer, Call, Command, ask_first, refuse
from bot.commands.parsing import first_word
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import ago, code, count, duration, plain
from bot.inbox.base import MAX_LABELS, Canned, Conversation, Desk, Filter, InboxError, Operator, State
from bot.messages import Role, SessionKey, StoredMessage

SHOWN: Final = 15  # conversations in a list
LINES: Final = 10  # of a conversation
BEGINNING: Final = 300  # characters of each
MAX_LISTS: Final = 100  # chats whose last list is remembered
SECONDS: Final = 90.0  # a draft gets 60

ALONE: Final = "I tell of other conversations only in a chat with you alone."
WHICH: Final = "Which conversation? `/inbox` lists them; name one by its number or its key."
NOTHING: Final = "No conversation is like that."
LOST: Final = "There is no number {number} in the last list: give `/inbox` again."
HOW: Final = "`/inbox show <n>` shows one; `/help inbox` tells what else can be done."
TAKEN: Final = "You answer in {chat} now: `/inbox reply {key} <text>`, and `/inbox release {key}` at the end."
PER_MINUTE: Final = 60  # chats that a broadcast goes to
SENT: Final = "It goes out to {chats}; `/inbox send {ticket} stop` stops it."
NO_WORDS: Final = "With which words? `/inbox {action} <n> <text>`"
STATES: Final[Mapping[str, State]] = {
    "handled": "handled",
    "mute": "muted",
    "open": "open",
    "wait": "waiting",
}

Act: TypeAlias = Callable[[Conversation, str, Operator], Awaitable[str]]


class InboxCommands:
    """The handlers, over the desk; the numbers of a list hold until the next one in the same chat."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._listed: OrderedDict[SessionKey, tuple[SessionKey, ...]] = OrderedDict()
        self._acts: dict[str, Act] = {
            "show": self._show,
            "take": self._take,
            "release": self._release,
            "reply": self._reply,
            "say": self._say,
            "canned": self._say_canned,
            "draft": self._draft,
            "stop": self._stop,
            "retry": self._retry,
            "assign": self._assign,
            "label": self._label,
            "note": self._note,
            "block": self._block,
            "unblock": self._unblock,
        }

    async def inbox(self, call: Call) -> Answer:
        """`/inbox [waiting|unread|<text>]`, `/inbox <action> <n or key> [text]`."""
        if not call.message.is_direct:
            return refuse(ALONE)
        action, words = call.word("action"), call.word("words")
        match action:
            case "" | "waiting" | "unread":
                return await self._list(call, _wanted(action, words))
            case "questions":
                return Answer(text=self._questions())
            case "answer":
                id_, text = first_word(words)
                await self._desk.answer(id_.lower(), text, _operator(call))
                return Answer(text="Answered.", target=id_)
            case "broadcast":
                return await self._preview(words, _operator(call))
            case "send":
                return await self._send(words, _operator(call))
        name, text = first_word(words)
        conversation = await self._named(call, name)
        by = _operator(call)
        if (state := STATES.get(action)) is not None:
            await self._desk.mark(conversation.chat, state, by)
            return Answer(text=f"{code(conversation.chat)} is {state}.", target=conversation.chat)
        said = await self._acts[action](conversation, text, by)
        return Answer(text=said, target=conversation.chat)

    async def _list(self, call: Call, wanted: Filter) -> Answer:
        found = await self._desk.conversations(wanted, limit=SHOWN)
        if not found:
            return Answer(text=NOTHING)
        self._listed[call.chat] = tuple(one.chat for one in found)
        self._listed.move_to_end(call.chat)
        if len(self._listed) > MAX_LISTS:
            self._listed.popitem(last=False)
        return Answer(text="\n".join([*(_line(n, one) for n, one in enumerate(found, 1)), "", HOW]))

    async def _named(self, call: Call, name: str) -> Conversation:
        """The conversation that a number of the last list, or a key, names."""
        if not name:
            raise InboxError(WHICH)
        if name.isascii() and name.isdigit() and len(name) <= 4:
            listed = self._listed.get(call.chat, ())
            if not 1 <= int(name) <= len(listed):
                raise InboxError(LOST.format(number=int(name)))
            return await self._desk.conversation(listed[int(name) - 1])
        return await self._desk.conversation(SessionKey(name))

    def _questions(self) -> str:
        lines = [
            f"- {code(one.id)} in {code(one.chat)}: {plain(one.text, BEGINNING)}"
            + (f" ({', '.join(map(plain, one.options))})" if one.options else "")
            for one in self._desk.questions()
        ]
        return "\n".join(
            [*lines, "`/inbox answer <id> <text>` answers one."] if lines else ["Nothing is asked."]
        )

    async def _preview(self, words: str, by: Operator) -> Answer:
        """`/inbox broadcast [chats a minute] <text>`."""
        rate, text = first_word(words)
        has_rate = rate.isascii() and rate.isdigit() and len(rate) <= 4
        preview = await self._desk.preview(
            text if has_rate else words, by, per_minute=int(rate) if has_rate else PER_MINUTE
        )
        chats = ", ".join(f"{channel}: {number}" for channel, number in preview.chats.items())
        question = f"This goes to {chats}, and takes {duration(preview.seconds)}:\n\n{preview.text}"
        return ask_first(question, f"/inbox send {preview.ticket}", label="Send it")

    async def _send(self, words: str, by: Operator) -> Answer:
        """`/inbox send <ticket>`, `/inbox send <ticket> stop`."""
        ticket, what = first_word(words)
        if what.strip().lower() == "stop":
            is_stopped = await self._desk.stop_broadcast(ticket, by)
            return Answer(text="Stopped." if is_stopped else "That one is over.", target=ticket)
        begun = await self._desk.broadcast(ticket, by)
        return Answer(text=SENT.format(chats=count(begun.total, "chat"), ticket=ticket), target=ticket)

    # --- what is done with one conversation

    async def _show(self, one: Conversation, text: str, by: Operator) -> str:
        lines = await self._desk.book.lines(one.session, limit=LINES)
        notes = await self._desk.book.notes(one.chat)
        await self._desk.mark_read(one.chat)
        shown = [_line(0, one), *map(_said, lines)]
        shown += [f"- _Note #{note.id} of {plain(note.by)}: {plain(note.text, BEGINNING)}_" for note in notes]
        return "\n".join(shown)

    async def _take(self, one: Conversation, text: str, by: Operator) -> str:
        await self._desk.take_over(one.chat, by)
        return TAKEN.format(chat=code(one.chat), key=one.chat)

    async def _release(self, one: Conversation, text: str, by: Operator) -> str:
        await self._desk.hand_back(one.chat, by)
        return f"I answer in {code(one.chat)} again."

    async def _reply(self, one: Conversation, text: str, by: Operator) -> str:
        return await self._speak(one, text, by, "reply")

    async def _say(self, one: Conversation, text: str, by: Operator) -> str:
        return await self._speak(one, text, by, "say", as_operator=True)

    async def _speak(
        self, one: Conversation, text: str, by: Operator, action: str, *, as_operator: bool = False
    ) -> str:
        if not text.strip():
            raise InboxError(NO_WORDS.format(action=action))
        await self._desk.reply(one.chat, text, by, as_operator=as_operator)
        return "Said."

    async def _say_canned(self, one: Conversation, text: str, by: Operator) -> str:
        name = text.strip()
        found = next((canned for canned in await self._desk.book.canned() if canned.name == name), None)
        if found is None:
            raise InboxError("There is no canned reply of that name: `/canned` lists them.")
        await self._desk.reply(one.chat, found.text.replace("{name}", one.person), by)
        return "Said."

    async def _draft(self, one: Conversation, text: str, by: Operator) -> str:
        return await self._desk.draft(one.chat, by)

    async def _stop(self, one: Conversation, text: str, by: Operator) -> str:
        is_stopped = await self._desk.stop(one.chat, by)
        return "Stopped." if is_stopped else "Nothing is being answered there."

    async def _retry(self, one: Conversation, text: str, by: Operator) -> str:
        await self._desk.retry(one.chat, by)
        return "It is taken up now."

    async def _assign(self, one: Conversation, text: str, by: Operator) -> str:
        name = {"": by.name, "nobody": None}.get(text.strip(), text.strip())
        await self._desk.assign(one.chat, name, by)
        return f"{plain(name) if name else 'Nobody'} looks after {code(one.chat)}."

    async def _label(self, one: Conversation, text: str, by: Operator) -> str:
        labels = [label for part in text.split(",", MAX_LABELS) if (label := part.strip())]
        await self._desk.label(one.chat, labels, by)
        return f"Labels: {', '.join(map(plain, labels)) or 'none'}."

    async def _note(self, one: Conversation, text: str, by: Operator) -> str:
        note = await self._desk.add_note(one.chat, text, by)
        return f"Noted as #{note.id}; only operators see it."

    async def _block(self, one: Conversation, text: str, by: Operator) -> str:
        await self._desk.block(one.chat, by)
        return f"I hear nothing of {code(one.chat)} any more."

    async def _unblock(self, one: Conversation, text: str, by: Operator) -> str:
        await self._desk.block(one.chat, by, is_blocked=False)
        return f"{code(one.chat)} is not blocked any more."

    # --- the other two

    async def canned(self, call: Call) -> Answer:
        """`/canned`, `/canned set <name> <text>`, `/canned delete <name>`."""
        action, by = call.word("action"), _operator(call)
        name, text = first_word(call.word("words"))
        match action:
            case "set":
                await self._desk.put_canned(Canned(name=name, text=text), by)
                return Answer(text=f"{code(name)} is kept.", target=name)
            case "delete":
                if not await self._desk.delete_canned(name, by):
                    return refuse(f"There is no canned reply {code(name)}.")
                return Answer(text=f"{code(name)} is gone.", target=name)
        lines = [
            f"- {code(one.name)}: {plain(one.text, BEGINNING)}" for one in await self._desk.book.canned()
        ]
        return Answer(text="\n".join(lines) or "There are none: `/canned set <name> <text>` keeps one.")

    async def dock(self, call: Call) -> Answer:
        """`/dock <chat key>`, `/dock off`."""
        target = call.word("chat")
        is_off = target.lower() == "off"
        await self._desk.dock(call.chat, None if is_off else SessionKey(target), _operator(call))
        return Answer(text="", reason="silent", target=target)  # a note in both chats says it

    def commands(self) -> tuple[Command, ...]:
        """What is registered; none is for the admins of one group alone."""
        actions = ("waiting", "unread", "questions", "answer", "broadcast", "send", *STATES, *self._acts)
        what = Argument(name="action", help="What to see or do", choices=actions)
        words = Argument(
            name="words", help="Which one, by number or key, and what else it takes", kind="rest"
        )
        keep = Argument(name="action", help="Change them", choices=("list", "set", "delete"))
        name = Argument(name="words", help="Its name, and the text for set", kind="rest")
        chat = Argument(name="chat", help="The key of the chat, or off", is_required=True)
        return (
            _command("inbox", "Show and steer the conversations of all channels", self.inbox, what, words),
            _command("canned", "Show or change the replies that are written once", self.canned, keep, name),
            _command("dock", "Let my answers to this chat go to another one", self.dock, chat),
        )


def _command(
    name: str, text: str, handler: Callable[[Call], Awaitable[Answer]], *arguments: Argument
) -> Command:
    spec = CommandSpec(name=name, help=text, arguments=arguments, is_admin=True, native=name)
    return Command(spec, handler, is_operators=True, seconds=SECONDS)


def _operator(call: Call) -> Operator:
    sender = call.message.sender
    role = Role.OWNER if sender.role is Role.OWNER else Role.ADMIN
    return Operator(name=sender.name or sender.id, actor=call.actor, role=role)


def _wanted(action: str, text: str) -> Filter:
    match action:
        case "waiting":
            return Filter(states=("waiting",), text=text)
        case "unread":
            return Filter(is_unread=True, text=text)
        case _:
            return Filter(text=text)


def _line(number: int, one: Conversation) -> str:
    head = f"{number}. " if number else ""
    marks: list[str] = [one.state] if one.state != "open" else []
    marks += [count(one.unread, "unread line")] if one.unread else []
    marks += [f"taken over by {plain(one.taken_by)}"] if one.taken_by else []
    marks += [f"answers go to {one.docked_to.session()}"] if one.docked_to else []
    marks += [f"for {plain(one.assignee)}"] if one.assignee else []
    marks += ["being answered"] if one.running else []
    marks += [f"first word without an answer {ago(one.waiting_since)}"] if one.waiting_since else []
    title = plain(one.title or one.person or one.chat)
    labels = f" [{', '.join(map(plain, one.labels))}]" if one.labels else ""
    return f"{head}**{title}** {code(one.chat)}{labels}{': ' if marks else ''}{', '.join(marks)}"


def _said(line: StoredMessage) -> str:
    return f"- {plain(line.speaker)}, {ago(line.at.timestamp())}: {plain(line.text, BEGINNING)}"
