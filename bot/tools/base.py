"""What a tool is, what its handler gets and gives, and who may object to a call."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from pydantic import BaseModel

from bot.agent.taint import Source
from bot.errors import BotError
from bot.messages import Address, Attachment, Button, End, Frozen, InboundMessage, SessionKey
from bot.models.base import ToolCall, ToolSchema

Arguments: TypeAlias = Mapping[str, Any]  # `Any`: validated by the tool's own model, so of any type
Risk: TypeAlias = Literal["read", "write", "exec", "network", "send"]
Effect: TypeAlias = Literal["reads_private", "reads_untrusted", "acts"]
Status: TypeAlias = Literal["ok", "error"]

TOOL_SECONDS = 30.0
SUBAGENT = "#"  # stands in the session of a subagent, behind that of its parent


class ToolFault(BotError):
    """A tool could not do what it was asked; the text tells the model what to do differently."""


class ToolOutput(Frozen, frozen=True, kw_only=True):
    """What a tool gives; a plain `str` is one with nothing but text.

    Attributes:
        text: For the model.
        attachments: Files on our disk that go out with the turn's answer.
        images: Files on our disk that the model is to look at.
        is_final: The text is the answer: the turn ends with it.
        has_spoken: The person has been told something by the tool itself: no confirmation is needed.
        origins: Whose words are in the text, where the tool knows better than its declaration.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    images: tuple[Attachment, ...] = ()
    is_final: bool = False
    has_spoken: bool = False
    origins: tuple[tuple[Source, str], ...] = ()


class Place(Frozen, frozen=True, kw_only=True):
    """Where a call reads or writes.

    Attributes:
        argument: The argument that names it; empty where it is all of its kind.
        writes: A file or note is changed in part, or replaced as a whole.
    """

    kind: Literal["file", "note", "url", "name"]
    argument: str = ""
    writes: Literal["", "part", "whole"] = ""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """For whom and where a tool is called; a parameter of a handler with this type gets it.

    Attributes:
        message: What the turn answers: who asked, where, in which session.
        call_id: The model's id of the call.
        is_admin: The person who asked may steer the bot.
        depth: 0 for a turn that a person began, one more for each level of sub-agents.
    """

    message: InboundMessage
    call_id: str = ""
    is_admin: bool = False
    depth: int = 0

    @property
    def session(self) -> SessionKey:
        """The session that the turn belongs to; a sub-agent's is its own."""
        return self.message.session

    @property
    def talk(self) -> SessionKey:
        """The session that people see: for a subagent, that of the turn that it works for."""
        return SessionKey(self.message.session.partition(SUBAGENT)[0])

    @property
    def address(self) -> Address:
        """Where the answer goes."""
        return self.message.address

    @property
    def person(self) -> str:
        """Who asked, as admins are named in the settings."""
        return f"{self.message.address.channel}:{self.message.sender.id}"


Handler: TypeAlias = Callable[..., Awaitable[str | ToolOutput]]
ActsIf: TypeAlias = Callable[[Arguments, ToolContext], bool]

EFFECTS: Mapping[Risk, frozenset[Effect]] = {  # of tools that do not say what they do
    "read": frozenset(),
    "network": frozenset({"reads_untrusted"}),
    "write": frozenset({"acts"}),
    "exec": frozenset({"acts", "reads_untrusted"}),
    "send": frozenset({"acts"}),
}


