"""The hook points: when each comes, what its handlers get, and what they may do."""

from typing import Literal, Never

from msgspec.structs import replace

from bot.hooks.base import AnyPoint, Point
from bot.hooks.effects import (
    AddFile,
    Change,
    ChangeArguments,
    ChangeMessages,
    ChangeRequest,
    Deny,
    Drop,
    Inject,
    NextRound,
    Override,
    RemoveFile,
    Reply,
    RequireApproval,
)
from bot.messages import (
    Address,
    Attachment,
    EndReason,
    Frozen,
    InboundMessage,
    RunId,
    SessionKey,
    StoredMessage,
)
from bot.models.base import ModelRequest, PromptMessage
from bot.tools.base import Arguments, Tool, ToolContext

MAX_ROUNDS = 5  # of one turn; past it no hook can ask for another
BLOCKED = "Blocked: a safety check failed."
WITHHELD = "[Withheld: a safety check failed.]"


class WorkspaceFile(Frozen, frozen=True, kw_only=True):
    """A file of the operator's that goes into the prompt."""

    name: str
    text: str


class GatewayStart(Point["GatewayStart", Never, Never], frozen=True, kw_only=True):
    """The bot is ready; `url` is that of its page."""

    name = "gateway_start"
    url: str | None = None


class GatewayStop(Point["GatewayStop", Never, Never], frozen=True, kw_only=True):
    """The bot is about to stop."""

    name = "gateway_stop"


class SessionStart(Point["SessionStart", Never, Never], frozen=True, kw_only=True):
    """A session begins."""

    name = "session_start"
    session: SessionKey
    address: Address


class SessionEnd(Point["SessionEnd", Never, Never], frozen=True, kw_only=True):
    """A session is over: a new one was begun, it was reset, or deleted."""

    name = "session_end"
    session: SessionKey
    reason: Literal["new", "reset", "deleted"]


class MessageReceived(Point["MessageReceived", Change, Drop | Deny | Reply], frozen=True, kw_only=True):
    """A message is about to be answered; files that came with it may not be here yet."""

    name = "message_received"
    kind = "modifying"
    blocked = Deny(reason=BLOCKED)
    message: InboundMessage

    def changed(self, effect: Change) -> "MessageReceived":
        """The message with another text."""
        return replace(self, message=replace(self.message, text=effect.text))


class CommandGiven(Point["CommandGiven", Never, Deny | Reply], frozen=True, kw_only=True):
    """A command is about to be obeyed; `/kill` and `/stop` wait for nobody, and so not for hooks."""

    name = "command"
    kind = "modifying"
    blocked = Deny(reason=BLOCKED)
    message: InboundMessage
    command: str


class Bootstrap(Point["Bootstrap", AddFile | RemoveFile, Never], frozen=True, kw_only=True):
    """The workspace files for a prompt are read."""

    name = "bootstrap"
    kind = "modifying"
    session: SessionKey
    files: tuple[WorkspaceFile, ...] = ()

    def changed(self, effect: AddFile | RemoveFile) -> "Bootstrap":
        """The files with one more, or one less."""
        files = tuple(file for file in self.files if file.name != effect.name)
        if isinstance(effect, AddFile):
            files = (*files, WorkspaceFile(name=effect.name, text=effect.text))
        return replace(self, files=files)


class BeforeAgentStart(Point["BeforeAgentStart", Inject | Override, Never], frozen=True, kw_only=True):
    """The instructions of a turn are about to be put together."""

    name = "before_agent_start"
    kind = "modifying"
    message: InboundMessage
    injected: tuple[str, ...] = ()
    override: str | None = None

    def changed(self, effect: Inject | Override) -> "BeforeAgentStart":
        """With more instructions, or with others."""
        if isinstance(effect, Override):
            return replace(self, override=effect.text)
        return replace(self, injected=(*self.injected, effect.text))


class PromptBuilt(Point["PromptBuilt", ChangeMessages, Never], frozen=True, kw_only=True):
    """The prompt of a turn is put together."""

    name = "prompt"
    kind = "modifying"
    message: InboundMessage
    messages: tuple[PromptMessage, ...]

    def changed(self, effect: ChangeMessages) -> "PromptBuilt":
        """With another prompt."""
        return replace(self, messages=tuple(effect.messages))


class BeforeModelCall(Point["BeforeModelCall", ChangeRequest, Deny], frozen=True, kw_only=True):
    """The model is about to be asked; `step` counts the calls of the turn, from 1."""

    name = "before_model_call"
    kind = "modifying"
    blocked = Deny(reason=BLOCKED)
    session: SessionKey
    run: RunId
    request: ModelRequest
    step: int

    def changed(self, effect: ChangeRequest) -> "BeforeModelCall":
        """With another request."""
        return replace(self, request=effect.request)


