"""What operators do with conversations, whether they ask from a page, over the API or by command."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol, get_args

import msgspec
from msgspec.structs import replace

from bot.agent.announcing import Announcer
from bot.agent.questions import NotAnswered, QuestionDesk
from bot.commands.access import AccessRules
from bot.commands.wording import plain
from bot.inbox.acts import Acts
from bot.inbox.base import (
    EVERYTHING,
    MAX_CANNED,
    MAX_LABEL,
    MAX_LABELS,
    MAX_NAME,
    MAX_NOTE,
    Broadcast,
    Canned,
    Conversation,
    Filter,
    InboxBook,
    InboxError,
    Note,
    Operator,
    Place,
    Preview,
    Question,
    State,
)
from bot.inbox.broadcasting import Broadcasts
from bot.inbox.diversions import Diversions
from bot.inbox.docking import Docks
from bot.inbox.drafting import Drafts
from bot.inbox.retrying import Retries
from bot.messages import RunId, SessionKey

MAX_REPLY: Final = 16_000  # characters
STATES: Final[tuple[State, ...]] = get_args(State)
UNKNOWN: Final = "There is no conversation {chat!r}."
HAND_BACK: Final = "{name} answers there: hand it back first, then the agent can."
NO_PERSON: Final = "Who has spoken there is not known."
AT_THE_PAGE: Final = "Who sits at {channel} can't be blocked: take their token away."
NO_QUESTION: Final = "That question is not open any more."


class Loop(Protocol):
    """The agent loop, as far as operators steer it."""

    speaker: Announcer
    questions: QuestionDesk

    def runs_by_chat(self) -> Mapping[SessionKey, Sequence[RunId]]:
        """The turns that are being done, by the chat they are for."""

    async def cancel(self, run: RunId, *, actor: str) -> bool:
        """Stop one; False where it is neither being done nor waiting."""


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What does the larger acts."""

    diversions: Diversions
    drafts: Drafts
    docks: Docks
    retries: Retries
    broadcasts: Broadcasts


