"""What answers of `/api/inbox` look like."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints

from bot.inbox.base import MAX_CANNED, MAX_NAME, Conversation, State
from bot.web.api.bodies import RUN, Body, MessageBody, Shown, moment


class LastBody(Shown):
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
            last=None if one.last is None else LastBody.of(one.last),
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


class CountsBody(Shown):
    """How many there are of each state, how many with something unread, and how many operators answer in."""

    states: dict[State, int]
    unread: int
    taken: int


class ToolBody(Shown):
    """A tool call; `result` is cut where it is very long."""

    run_id: str = Field(validation_alias=RUN)
    call_id: str
    name: str
    arguments: str
    state: Literal["running", "ok", "error"]
    result: str | None
    started_at: datetime | None
    ended_at: datetime | None


class ToolList(Body):
    """In the order in which they began."""

    calls: list[ToolBody]


class NoteBody(Shown):
    """What an operator has written for the others."""

    id: int
    by: str
    text: str
    at: datetime | None


class NoteList(Body):
    """The oldest first."""

    notes: list[NoteBody]


class HitBody(Shown):
    """A line that was found, and where."""

    chat: str
    session: str
    title: str | None
    message: MessageBody = Field(validation_alias=AliasChoices("message", "line"))


class HitList(Body):
    """Those with most of the words first, then the newest."""

    hits: list[HitBody]


class LabelList(Body):
    """All labels that are in use."""

    labels: list[str]


class QuestionBody(Shown):
    """A question that waits; approvals take `once`, `always` or `deny`."""

    id: str
    chat: str
    text: str
    options: list[str]
    takes_text: bool
    is_approval: bool
    asked_at: datetime | None
    ends_at: datetime | None


class QuestionList(Body):
    """The oldest first."""

    questions: list[QuestionBody]


class CannedBody(Shown):
    """A reply that is written once; `{name}` stands for the person's name."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CANNED)]


class CannedList(Body):
    """By name."""

    replies: list[CannedBody]


class RunStarted(Body):
    """The run that it belongs to."""

    run_id: str


class DraftBody(Body):
    """What the agent would say; nobody else sees it."""

    text: str


class PreviewBody(Shown):
    """How many chats of each channel it would reach; the ticket sends it, for 10 minutes."""

    ticket: str
    text: str
    chats: dict[str, int]
    seconds: float


class BroadcastBody(Shown):
    """How a broadcast gets on."""

    ticket: str
    total: int
    sent: int
    is_over: bool
    is_stopped: bool


class BroadcastList(Body):
    """Those that go on, and those of the last hour."""

    broadcasts: list[BroadcastBody]
