"""What the loop and the turn need of a store; `memory/store.py` fulfils it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from bot.agent.compaction import Summary
from bot.agent.taint import Carried
from bot.messages import End, Frozen, InboundMessage, RunId, SessionKey, StoredMessage
from bot.models.base import ToolCall


class Overheard(Frozen, frozen=True, kw_only=True):
    """What somebody said in a group without meaning the bot."""

    speaker: str
    text: str
    at: datetime


class KeptCall(Frozen, frozen=True, kw_only=True):
    """A tool call of an earlier turn, which the model sees for so many turns after it."""

    run: RunId
    call: ToolCall
    result: str
    rounds: int


class Begun(Frozen, frozen=True, kw_only=True):
    """A turn that has become this process's to run.

    Attributes:
        attempt: The fence: what the turn writes counts only as long as no higher attempt has begun.
        turns: Lines of the user and the assistant in the whole conversation, this message's included.
        history: The newest lines before this message that the model may see, oldest first.
        summary: Stands for the lines before `history`, as far as they were summarised.
        overheard: What was said in the group since the last answer, oldest first.
        kept_calls: Tool calls of the turns in `history` that stay in sight for a while, oldest first.
        carried: What the turns had read that wrote the history and the summary, each once.
    """

    attempt: int
    turns: int
    history: tuple[StoredMessage, ...]
    summary: Summary | None = None
    overheard: tuple[Overheard, ...] = ()
    kept_calls: tuple[KeptCall, ...] = ()
    carried: tuple[Carried, ...] = ()


class Accepted(Frozen, frozen=True, kw_only=True):
    """What the journal made of a message.

    Attributes:
        is_new: False for a message that had been accepted before.
        session: Where it belongs, aliases followed.
        begun: Its turn, where that was begun by the same commit.
    """

    is_new: bool
    session: SessionKey
    begun: Begun | None = None


class Amended(Frozen, frozen=True, kw_only=True):
    """What became of an edit or a deletion.

    Attributes:
        is_new: False for one that had been taken before.
        waiting: The message that it changes has not begun: that turn, so that its lane follows.
        text: What that turn is to answer now; `None` where there is nothing any more.
    """

    is_new: bool
    session: SessionKey
    waiting: RunId | None = None
    text: str | None = None


class Spent(Frozen, frozen=True, kw_only=True):
    """What the calls of one model have used on one day, and who pays for it.

    Attributes:
        day: As `2031-05-17`, in the time zone of the settings; that on which the calls began.
        person: As `channel:id`.
        cached: Those tokens of the prompts that the provider had kept.
        cost: In billionths of the currency; 0 where no price is set.
    """

    day: str
    person: str
    channel: str
    session: SessionKey
    model: str
    calls: int
    prompt: int
    completion: int
    cached: int = 0
    cost: int = 0


class TurnRecord(Frozen, frozen=True, kw_only=True):
    """How a turn went, in figures; times are seconds since 1970.

    Attributes:
        spent: The same tokens by day and model, those of sub-agents and summaries included.
        carried: What the turn had read; its answer keeps it.
    """

    started_at: float
    ended_at: float
    first_chunk_at: float | None = None
    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    spent: tuple[Spent, ...] = ()
    carried: Carried | None = None


class Pending(Frozen, frozen=True, kw_only=True):
    """An accepted message that is not answered yet; `begun` where its next attempt is begun already."""

    message: InboundMessage
    attempts: int
    begun: Begun | None = None


class Recovery(Frozen, frozen=True, kw_only=True):
    """What the last process left: to run again, oldest first, and what was put aside for crashing it."""

    pending: tuple[Pending, ...]
    parked: tuple[Pending, ...]


class Posted(Frozen, frozen=True, kw_only=True):
    """A message of a platform that shows a part of an answer.

    Attributes:
        attempt: The attempt at the run whose text it shows.
        end: Where in the answer its text ends, for one that was posted for good; `None` for one that grows.
    """

    part: int
    platform_id: str
    attempt: int = 0
    end: int | None = None


class Undelivered(Frozen, frozen=True, kw_only=True):
    """An answer in the outbox.

    Attributes:
        is_failed: The platform will never take it.
        tries: That have failed.
        created_at: Seconds since 1970.
    """

    end: End
    is_failed: bool
    tries: int
    created_at: float


class Journal(Protocol):
    """The durable state of every accepted message.

    Methods that name an attempt raise `Fenced` when the run has gone on under another one.
    """

    async def accept(
        self, message: InboundMessage, *, is_control: bool = False, history: int | None = None
    ) -> Accepted:
        """Write a message down once.

        Args:
            is_control: A control command, which is done as soon as it is written.
            history: Begin the turn at once, as `begin` does, unless an alias leads elsewhere: one commit less
                for a session that is idle.
        """

    async def knows(self, message: InboundMessage) -> bool:
        """Whether a message was accepted before, for one that is not to be accepted now."""

    async def begin(
        self, message: InboundMessage, *, attempts: int, history: int, in_context: bool = True
    ) -> Begun:
        """Take the run: count the attempt, put the message into the history, read what came before it.

        Args:
            attempts: How many attempts there were before this one.
            history: The most lines to read.
            in_context: The model gets to see the message; a command is for people only.
        """

    async def merge(self, kept: Pending, burst: Sequence[Pending]) -> None:
        """Have one turn for several messages that wait.

        Args:
            kept: The last of them, with the text of all; the others are done.
            burst: All of them as they were, in order.
        """

    async def overhear(self, message: InboundMessage, *, most: int) -> bool:
        """Keep what was said in a group for the next answer there; False for one that is known.

        Args:
            most: How many are kept of a session, the newest.
        """

    async def leave_overheard(self, run: RunId) -> None:
        """Keep what a turn was given of a group's talk for the next one: it has answered nothing."""

    async def amend(self, change: InboundMessage) -> Amended:
        """Follow an edit or a deletion in the history; a message that waits is changed or taken out."""

    async def finish(
        self,
        end: End,
        record: TurnRecord,
        *,
        speaker: str,
        has_outbox: bool,
        in_context: bool = True,
        absorbed: Sequence[InboundMessage] = (),
    ) -> None:
        """Commit the answer, the history, the turn's figures and the outbox, all or nothing.

        Args:
            absorbed: What was said while the turn ran, and is answered by it: done with it.
        """

    async def requeue(self, run: RunId, attempt: int) -> None:
        """Give a run back, to be done at the next start; this does not count as a crash."""

    async def recover(self, max_crashes: int) -> Recovery:
        """Find what is not done after a restart."""

    async def park(self, end: End, *, speaker: str, has_outbox: bool = True) -> None:
        """Put a message aside that crashed the process too often, and tell the person so, all or nothing."""

    async def cancel(
        self, message: InboundMessage, end: End, *, speaker: str, has_outbox: bool = True
    ) -> None:
        """Close a message that still waits, without a turn; both lines are kept for people to see."""

    async def note(self, message: InboundMessage, end: End, *, speaker: str, has_outbox: bool) -> None:
        """Put a control command and its reply into the history, for people but not for the model."""

    async def say(self, end: End, *, speaker: str, has_outbox: bool, in_context: bool) -> None:
        """Put something that belongs to no turn into the history, and into the outbox."""

    async def hear(self, message: InboundMessage) -> None:
        """Put what answers a question of a running turn into the history."""


class Chats(Protocol):
    """The chats that have written to the bot."""

    async def note(self, message: InboundMessage) -> None:
        """Remember where a message came from; called for every message, so it has to be quick."""


class ToolLedger(Protocol):
    """Which tool calls ran, so that none is repeated whose outcome is not known."""

    async def tool_started(self, run: RunId, attempt: int, call: ToolCall) -> bool:
        """Write down that a call begins; False where an earlier attempt began the same and never ended it.

        Raises:
            Fenced: The run goes on under another attempt.
        """

    async def tool_ended(
        self,
        run: RunId,
        attempt: int,
        call: ToolCall,
        *,
        status: Literal["ok", "error"],
        result: str,
        rounds: int = 0,
    ) -> None:
        """Write down how it went, and for how many later turns the model sees it."""