class InboxDesk:
    """Fulfils `bot.inbox.base.Desk`.

    Args:
        loop: Asked for at each act: the desk is there before the loop is.
        rules: Who is answered.
        live: Channels whose people sit at the bot itself, and can't be blocked.
    """

    def __init__(
        self,
        book: InboxBook,
        acts: Acts,
        loop: Callable[[], Loop],
        means: Means,
        *,
        rules: AccessRules,
        live: Collection[str] = (),
    ) -> None:
        self.book = book
        self._acts = acts
        self._loop = loop
        self._diversions = means.diversions
        self._drafts = means.drafts
        self._docks = means.docks
        self._retries = means.retries
        self._broadcasts = means.broadcasts
        self._rules = rules
        self._live = live

    # --- looked at

    async def conversations(
        self, wanted: Filter = EVERYTHING, *, after: Place | None = None, limit: int = 50
    ) -> list[Conversation]:
        """See the protocol."""
        found = await self.book.find(wanted, after=after, limit=limit)
        running = self._loop().runs_by_chat()
        return [_with_run(one, running) for one in found]

    async def conversation(self, chat: SessionKey) -> Conversation:
        """See the protocol."""
        found = await self.book.get(chat)
        if found is None:
            raise InboxError(UNKNOWN.format(chat=chat))
        return _with_run(found, self._loop().runs_by_chat())

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """See the protocol."""
        return self._acts.watch(changed)

    # --- said

    async def reply(self, chat: SessionKey, text: str, by: Operator, *, as_operator: bool = False) -> RunId:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        said = _sized(text, MAX_REPLY, "a reply")
        if as_operator:
            said = f"**{plain(by.name)}:** {said}"
        end = await self._loop().speaker.say(
            conversation.address,
            conversation.session,
            said,
            in_context=True,
            speaker=by.name if as_operator else "",
        )
        await self.book.mark_read(chat)
        await self._acts.note(by, "reply", chat, session=conversation.session)
        return end.run

    async def draft(self, chat: SessionKey, by: Operator) -> str:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        text = await self._drafts.write(conversation, by)
        await self._acts.note(by, "draft", chat, session=conversation.session)
        return text

    # --- taken over

    async def take_over(self, chat: SessionKey, by: Operator) -> None:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        await self._diversions.take(chat, by.name)
        await self._stop_runs(chat, by)
        await self._acts.note(by, "take over", chat, session=conversation.session, severity="warning")

    async def hand_back(self, chat: SessionKey, by: Operator) -> None:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        await self._diversions.hand_back(chat)
        await self._acts.note(by, "hand back", chat, session=conversation.session, severity="warning")

    # --- turns

    async def stop(self, chat: SessionKey, by: Operator) -> bool:
        """See the protocol; the loop writes it down."""
        self._acts.allow(by)
        is_stopped = await self._stop_runs(chat, by)
        self._acts.tell()
        return is_stopped

    async def _stop_runs(self, chat: SessionKey, by: Operator) -> bool:
        runs = self._loop().runs_by_chat().get(chat, ())
        return any([await self._loop().cancel(run, actor=by.actor) for run in runs])

    async def retry(self, chat: SessionKey, by: Operator) -> RunId:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        if (name := self._diversions.taken_by(chat)) is not None:
            raise InboxError(HAND_BACK.format(name=name))
        run = await self._retries.retry(conversation)
        await self._acts.note(by, "retry", chat, session=conversation.session, severity="warning")
        return run

    def questions(self, chat: SessionKey | None = None) -> Sequence[Question]:
        """See the protocol."""
        waiting = self._loop().questions.waiting()
        return [one for one in waiting if chat is None or one.chat == chat]

    async def answer(self, question: str, text: str, by: Operator) -> None:
        """See the protocol."""
        self._acts.allow(by)
        found = next((one for one in self.questions() if one.id == question), None)
        if found is None:
            raise InboxError(NO_QUESTION)
        try:
            answer = await self._loop().questions.answer(question, text, by=plain(by.name))
        except NotAnswered as error:
            raise InboxError(str(error)) from error
        action, status = ("approve", answer) if found.is_approval else ("answer", "done")
        await self._acts.note(by, action, found.chat, status=status, severity="warning")

    # --- put to conversations

    async def mark(self, chat: SessionKey, state: State, by: Operator) -> None:
        """See the protocol."""
        if state not in STATES:
            raise InboxError(f"A conversation is one of {', '.join(STATES)}.")
        await self._steered(chat, by)
        await self.book.mark(chat, state)
        await self._acts.note(by, "mark", chat, status=state)

    async def mark_read(self, chat: SessionKey, upto: int | None = None) -> None:
        """See the protocol."""
        await self.conversation(chat)
        await self.book.mark_read(chat, upto)
        self._acts.tell()

    async def assign(self, chat: SessionKey, assignee: str | None, by: Operator) -> None:
        """See the protocol."""
        await self._steered(chat, by)
        name = None if assignee is None else _sized(assignee, MAX_NAME, "a name")
        await self.book.assign(chat, name)
        await self._acts.note(by, "assign", chat, status=name or "nobody")

    async def label(self, chat: SessionKey, labels: Sequence[str], by: Operator) -> None:
        """See the protocol."""
        await self._steered(chat, by)
        named = list(dict.fromkeys(_sized(one, MAX_LABEL, "a label") for one in labels))
        if len(named) > MAX_LABELS:
            raise InboxError(f"A conversation has at most {MAX_LABELS} labels.")
        await self.book.label(chat, named)
        await self._acts.note(by, "label", chat, context=(("labels", ", ".join(named)),))

    async def add_note(self, chat: SessionKey, text: str, by: Operator) -> Note:
        """See the protocol."""
        await self._steered(chat, by)
        note = await self.book.add_note(chat, _sized(text, MAX_NOTE, "a note"), by=by.name)
        await self._acts.note(by, "note", chat, context=(("note", note.id),))
        return note

    async def delete_note(self, chat: SessionKey, id_: int, by: Operator) -> bool:
        """See the protocol."""
        self._acts.allow(by)
        is_gone = await self.book.delete_note(chat, id_)
        if is_gone:
            await self._acts.note(by, "delete note", chat, context=(("note", id_),))
        return is_gone

    async def put_canned(self, canned: Canned, by: Operator) -> None:
        """See the protocol."""
        self._acts.allow(by)
        name = _sized(canned.name, MAX_NAME, "the name of a canned reply")
        await self.book.put_canned(Canned(name=name, text=_sized(canned.text, MAX_CANNED, "a canned reply")))
        await self._acts.note(by, "put canned", name)

    async def delete_canned(self, name: str, by: Operator) -> bool:
        """See the protocol."""
        self._acts.allow(by)
        is_gone = await self.book.delete_canned(name)
        if is_gone:
            await self._acts.note(by, "delete canned", name)
        return is_gone

    # --- where from, where to

    async def block(self, chat: SessionKey, by: Operator, *, is_blocked: bool = True) -> None:
        """See the protocol."""
        conversation = await self._steered(chat, by)
        address = conversation.address
        if address.channel in self._live:
            raise InboxError(AT_THE_PAGE.format(channel=address.channel))
        id_ = conversation.subject.partition(":")[2] if address.is_direct else address.chat
        if not id_:
            raise InboxError(NO_PERSON)
        subject = f"{address.channel}:{address.account}:{id_}"
        await self._rules.rule(
            "user" if address.is_direct else "chat", subject, "block" if is_blocked else None, by=by.actor
        )
        await self._acts.note(by, "block" if is_blocked else "unblock", subject, severity="warning")

    async def dock(self, chat: SessionKey, target: SessionKey | None, by: Operator) -> None:
        """See the protocol."""
        here = await self._steered(chat, by)
        if target is None:
            await self._docks.undock(here, self._loop().speaker)
        else:
            await self._docks.dock(here, await self.conversation(target), self._loop().speaker)
        await self._acts.note(by, "dock", chat, status=target or "off", severity="warning")

    # --- said to many

    async def preview(
        self, text: str, by: Operator, *, channels: Sequence[str] = (), per_minute: int = 60
    ) -> Preview:
        """See the protocol."""
        self._acts.allow(by)
        return await self._broadcasts.preview(text, channels=channels, per_minute=per_minute)

    async def broadcast(self, ticket: str, by: Operator) -> Broadcast:
        """See the protocol."""
        self._acts.allow(by)
        begun = self._broadcasts.begin(ticket)
        await self._acts.note(by, "broadcast", ticket, severity="warning", context=(("chats", begun.total),))
        return begun

    def broadcasts(self) -> Sequence[Broadcast]:
        """See the protocol."""
        return self._broadcasts.all()

    async def stop_broadcast(self, ticket: str, by: Operator) -> bool:
        """See the protocol."""
        self._acts.allow(by)
        is_stopped = self._broadcasts.stop(ticket)
        if is_stopped:
            await self._acts.note(by, "stop broadcast", ticket, severity="warning")
        return is_stopped

    async def _steered(self, chat: SessionKey, by: Operator) -> Conversation:
        """A conversation that somebody may do something with."""
        self._acts.allow(by)
        return await self.conversation(chat)


def _with_run(one: Conversation, running: Mapping[SessionKey, Sequence[RunId]]) -> Conversation:
    runs = running.get(one.chat)
    return replace(one, running=runs[-1]) if runs else one


def _sized(text: str, most: int, what: str) -> str:
    """A text that is there and not too long."""
    text = text.strip()
    if not 1 <= len(text) <= most:
        raise InboxError(f"{what[0].upper()}{what[1:]} has 1 to {most:,} characters.")
    return text
