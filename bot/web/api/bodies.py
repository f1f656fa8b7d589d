"""What requests and answers look like: their fields are written in camel case on the wire."""

from datetime import UTC, datetime
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from bot.agent.audit import Severity
from bot.scheduler.schedules import Listed
from bot.web.api.base import RunStatus, Scope

MAX_TEXT = 100_000  # characters of one message
MAX_WAIT = 600_000  # milliseconds
RUN = AliasChoices("runId", "run")  # on the wire, and inside

ChatName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Word: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]


class Body(BaseModel):
    """The base of all bodies; a field that is not known is refused."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True, extra="forbid")


class Shown(Body):
    """A body whose fields are those of what it shows; times are made of seconds since 1970."""

    @classmethod
    def of(cls, shown: object) -> Self:
        """That of a thing with these attributes."""
        return cls.model_validate(shown, from_attributes=True)


class Fault(BaseModel):
    """Why something was not done."""

    error: str


class AgentRequest(Body):
    """A message to the agent."""

    message: Text
    session: ChatName = Field(default="main", description="Which of the caller's conversations.")
    user: Word | None = Field(
        default=None, description="For whom, where one key serves several people: each is somebody else."
    )
    idempotency_key: Word | None = Field(
        default=None, description="The same again gives the same run, and is not done twice."
    )


class AgentAccepted(Body):
    """The run that answers; it goes on whoever waits."""

    run_id: str
    accepted_at: datetime
    session: str


class WaitRequest(Body):
    """For which run, and for how long, in milliseconds."""

    run_id: Word
    timeout_ms: int = Field(default=30_000, ge=0, le=MAX_WAIT)


class WaitResult(Body):
    """How it went; `timeout` says that it goes on."""

    status: Literal["ok", "error", "timeout"]
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    text: str | None = None


class RunBody(Shown):
    """How a run stands; `text` is its answer."""

    run_id: str = Field(validation_alias=RUN)
    session: str
    status: RunStatus
    accepted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    text: str = ""


class Cancelled(Body):
    """Whether there was something to stop."""

    cancelled: bool


class SessionBody(Shown):
    """A session in a list."""

    session: str
    title: str | None
    messages: int
    updated_at: datetime | None


class SessionList(Body):
    """The newest first; `next` asks for those after them."""

    sessions: list[SessionBody]
    next: float | None = None


class MessageBody(Shown):
    """A line of a conversation; its numbers grow by one."""

    number: int
    run_id: str = Field(validation_alias=RUN)
    role: Literal["user", "assistant", "tool"]
    speaker: str
    text: str
    at: datetime
    reason: str | None = None


class MessageList(Body):
    """The oldest first; `before` asks for those before them."""

    messages: list[MessageBody]
    before: int | None = None


class ScheduleRequest(Body):
    """What is to be done when, in one of the caller's conversations."""

    when: Word = Field(description="As people write it: in 10 minutes, tomorrow 9:00, every weekday 8:00.")
    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
    session: ChatName = "main"
    zone: Annotated[str, StringConstraints(max_length=64)] = ""


class ScheduleBody(Shown):
    """A schedule; its number counts those of its chat."""

    chat: str
    number: int
    text: str
    maker: str
    zone: str
    next_at: datetime | None
    last_at: datetime | None
    is_paused: bool
    last_outcome: str | None = None

    @classmethod
    def listed(cls, entry: Listed) -> Self:
        """That of a schedule, with how it went the last time."""
        return cls.of(entry.schedule).model_copy(update={"last_outcome": entry.last and entry.last.reason})


class ScheduleList(Body):
    """What comes next is first."""

    schedules: list[ScheduleBody]


class AuditBody(Shown):
    """An event of the audit log."""

    number: int
    id: str
    at: datetime
    severity: Severity
    actor: str
    action: str
    target: str
    status: str
    session: str | None = None
    run_id: str | None = Field(default=None, validation_alias=RUN)
    context: dict[str, str | int | float] = {}


class AuditList(Body):
    """The newest first."""

    events: list[AuditBody]


class KeyRequest(Body):
    """A key that is to be made."""

    name: Word
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]


class KeyBody(Shown):
    """An API key without what makes it work."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime | None
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class KeyMade(Body):
    """A new key; `text` is shown this once."""

    key: KeyBody
    text: str


class KeyList(Body):
    """Every key, the newest first."""

    keys: list[KeyBody]


class WebhookRequest(Body):
    """Where events are to be posted, and which."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#@/]+[^\s#]*$", max_length=2_000)]
    events: Annotated[list[Word], Field(min_length=1, max_length=50)]


class WebhookBody(Shown):
    """Somebody who is told of events."""

    id: str
    url: str
    events: list[str]
    created_at: datetime | None


class WebhookMade(Body):
    """A new webhook; `secret` is shown this once."""

    webhook: WebhookBody
    secret: str


class WebhookList(Body):
    """All of them."""

    webhooks: list[WebhookBody]


class DeadLetterBody(Shown):
    """A message that nobody took."""

    id: str
    webhook: str
    event: str
    tries: int
    error: str
    created_at: datetime | None


class DeadLetterList(Body):
    """The newest first."""

    letters: list[DeadLetterBody]


class Done(Body):
    """It was done."""

    status: Literal["done", "queued"] = "done"


def moment(seconds: float | None) -> datetime | None:
    """Seconds since 1970 as a time."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
