"""What the API needs of the bot, and the plain data it shows; loads nothing that is heavy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args

import msgspec

from bot.agent.audit import Audit, AuditEntry, AuditEvent, Damaged, Value
from bot.bus import Bus
from bot.commands.pairing import LetIn
from bot.commands.pairing import Request as Waiting
from bot.inbox.base import Desk
from bot.long_term import LongTerm
from bot.messages import (
    Address,
    EndReason,
    Frozen,
    InboundMessage,
    Role,
    RunId,
    Sender,
    SessionKey,
    StoredMessage,
)
from bot.people import Linking
from bot.scheduler.planner import Asking
from bot.scheduler.schedules import Listed, Schedule
from bot.scheduler.timing import Timing
from bot.web.api.feed import Feed

Scope: TypeAlias = Literal["read", "chat", "operate", "admin"]
RunStatus: TypeAlias = Literal["queued", "running", "parked"] | EndReason

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
CHANNEL: Final = "api"


class Caller(Frozen, frozen=True, kw_only=True):
    """Who calls.

    Attributes:
        account: Whose conversations are theirs: the id of a key.
        scopes: What they may do; `admin` may do everything.
    """

    account: str
    name: str
    scopes: tuple[Scope, ...]

    def may(self, scope: Scope) -> bool:
        """Whether they have a scope."""
        return scope in self.scopes or "admin" in self.scopes

    def may_see(self, session: SessionKey) -> bool:
        """Whether they may read a session: all of them, or those that they talk in themselves."""
        return self.may("read") or (self.may("chat") and session.startswith(self.prefix))

    @property
    def prefix(self) -> str:
        """What their own sessions begin with."""
        return f"{CHANNEL}:{self.account}:"

    @property
    def actor(self) -> str:
        """Their name in the audit log."""
        return f"{CHANNEL}:{self.account}"

    def address(self, chat: str) -> Address:
        """One of their conversations."""
        return Address(channel=CHANNEL, account=self.account, chat=chat)

    def sender(self, user: str = "") -> Sender:
        """As whom they speak.

        Args:
            user: For whom they do, where they serve several people: each is somebody of their own, and never
                more than a member.
        """
        if user:
            return Sender(id=f"{self.account}.{user}", name=user)
        role = Role.OWNER if self.may("admin") else Role.ADMIN if self.may("operate") else Role.MEMBER
        return Sender(id=self.account, name=self.name, role=role)


OWNER: Final = Caller(account="default", name="Owner", scopes=("admin",))  # whom the guard has let in


class ApiKey(Frozen, frozen=True, kw_only=True):
    """An API key without what makes it work; times in seconds since 1970."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: float
    used_at: float | None = None
    revoked_at: float | None = None


class Keys(Protocol):
    """Keeps API keys."""

    async def create(self, name: str, scopes: Sequence[Scope]) -> tuple[ApiKey, str]:
        """Make a key; its text is given out here and nowhere else."""

    async def check(self, text: str) -> ApiKey | None:
        """The key of a text; `None` where it is none, or was revoked."""

    async def find(self, id_: str) -> ApiKey | None:
        """A key by its id, whether it is in force or not."""

    async def all(self) -> list[ApiKey]:
        """Every key, the newest first."""

    async def revoke(self, id_: str) -> bool:
        """Let a key work no more; False where there is no such key in force."""


class RunState(Frozen, frozen=True, kw_only=True):
    """How a run stands; times in seconds since 1970.

    Attributes:
        text: The answer as it is kept, once there is one.
    """

    run: RunId
    session: SessionKey
    status: RunStatus
    accepted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    text: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status not in ("queued", "running")


class SessionState(Frozen, frozen=True, kw_only=True):
    """A session in a list; `updated_at` in seconds since 1970."""

    session: SessionKey
    title: str | None
    messages: int
    updated_at: float


class Runs(Protocol):
    """What the store knows of runs and sessions."""

    async def find(self, run: RunId) -> RunState | None:
        """How a run stands, if it is known."""

    async def same(self, dedupe_key: str) -> RunId | None:
        """The run of a message that was accepted before."""

    async def sessions(self, *, prefix: str, before: float | None, limit: int) -> list[SessionState]:
        """Sessions whose key begins so, the newest first; with `before`, those that spoke earlier."""