class Form(NamedTuple):
    """What a tool is to a model.

    Attributes:
        schema: Name, description and JSON schema, as the model sees them.
        arguments: Validates what the model wrote.
    """

    schema: ToolSchema
    arguments: type[BaseModel]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it is registered; made by `declare` or `@tool`.

    Attributes:
        name: What the model calls it.
        form: Gives the same form each time; made when it is first asked for, as that takes a millisecond.
        handler: Called with the validated arguments by name.
        context_name: The parameter that takes the `ToolContext`; `None` where there is none.
        risk: The most that a call can do; decides the default of approvals and of who may use it.
        timeout: Seconds of one call.
        is_idempotent: May run again where nobody knows whether it took effect.
        rounds: Later turns in which the model still sees a result; 0: only in its own turn.
        is_waiting: It waits for a person, who has a time limit of their own: no other one holds.
        effects: What it does with the turn: reads what belongs to somebody (`reads_private`), reads what
            others may have written (`reads_untrusted`), sends, spends, executes or changes something outside
            of the workspace (`acts`).
        source: What its results count as, where it reads what others wrote.
        place: Where it reads or writes.
        acts_if: Whether one call acts, for a tool of which not all do.
        says: The arguments that people get to read.
    """

    name: str
    form: Callable[[], Form]
    handler: Handler
    context_name: str | None = None
    group: str = "other"
    risk: Risk = "read"
    timeout: float = TOOL_SECONDS
    is_idempotent: bool = False
    rounds: int = 0
    is_waiting: bool = False
    effects: frozenset[Effect] = frozenset()
    source: Source = "tool"
    place: Place | None = None
    acts_if: ActsIf | None = None
    says: tuple[str, ...] = ()

    @property
    def schema(self) -> ToolSchema:
        """See `Form`."""
        return self.form().schema

    @property
    def arguments(self) -> type[BaseModel]:
        """See `Form`."""
        return self.form().arguments

    @property
    def runs_in_thread(self) -> bool:
        """Whether `declare` has put the function into a thread, which nothing can stop."""
        is_wrapped = hasattr(self.handler, "__wrapped__")
        return is_wrapped and not inspect.iscoroutinefunction(inspect.unwrap(self.handler))


class Denied(Frozen, frozen=True, kw_only=True):
    """A call is not to be made; `reason` is told to the model."""

    reason: str


class Gate(Protocol):
    """Looks at each call before it is made: approvals, hooks, guards. One that breaks denies."""

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """Whether it is clear at once that the call may be made as it is; else `judge` is asked."""
        return False

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """Give the arguments to call with, changed or not, or say why the call is not made."""


class Screen(Protocol):
    """Looks at what tools give before the model does."""

    async def take_in(
        self,
        tool: Tool,
        arguments: Arguments,
        text: str,
        *,
        status: Status,
        origins: tuple[tuple[Source, str], ...] = (),
    ) -> str:
        """Give a result as the model may read it, and note in the turn what it has read with it.

        Args:
            origins: See `ToolOutput`.
        """


class DenialNote(Protocol):
    """Writes down that a gate has denied a call; must not wait."""

    def __call__(self, tool: Tool, context: ToolContext, gate: str, reason: str, /) -> None:
        """Take the gate's name and what it has told the model."""


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks at what comes of calls.

    Attributes:
        screen: Looks at results before the model does.
        note_denied: Told of each call that a gate denies.
    """

    screen: Screen | None = None
    note_denied: DenialNote | None = None


UNWATCHED = Watch()


class Ledger(Protocol):
    """Writes down the calls of a run."""

    async def begin(self, call: ToolCall) -> bool:
        """A call begins; False where an earlier attempt began the same and nobody knows how it ended.

        Raises:
            Fenced: The run goes on under another attempt.
        """

    async def end(self, call: ToolCall, *, status: Status, result: str, rounds: int) -> None:
        """How it went, and for how many later turns the model sees it."""


class Speaker(Protocol):
    """Says something outside of a turn's answer: kept in the history, delivered like an answer."""

    async def say(
        self,
        address: Address,
        session: SessionKey,
        text: str,
        *,
        buttons: tuple[Button, ...] = (),
        attachments: tuple[Attachment, ...] = (),
        in_context: bool = False,
    ) -> End:
        """Say it; it is in the outbox when this returns.

        Raises:
            StoreError: It could not be kept, and so was not said.
        """


class Questions(Protocol):
    """Asks people, and waits for their answer ahead of the lane."""

    async def ask(
        self,
        context: ToolContext,
        text: str,
        *,
        options: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        seconds: float,
        answerers: Callable[[InboundMessage], bool] | None = None,
        address: Address | None = None,
        takes_text: bool = True,
    ) -> str | None:
        """Ask where the turn came from, with a button an option; `None` where nobody answered in time.

        Args:
            options: Empty for free text. The answer is the text of an option where one was chosen.
            words: Names of the options to type: `/approve 12ab34 once`.
            answerers: Whose answer counts; without it, only the person's who began the turn.
            address: Ask there instead.
            takes_text: What is said there meanwhile is the answer, too; else only a button or a command is.
        """
