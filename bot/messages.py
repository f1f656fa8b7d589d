"""What travels on the bus: inbound messages, outbound streams and system events.

Everything here is frozen and is encoded by one codec (`encode`, `Decoder`), for the store, the web page and
whatever carries the bus. Ids are UUIDv7 in hex with dashes: they sort by the time they were made.
"""

import time
from collections import deque
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from secrets import randbits, token_bytes
from typing import Literal, NewType, TypeAlias

import msgspec

SessionKey = NewType("SessionKey", str)
MessageId = NewType("MessageId", str)
RunId = NewType("RunId", str)

_sequence = count(randbits(10))
_chances: deque[int] = deque()  # 64 bits each; safe for threads
AT_ONCE = 256  # ids whose bits are asked for together


def new_id() -> str:
    """Make a UUIDv7 that sorts after every one made before it in this process.

    Source: RFC 9562, section 5.7, with the counter of method 3 (finer than a millisecond) in `rand_a`.
    """
    now = time.time_ns()
    millis, rest = divmod(now, 1_000_000)
    fraction = (rest << 12) // 1_000_000
    tail = (next(_sequence) & 0xFFFF) << 46 | _chance() >> 18
    text = f"{millis:012x}7{fraction:03x}{1 << 63 | tail:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _chance() -> int:
    """Bits that nobody can guess; asked for rarely, as to ask the system lets all other threads go first."""
    while True:
        try:
            return _chances.pop()
        except IndexError:
            _chances.extend(memoryview(token_bytes(8 * AT_ONCE)).cast("Q"))


def utc_now() -> datetime:
    """The time as every timestamp in the project has it: aware, in UTC."""
    return datetime.now(UTC)


class Frozen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all that travels: immutable, compared by value, encoded without its defaults."""


class Trigger(StrEnum):
    """What made a turn start."""

    MESSAGE = "message"
    COMMAND = "command"
    BUTTON = "button"
    SCHEDULE = "schedule"
    HEARTBEAT = "heartbeat"
    API = "api"
    VOICE = "voice"


BY_ITSELF = frozenset({Trigger.SCHEDULE, Trigger.HEARTBEAT})  # begun by the bot: nobody has said anything


class Kind(StrEnum):
    """What an inbound message is; only the first asks for an answer."""

    MESSAGE = "message"
    OVERHEARD = "overheard"  # said in a group, but not to the bot: context of the next answer
    EDIT = "edit"  # the message `target` now has this text
    DELETE = "delete"  # the message `target` was taken back


class Role(StrEnum):
    """What a sender may do, from most to least."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    GUEST = "guest"


class Address(Frozen, frozen=True, kw_only=True):
    """Where a message came from, and so where its answer goes; captured once, at intake.

    Attributes:
        channel: The platform's name: `web`, `terminal`, `telegram`, …
        account: Which of our accounts on that platform.
        chat: The platform's id of the chat.
        thread: The platform's id of the thread or topic inside the chat.
        is_direct: Whether only one person and the bot are in the chat.
    """

    channel: str
    account: str = "default"
    chat: str
    thread: str | None = None
    is_direct: bool = True

    def session(self) -> SessionKey:
        """The session this address belongs to, as long as no alias or route says otherwise."""
        parts = (self.channel, self.account, self.chat, self.thread)
        return SessionKey(":".join(part for part in parts if part is not None))


class Sender(Frozen, frozen=True, kw_only=True):
    """Who wrote: `id` is the platform's, `name` is what people see."""

    id: str
    name: str = ""
    role: Role = Role.MEMBER
    is_bot: bool = False


class Attachment(Frozen, frozen=True, kw_only=True):
    """A file that came with a message or goes with one.

    Attributes:
        path: On our disk; for one that came, as soon as it was fetched.
        url: On the platform, or whatever its adapter needs to fetch it; never shown and never logged.
        transcript: What is said in it, where it was transcribed.
        fault: Why it could not be fetched, in words for people.
    """

    kind: Literal["image", "audio", "voice", "video", "file"]
    name: str = ""
    mime: str = "application/octet-stream"
    size: int | None = None
    path: str | None = None
    url: str | None = None
    transcript: str | None = None
    fault: str | None = None