class Transcript(Protocol):
    """Reads what was said."""

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = 50
    ) -> list[StoredMessage]: ...


class Planner(Protocol):
    """The schedules; see `bot.scheduler.planner.Planner` for what is raised."""

    def read(self, when: str, *, zone: str = "") -> Timing: ...

    async def add(
        self, message: InboundMessage, timing: Timing, text: str, *, zone: str = ""
    ) -> Schedule: ...

    async def listed(self, chat: SessionKey | None) -> list[Listed]: ...

    async def pause(self, asking: Asking, number: int) -> Schedule: ...

    async def resume(self, asking: Asking, number: int) -> Schedule: ...

    async def delete(self, asking: Asking, number: int) -> Schedule: ...


class AuditBook(Protocol):
    """The audit log, as it is read; blocks, so it is called in a thread."""

    def read_new(self) -> Iterator[AuditEntry | Damaged]: ...


class OpenAudit(Protocol):
    """Opens the audit log for one who reads it from its beginning."""

    def __call__(self) -> AuditBook: ...


class Operated(Protocol):
    """The running bot."""

    def status(self) -> object: ...

    async def unfinished(self) -> Sequence[object]: ...

    async def retry(self, run: RunId) -> None: ...

    async def cancel(self, run: RunId, *, actor: str) -> bool:
        """Stop a run, whether it is being done or waits; False where it does neither."""


class Doors(Protocol):
    """Where people are let in."""

    async def waiting(self) -> Sequence[Waiting]:
        """Who waits."""

    async def let_in(self, code: str, role: Role | None = None) -> LetIn:
        """Let somebody in.

        Raises:
            BotError: Nobody waits with this code.
        """


class Scrape(Protocol):
    """The metrics."""

    content_type: str

    async def render(self) -> bytes: ...


class Webhook(Frozen, frozen=True, kw_only=True):
    """Somebody who is told of events; `created_at` in seconds since 1970."""

    id: str
    url: str
    events: tuple[str, ...]
    created_at: float


class DeadLetter(Frozen, frozen=True, kw_only=True):
    """A message that nobody took, however often it was tried; `created_at` in seconds since 1970."""

    id: str
    webhook: str
    event: str
    tries: int
    error: str
    created_at: float


class Webhooks(Protocol):
    """Those who are told of events."""

    async def all(self) -> list[Webhook]: ...

    async def add(self, url: str, events: Sequence[str]) -> tuple[Webhook, str]:
        """Tell one more; gives the secret that signs what they get, which is given out here alone."""

    async def remove(self, id_: str) -> bool: ...

    async def dead(self, *, limit: int) -> list[DeadLetter]: ...

    async def retry(self, id_: str) -> bool:
        """Try a dead letter again from the beginning; False where there is none of this id."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """All of the bot that the API reaches.

    Attributes:
        desk: The inbox, and what operators do there.
        linking: Links people, and knows them.
        memories: What is remembered of them; `None` where memory is off.
        redact: Masks what is not to be remembered.
        more: What routers need that are not ours, by name.
    """

    name: str
    bot: Operated
    doors: Doors
    bus: Bus
    feed: Feed
    keys: Keys
    runs: Runs
    transcript: Transcript
    planner: Planner
    audit: Audit
    open_audit: OpenAudit
    metrics: Scrape
    webhooks: Webhooks
    desk: Desk
    linking: Linking
    memories: LongTerm | None = None
    redact: Callable[[str], str] = str
    more: Mapping[str, object] = msgspec.field(default_factory=dict)

    async def note(
        self, caller: Caller, action: str, target: str, context: Sequence[tuple[str, Value]] = ()
    ) -> None:
        """Write down that somebody has steered the bot."""
        event = AuditEvent(
            severity="warning",
            actor=caller.actor,
            action=action,
            target=target,
            status="done",
            context=tuple(context),
        )
        await self.audit.record(event)