class ResponseUpdate(Point["ResponseUpdate", Never, Never], frozen=True, kw_only=True):
    """The answer has grown by `text`, or begins anew with it."""

    name = "response_update"
    session: SessionKey
    run: RunId
    text: str
    replaces: bool = False


class ResponseComplete(Point["ResponseComplete", NextRound, Never], frozen=True, kw_only=True):
    """The model has come to an end; `round` counts from 1, and the last of 5 can't be followed by another."""

    name = "response_complete"
    kind = "modifying"
    message: InboundMessage
    text: str
    round: int = 1
    next_round: str | None = None

    def changed(self, effect: NextRound) -> "ResponseComplete":
        """With one more round, which does all that handlers ask for."""
        if self.round >= MAX_ROUNDS:
            return self
        asked = effect.text if self.next_round is None else f"{self.next_round}\n\n{effect.text}"
        return replace(self, next_round=asked)


class BeforeToolCall(
    Point["BeforeToolCall", ChangeArguments | RequireApproval, Deny], frozen=True, kw_only=True
):
    """A tool is about to be called."""

    name = "before_tool_call"
    kind = "modifying"
    blocked = Deny(reason=BLOCKED)
    tool: Tool
    arguments: Arguments
    call: ToolContext
    approvals: tuple[RequireApproval, ...] = ()

    def changed(self, effect: ChangeArguments | RequireApproval) -> "BeforeToolCall":
        """With other arguments, or one more approval to ask for."""
        if isinstance(effect, RequireApproval):
            return replace(self, approvals=(*self.approvals, effect))
        return replace(self, arguments=dict(effect.arguments))


class AfterToolCall(Point["AfterToolCall", Never, Never], frozen=True, kw_only=True):
    """A tool was called, or refused."""

    name = "after_tool_call"
    session: SessionKey
    run: RunId
    call_id: str
    tool: str
    status: Literal["ok", "error"]
    text: str
    seconds: float


class ToolResultPersist(Point["ToolResultPersist", Change, Never], frozen=True, kw_only=True):
    """The result of a tool is about to be written down."""

    name = "tool_result_persist"
    kind = "synchronous"
    blocked = Change(text=WITHHELD)
    session: SessionKey
    run: RunId
    call_id: str
    tool: str
    text: str

    def changed(self, effect: Change) -> "ToolResultPersist":
        """With another text."""
        return replace(self, text=effect.text)


class BeforeCompaction(Point["BeforeCompaction", Never, Never], frozen=True, kw_only=True):
    """A history is about to be shortened, before `message` is answered; `history` has its newest lines."""

    name = "before_compaction"
    session: SessionKey
    message: InboundMessage
    history: tuple[StoredMessage, ...]
    lines: int
    tokens: int


class AfterCompaction(Point["AfterCompaction", Never, Never], frozen=True, kw_only=True):
    """The history of a session was shortened; `summary` stands for what went."""

    name = "after_compaction"
    session: SessionKey
    lines: int
    tokens: int
    summary: str = ""


class StatusChanged(Point["StatusChanged", Never, Never], frozen=True, kw_only=True):
    """A turn enters a stage (`context`, `model`, …) or ends (`done`, `error`, `killed`, `silent`)."""

    name = "status_changed"
    session: SessionKey
    run: RunId
    status: str


class MessageSending(Point["MessageSending", Change, Drop | Deny], frozen=True, kw_only=True):
    """A whole answer is about to be kept and sent; what was streamed of it before is a preview."""

    name = "message_sending"
    kind = "modifying"
    blocked = Deny(reason=WITHHELD)
    session: SessionKey
    run: RunId
    address: Address
    text: str
    attachments: tuple[Attachment, ...] = ()

    def changed(self, effect: Change) -> "MessageSending":
        """With another text."""
        return replace(self, text=effect.text)


class MessageSent(Point["MessageSent", Never, Never], frozen=True, kw_only=True):
    """An answer has arrived on its platform."""

    name = "message_sent"
    session: SessionKey
    run: RunId
    address: Address
    text: str


class AgentEnded(Point["AgentEnded", Never, Never], frozen=True, kw_only=True):
    """A turn is over and saved."""

    name = "agent_end"
    kind = "detached"
    limit = 30.0
    message: InboundMessage
    reason: EndReason
    text: str
    seconds: float


ALL: tuple[type[AnyPoint], ...] = (
    GatewayStart,
    GatewayStop,
    SessionStart,
    SessionEnd,
    MessageReceived,
    CommandGiven,
    Bootstrap,
    BeforeAgentStart,
    PromptBuilt,
    BeforeModelCall,
    ResponseUpdate,
    ResponseComplete,
    BeforeToolCall,
    AfterToolCall,
    ToolResultPersist,
    BeforeCompaction,
    AfterCompaction,
    StatusChanged,
    MessageSending,
    MessageSent,
    AgentEnded,
)
POINTS: dict[str, type[AnyPoint]] = {point.name: point for point in ALL}