class Button(Frozen, frozen=True, kw_only=True):
    """Something to press under a message; `value` comes back as a button trigger, or `url` opens.

    Attributes:
        form: A question: pressing opens a form, and what is typed there comes back behind `value`. Channels
            without forms leave the button out.
    """

    label: str
    value: str = ""
    url: str | None = None
    form: str | None = None
    style: Literal["primary", "secondary", "danger"] = "secondary"


def dedupe_key(address: Address, platform_id: str) -> str:
    """What makes a message of a platform recognisable, whoever names it."""
    return f"{address.channel}\x1f{address.account}\x1f{platform_id}"


class InboundMessage(Frozen, frozen=True, kw_only=True):
    """What a person (or a schedule, a button, the API) sent, in the one shape every channel turns it into.

    Attributes:
        id: Ours; the turn that answers the message runs under the same id.
        kind: Whether it is to be answered, or changes what was said before.
        platform_id: The platform's id of the message, or of the event where it is no message; with channel
            and account it is the dedupe key.
        text: Plain text; the channel's own markup is already gone.
        received_at: Aware, in UTC; the platform's clock where it gives one.
        reply_to: The platform's id of the message this one answers.
        mentions: Ids of the people and bots the text names.
        target: For an edit or a deletion: the `platform_id` of the message that it changes.
        may_be_silent: The bot reads along and was not asked: it may decide that it has nothing to say.
        pressed: The value of the button, where the trigger is a button.
        directory: The folder that the person works in, where their client says so; relative to the workspace,
            or absolute.
    """

    id: MessageId
    platform_id: str
    address: Address
    session: SessionKey
    sender: Sender
    text: str
    received_at: datetime
    kind: Kind = Kind.MESSAGE
    trigger: Trigger = Trigger.MESSAGE
    reply_to: str | None = None
    target: str | None = None
    may_be_silent: bool = False
    mentions: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    pressed: str | None = None
    directory: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether only the sender and the bot are in the chat."""
        return self.address.is_direct

    @property
    def run(self) -> RunId:
        """The id of the turn that answers this message, the same at every attempt."""
        return RunId(self.id)

    @property
    def dedupe_key(self) -> str:
        """What makes a redelivered message recognisable."""
        return dedupe_key(self.address, self.platform_id)


EndReason: TypeAlias = Literal["done", "error", "killed", "silent"]


class Chunk(Frozen, frozen=True, kw_only=True, tag="chunk"):
    """A piece of a growing answer.

    Attributes:
        attempt: Counts the tries at this run; a higher one makes all of a lower one void.
        seq: Grows within an attempt; a merged chunk carries the last number it holds.
        replaces: `text` stands in place of all that was shown of this run so far.
    """

    run: RunId
    session: SessionKey
    address: Address
    attempt: int
    seq: int
    text: str
    replaces: bool = False
    reply_to: str | None = None


class End(Frozen, frozen=True, kw_only=True, tag="end"):
    """The last word of a run.

    Attributes:
        text: The whole answer as it is kept; what was streamed before is a preview of it.
        reference: For an error: the id under which the log has the details.
    """

    run: RunId
    session: SessionKey
    address: Address
    attempt: int
    seq: int
    reason: EndReason
    text: str
    reference: str | None = None
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()


OutboundMessage: TypeAlias = Chunk | End


class StoredMessage(Frozen, frozen=True, kw_only=True):
    """A line of a session's history, as people see it.

    Attributes:
        number: Counts the messages of the session, from 1.
        run: The turn it belongs to; a turn has one line of the user and at most one of the assistant.
        platform_id: The platform's id of an inbound message.
        reason: How the answer ended, for the assistant's lines.
        in_context: The model gets to see it; control commands and their replies are for people only.
    """

    number: int
    id: MessageId
    run: RunId
    role: Literal["user", "assistant", "tool"]
    speaker: str
    text: str
    at: datetime
    platform_id: str | None = None
    reason: EndReason | None = None
    in_context: bool = True


class SessionEvent(Frozen, frozen=True, kw_only=True):
    """What every system event says: which session, and which run if it belongs to one."""

    session: SessionKey
    run: RunId | None = None


class AgentStart(SessionEvent, frozen=True, kw_only=True, tag="agent_start"):
    """A turn has its slot and begins."""

    attempt: int


class AgentEnd(SessionEvent, frozen=True, kw_only=True, tag="agent_end"):
    """A turn is over and saved."""

    reason: EndReason
    seconds: float


class Thinking(SessionEvent, frozen=True, kw_only=True, tag="thinking"):
    """A piece of the model's reasoning."""

    text: str


