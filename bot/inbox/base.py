"""The inbox as pages, the API and commands see it: plain data, who keeps it, and what may be done with it.

A conversation is a chat, or a thread of one, whatever session it is in at the moment. No turn writes anything
for it: what was said stands in the history, and here is only what operators have put to it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from bot.errors import BotError
from bot.messages import Address, EndReason, Frozen, Role, RunId, SessionKey, StoredMessage

State: TypeAlias = Literal["open", "waiting", "handled", "muted"]

MAX_LABEL = 40  # characters
MAX_LABELS = 20  # of a conversation
MAX_NOTE = 4_000  # characters
MAX_CANNED = 4_000  # characters
MAX_NAME = 60  # characters of a canned reply's name, and of an operator's
PREVIEW = 200  # characters of what was said last


class InboxError(BotError):
    """An act of an operator that can't be done; the text says why."""


class Operator(Frozen, frozen=True, kw_only=True):
    """Who does something with a conversation.

    Attributes:
        name: What other operators, and people whom they answer by name, read.
        actor: Their name in the audit log, as `channel:id`.
        role: What they may do: owners and admins steer, others only look.
    """

    name: str
    actor: str
    role: Role = Role.ADMIN


class Last(Frozen, frozen=True, kw_only=True):
    """What was said last; `text` is cut to `PREVIEW` characters, `at` in seconds since 1970."""

    role: Literal["user", "assistant", "tool"]
    speaker: str
    text: str
    at: float
    reason: EndReason | None = None


class Conversation(Frozen, frozen=True, kw_only=True):
    """A chat as operators see it; times in seconds since 1970.

    Attributes:
        chat: The key of its address.
        session: The session that it is in now.
        person: The name of who spoke last there, `subject` their `channel:id`.
        state: `handled` ends with the next word of a person; `waiting` for an operator is who was put so by
            hand, and who has the last word where one has taken over; `muted` raises no notice.
        unread: Lines after the newest that an operator has seen, of the session; 1,000 at most.
        assignee: The name of the operator who looks after it.
        taken_by: The operator who answers in the agent's stead.
        docked_to: Where answers go instead.
        waiting_since: When the oldest word was said that nobody has answered; `None` where all are answered.
        running: The turn that is being done.
        tokens, cost: What the session has used so far; `cost` in billionths of the currency.
    """

    chat: SessionKey
    session: SessionKey
    address: Address
    title: str | None = None
    person: str = ""
    subject: str = ""
    state: State = "open"
    unread: int = 0
    assignee: str | None = None
    labels: tuple[str, ...] = ()
    taken_by: str | None = None
    docked_to: Address | None = None
    last: Last | None = None
    waiting_since: float | None = None
    messages: int = 0
    updated_at: float = 0.0
    running: RunId | None = None
    tokens: int = 0
    cost: int = 0


class Filter(Frozen, frozen=True, kw_only=True):
    """Which conversations are wanted; a field that is `None` or empty lets all through.

    Attributes:
        states: None of them named: all but `muted`.
        assignee: Empty text: those of nobody.
        text: Part of a name, a title or a chat's key, whatever its case.
    """

    states: tuple[State, ...] = ()
    channels: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    assignee: str | None = None
    is_unread: bool = False
    is_taken: bool = False
    is_direct: bool | None = None
    text: str = ""


EVERYTHING = Filter()


class Place(Frozen, frozen=True, kw_only=True):
    """Where a page of the list ends: what comes behind it is older."""

    updated_at: float
    chat: SessionKey


class Note(Frozen, frozen=True, kw_only=True):
    """What operators write for each other; `at` in seconds since 1970."""

    id: int
    chat: SessionKey
    by: str
    text: str
    at: float


class Canned(Frozen, frozen=True, kw_only=True):
    """A reply that is written once; `{name}` stands for the person's name."""

    name: str
    text: str


class ToolLine(Frozen, frozen=True, kw_only=True):
    """A tool call of a turn; times in seconds since 1970."""

    run: RunId
    call_id: str
    name: str
    arguments: str
    state: Literal["running", "ok", "error"]
    result: str | None
    started_at: float
    ended_at: float | None


class Hit(Frozen, frozen=True, kw_only=True):
    """A message that was found, and the conversation that it was said in."""

    chat: SessionKey
    session: SessionKey
    title: str | None
    line: StoredMessage


class Counts(Frozen, frozen=True, kw_only=True):
    """How many conversations there are of each state, and how many with something unread."""

    states: Mapping[State, int]
    unread: int
    taken: int


