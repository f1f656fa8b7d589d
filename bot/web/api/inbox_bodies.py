"""What answers of `/api/inbox` look like."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints

from bot.inbox.base import (
    MAX_CANNED,
    MAX_NAME,
    Broadcast,
    Canned,
    Conversation,
    Counts,
    Hit,
    Note,
    Preview,
    Question,
    State,
    ToolLine,
)
from bot.web.api.bodies import Body, MessageBody, moment


class LastBody(Body):
    """What was said last, as its beginning."""

    role: Literal["user", "assistant", "tool"]
    speaker: str
    text: str
    at: datetime | None
    reason: str | None


class ConversationBody(Body):
    """A chat, or a thread of one, whatever session it is in."""

    chat: str
    session: str
    channel: str
    is_direct: bool
    title: str | None
    person: str = Field(description="Who was noted last there.")
    subject: str = Field(description="The same as `channel:id`.")
    state: State
    unread: int = Field(description="Lines that no operator has seen; 1,000 at most.")
    assignee: str | None
    labels: list[str]
    taken_by: str | None = Field(description="The operator who answers in the agent's stead.")
    docked_to: str | None = Field(description="The chat that gets its answers instead.")
    last: LastBody | None
    waiting_since: datetime | None = Field(description="When the oldest word was said that has no answer.")
    messages: int
    updated_at: datetime | None
    run_id: str | None = Field(description="The turn that is being done.")
    tokens: int
    cost: int = Field(description="In billionths of the currency.")

    @classmethod
    def of(cls, one: Conversation) -> Self:
        """That of a conversation."""
        last = one.last
        return cls(
            chat=one.chat,
            session=one.session,
            channel=one.address.channel,
            is_direct=one.address.is_direct,
            title=one.title,
            person=one.person,
            subject=one.subject,
            state=one.state,
            unread=one.unread,
            assignee=one.assignee,
            labels=list(one.labels),
            taken_by=one.taken_by,
            docked_to=None if one.docked_to is None else one.docked_to.session(),
            last=None
            if last is None
            else LastBody(
                role=last.role,
                speaker=last.speaker,
                text=last.text,
                at=moment(last.at),
                reason=last.reason,
            ),
            waiting_since=moment(one.waiting_since),
            messages=one.messages,
            updated_at=moment(one.updated_at),
            run_id=one.running,
            tokens=one.tokens,
            cost=one.cost,
        )


class ConversationList(Body):
    """The newest first; `next` asks for those after them."""

    conversations: list[ConversationBody]
    next: str | None = None


class CountsBody(Body):
    """How many there are of each state, how many with something unread, and how many operators answer in."""

    states: dict[State, int]
    unread: int
    taken: int

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """That of counts."""
        return cls(states=dict(counts.states), unread=counts.unread, taken=counts.taken)


class ToolBody(Body):
    """A tool call; `result` is cut where it is very long."""

    run_id: str
    call_id: str
    name: str
    arguments: str
    state: Literal["running", "ok", "error"]
    result: str | None
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, line: ToolLine) -> Self:
        """That of a call."""
        return cls(
            run_id=line.run,
            call_id=line.call_id,
            name=line.name,
            arguments=line.arguments,
            state=line.state,
            result=line.result,
            started_at=moment(line.started_at),
            ended_at=moment(line.ended_at),
        )


class ToolList(Body):
    """In the order in which they began."""

    calls: list[ToolBody]


class NoteBody(Body):
    """What an operator has written for the others."""

    id: int
    by: str
    text: str
    at: datetime | None

    @classmethod
    def of(cls, note: Note) -> Self:
        """That of a note."""
        return cls(id=note.id, by=note.by, text=note.text, at=moment(note.at))


class NoteList(Body):
    """The oldest first."""

    notes: list[NoteBody]


class HitBody(Body):
    """A line that was found, and where."""

    chat: str
    session: str
    title: str | None
    message: MessageBody

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """That of a hit."""
        return cls(chat=hit.chat, session=hit.session, title=hit.title, message=MessageBody.of(hit.line))


class HitList(Body):
    """Those with most of the words first, then the newest."""

    hits: list[HitBody]


class LabelList(Body):
    """All labels that are in use."""

    labels: list[str]


class QuestionBody(Body):
    """A question that waits; approvals take `once`, `always` or `deny`."""

    id: str
    chat: str
    text: str
    options: list[str]
    takes_text: bool
    is_approval: bool
    asked_at: datetime | None
    ends_at: datetime | None

    @classmethod
    def of(cls, question: Question) -> Self:
        """That of a question."""
        return cls(
            id=question.id,
            chat=question.chat,
            text=question.text,
            options=list(question.options),
            takes_text=question.takes_text,
            is_approval=question.is_approval,
            asked_at=moment(question.asked_at),
            ends_at=moment(question.ends_at),
        )


class QuestionList(Body):
    """The oldest first."""

    questions: list[QuestionBody]


class CannedBody(Body):
    """A reply that is written once; `{name}` stands for the person's name."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CANNED)]

    @classmethod
    def of(cls, canned: Canned) -> Self:
        """That of a canned reply."""
        return cls(name=canned.name, text=canned.text)


class CannedList(Body):
    """By name."""

    replies: list[CannedBody]


class RunStarted(Body):
    """The run that it belongs to."""

    run_id: str


class DraftBody(Body):
    """What the agent would say; nobody else sees it."""

    text: str


class PreviewBody(Body):
    """How many chats of each channel it would reach; the ticket sends it, for 10 minutes."""

    ticket: str
    text: str
    chats: dict[str, int]
    seconds: float

    @classmethod
    def of(cls, preview: Preview) -> Self:
        """That of a preview."""
        return cls(
            ticket=preview.ticket, text=preview.text, chats=dict(preview.chats), seconds=preview.seconds
        )


class BroadcastBody(Body):
    """How a broadcast gets on."""

    ticket: str
    total: int
    sent: int
    is_over: bool
    is_stopped: bool

    @classmethod
    def of(cls, broadcast: Broadcast) -> Self:
        """That of a broadcast."""
        return cls(
            ticket=broadcast.ticket,
            total=broadcast.total,
            sent=broadcast.sent,
            is_over=broadcast.is_over,
            is_stopped=broadcast.is_stopped,
        )


class BroadcastList(Body):
    """Those that go on, and those of the last hour."""

    broadcasts: list[BroadcastBody]