class ToolStart(SessionEvent, frozen=True, kw_only=True, tag="tool_start"):
    """A tool is about to run; `arguments` is JSON as the model wrote it."""

    call_id: str
    name: str
    arguments: str


class ToolResult(SessionEvent, frozen=True, kw_only=True, tag="tool_result"):
    """A tool is done; `preview` has the first 200 characters of what it gave."""

    call_id: str
    name: str
    status: Literal["ok", "error"]
    preview: str


class TokenUsage(SessionEvent, frozen=True, kw_only=True, tag="token_usage"):
    """What a model call used, in tokens; `cached` are those of the prompt that the provider had kept."""

    model: str
    prompt: int
    completion: int
    cached: int = 0


class Retry(SessionEvent, frozen=True, kw_only=True, tag="retry"):
    """A model call failed and is tried again after `wait` seconds, or on another model."""

    model: str
    attempt: int
    wait: float
    cause: str


class Compaction(SessionEvent, frozen=True, kw_only=True, tag="compaction"):
    """The history of a session is being shortened."""

    phase: Literal["start", "end"]


class TakenUp(SessionEvent, frozen=True, kw_only=True, tag="taken_up"):
    """A message that waited is answered by the turn that runs: `run` is the message's, `by` the turn's."""

    by: RunId


class AgentsMdLoaded(SessionEvent, frozen=True, kw_only=True, tag="agents_md_loaded"):
    """The AGENTS.md of a project is part of the prompt from now on."""

    path: str


class Failure(SessionEvent, frozen=True, kw_only=True, tag="error"):
    """Something went wrong; `reference` finds it in the log."""

    text: str
    reference: str


class Killed(SessionEvent, frozen=True, kw_only=True, tag="killed"):
    """A run was cancelled by a person."""

    by: str


class LongRunning(SessionEvent, frozen=True, kw_only=True, tag="long_running"):
    """A turn has been in one stage for longer than usual."""

    stage: str
    seconds: float


class InboxUpdate(SessionEvent, frozen=True, kw_only=True, tag="inbox_update"):
    """A message became part of the inbox: an accepted inbound one, or the end of an outbound one.

    Attributes:
        platform_id: The platform's id of an inbound message.
    """

    id: str
    direction: Literal["in", "out"]
    address: Address
    speaker: str
    text: str
    at: datetime
    reason: EndReason | None = None
    platform_id: str | None = None


class SessionSwitched(SessionEvent, frozen=True, kw_only=True, tag="session_switched"):
    """A chat goes on in another session, which is `session`.

    Attributes:
        chat: The chat's own session key, as its address gives it.
    """

    chat: SessionKey


class Missed(Frozen, frozen=True, kw_only=True, tag="missed"):
    """Stands where a slow reader's queue overflowed: `count` items before this place are gone."""

    count: int


SystemEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | Thinking
    | ToolStart
    | ToolResult
    | TokenUsage
    | Retry
    | Compaction
    | Failure
    | Killed
    | LongRunning
    | AgentsMdLoaded
    | TakenUp
    | InboxUpdate
    | SessionSwitched
)

encoder = msgspec.json.Encoder()
decode_inbound = msgspec.json.Decoder(InboundMessage).decode
decode_address = msgspec.json.Decoder(Address).decode