class InboxBook(Protocol):
    """Keeps what operators put to conversations, and reads the rest from the history.

    Raises:
        InboxError: There is no such conversation, or what is to be written is too long.
        StoreError: The store could not read or write.
    """

    async def find(
        self, wanted: Filter, *, after: Place | None = None, limit: int = 50
    ) -> list[Conversation]:
        """The conversations that are wanted, the newest first."""

    async def get(self, chat: SessionKey) -> Conversation | None:
        """One of them."""

    async def counts(self) -> Counts:
        """How many there are."""

    async def lines(
        self, session: SessionKey, *, before: int | None = None, after: int | None = None, limit: int = 50
    ) -> list[StoredMessage]:
        """Lines of a session, the oldest first: the newest, those before a number, or those after one."""

    async def tools(self, runs: Sequence[RunId]) -> list[ToolLine]:
        """The tool calls of turns, in order."""

    async def search(self, words: Sequence[str], limit: int) -> list[Hit]:
        """Messages of all conversations with these words."""

    async def mark(self, chat: SessionKey, state: State) -> None:
        """Put it into a state."""

    async def mark_read(self, chat: SessionKey, upto: int | None = None) -> None:
        """An operator has seen the lines up to a number, or all; 0 makes it unread again."""

    async def assign(self, chat: SessionKey, assignee: str | None) -> None:
        """Let an operator look after it, or nobody."""

    async def label(self, chat: SessionKey, labels: Sequence[str]) -> None:
        """Let it have these labels and no others."""

    async def labels(self) -> list[str]:
        """All labels that are in use."""

    async def notes(self, chat: SessionKey) -> list[Note]:
        """What operators have written, the oldest first."""

    async def add_note(self, chat: SessionKey, text: str, *, by: str) -> Note:
        """Write something for the others."""

    async def delete_note(self, chat: SessionKey, id_: int) -> bool:
        """Take a note away; False where there is none."""

    async def take(self, chat: SessionKey, by: str | None) -> None:
        """Let an operator answer in the agent's stead, or the agent again."""

    async def taken(self) -> dict[SessionKey, str]:
        """Who answers where in the agent's stead."""

    async def dock(self, chat: SessionKey, target: Address | None) -> None:
        """Let answers go elsewhere, or where they belong again."""

    async def docked(self) -> dict[SessionKey, Address]:
        """Where answers go elsewhere."""

    async def canned(self) -> list[Canned]:
        """The replies that are written once, by name."""

    async def put_canned(self, canned: Canned) -> None:
        """Keep one, in the place of another of the same name."""

    async def delete_canned(self, name: str) -> bool:
        """Take one away; False where there is none."""


class Question(Frozen, frozen=True, kw_only=True):
    """A question of a running turn that waits for an answer; times in seconds since 1970.

    Attributes:
        is_approval: Only who may approve answers it.
        options: What can be chosen; `takes_text` says whether something else may be said, too.
    """

    id: str
    chat: SessionKey
    text: str
    options: tuple[str, ...]
    takes_text: bool
    is_approval: bool
    asked_at: float
    ends_at: float


class Preview(Frozen, frozen=True, kw_only=True):
    """Whom a broadcast would reach: how many chats of each channel.

    Attributes:
        ticket: What sends it, for 10 minutes.
        seconds: How long that will take.
    """

    ticket: str
    text: str
    chats: Mapping[str, int]
    seconds: float


class Broadcast(Frozen, frozen=True, kw_only=True):
    """How a broadcast gets on."""

    ticket: str
    total: int
    sent: int
    is_over: bool
    is_stopped: bool = False


class Desk(Protocol):
    """What operators do; every act is audited under their name.

    Attributes:
        book: What is kept.

    Raises:
        InboxError: It can't be done; the text says why, for the operator.
        StoreError: The store could not read or write.
    """

    book: InboxBook

    async def conversations(
        self, wanted: Filter = EVERYTHING, *, after: Place | None = None, limit: int = 50
    ) -> list[Conversation]:
        """The conversations that are wanted, the newest first, with the turns that are being done."""

    async def conversation(self, chat: SessionKey) -> Conversation:
        """One of them."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have something called after each act, whoever does it, until what this gives is called."""

    async def reply(self, chat: SessionKey, text: str, by: Operator, *, as_operator: bool = False) -> RunId:
        """Say something there, as the bot or under the operator's name; the agent's history has it."""

    async def take_over(self, chat: SessionKey, by: Operator) -> None:
        """Answer in the agent's stead: its running turn is stopped, and what people say begins none."""

    async def hand_back(self, chat: SessionKey, by: Operator) -> None:
        """Let the agent answer again; it has read all that was said."""

    async def draft(self, chat: SessionKey, by: Operator) -> str:
        """What the agent would say now; nobody else sees it, and nothing is kept."""

    async def stop(self, chat: SessionKey, by: Operator) -> bool:
        """Stop the turn that is being done; False where none is."""

    async def retry(self, chat: SessionKey, by: Operator) -> RunId:
        """Have the newest message of a person answered again, or for the first time."""

    async def mark(self, chat: SessionKey, state: State, by: Operator) -> None: ...

    async def mark_read(self, chat: SessionKey, upto: int | None = None) -> None: ...

    async def assign(self, chat: SessionKey, assignee: str | None, by: Operator) -> None: ...

    async def label(self, chat: SessionKey, labels: Sequence[str], by: Operator) -> None: ...

    async def add_note(self, chat: SessionKey, text: str, by: Operator) -> Note: ...

    async def delete_note(self, chat: SessionKey, id_: int, by: Operator) -> bool: ...

    async def put_canned(self, canned: Canned, by: Operator) -> None: ...

    async def delete_canned(self, name: str, by: Operator) -> bool: ...

    async def block(self, chat: SessionKey, by: Operator, *, is_blocked: bool = True) -> None:
        """Hear nothing of the person of a direct chat, or of a whole group; or hear them again."""

    async def dock(self, chat: SessionKey, target: SessionKey | None, by: Operator) -> None:
        """Let answers go to another chat that is known, or where they belong again."""

    def questions(self, chat: SessionKey | None = None) -> Sequence[Question]:
        """What running turns ask and approvals that wait, of one conversation or of all; the oldest first."""

    async def answer(self, question: str, text: str, by: Operator) -> None:
        """Answer in the person's stead, or approve: `once`, `always`, `deny`, or what an option says."""

    async def preview(
        self, text: str, by: Operator, *, channels: Sequence[str] = (), per_minute: int = 60
    ) -> Preview:
        """Whom a text would reach; nothing is sent yet."""

    async def broadcast(self, ticket: str, by: Operator) -> Broadcast:
        """Send what was looked at before, at its rate; goes on by itself."""

    def broadcasts(self) -> Sequence[Broadcast]:
        """Those that go on, and those of the last hour."""

    async def stop_broadcast(self, ticket: str, by: Operator) -> bool:
        """Send no more of one; False where none goes on."""
