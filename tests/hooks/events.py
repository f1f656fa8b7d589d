"""Events for tests of the hooks, complete, and different in what the test names."""

from bot.hooks import (
    AgentEnded,
    BeforeToolCall,
    GatewayStart,
    MessageReceived,
    MessageSending,
    ResponseComplete,
    ToolResultPersist,
)
from bot.messages import RunId, SessionKey
from bot.tools.base import Tool, ToolContext
from bot.tools.declare import declare
from tests.factories import inbound

SESSION = SessionKey("web:default:main")
RUN = RunId("run-1")


def received(text: str = "hello") -> MessageReceived:
    """A message that is about to be answered."""
    return MessageReceived(message=inbound(text))


def sending(text: str = "an answer") -> MessageSending:
    """An answer that is about to be sent."""
    return MessageSending(session=SESSION, run=RUN, address=inbound().address, text=text)


def complete(text: str = "done", *, round: int = 1) -> ResponseComplete:
    """A model that has come to an end."""
    return ResponseComplete(message=inbound(), text=text, round=round)


def persist(text: str = "a result") -> ToolResultPersist:
    """A tool's result that is about to be written down."""
    return ToolResultPersist(session=SESSION, run=RUN, call_id="1", tool="shout", text=text)


def started() -> GatewayStart:
    """A bot that is ready."""
    return GatewayStart(url=None)


def ended() -> AgentEnded:
    """A turn that is over."""
    return AgentEnded(message=inbound(), reason="done", text="done", seconds=0.1)


def shout(text: str, times: int = 1) -> str:
    """Say it loudly."""
    return text.upper() * times


def a_tool() -> Tool:
    """A tool that does not do much."""
    return declare(shout)


def a_call() -> ToolContext:
    """For whom it is called."""
    return ToolContext(message=inbound(), call_id="1")


def tool_call(**arguments: object) -> BeforeToolCall:
    """A tool that is about to be called."""
    return BeforeToolCall(tool=a_tool(), arguments=arguments, call=a_call())
