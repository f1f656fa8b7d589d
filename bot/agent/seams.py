"""Places in a turn where guards, memory, tools and hooks join; an empty place costs nothing."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from bot.agent.accounts import Scope
from bot.agent.asides import Display
from bot.agent.moments import Moments
from bot.agent.shortening import HistoryShortening, NoHistoryShortening
from bot.agent.spending import Spending
from bot.agent.store import Overheard
from bot.backends.base import NoTools, Oversight, Tools
from bot.messages import Address, Button, Frozen, InboundMessage
from bot.tools.base import Ledger


class Refusal(Frozen, frozen=True, kw_only=True):
    """Why a message gets no turn of the model.

    Attributes:
        text: What the person is told; empty to stay silent.
    """

    text: str


class Check(Protocol):
    """A step that may end the turn: access, rate limit, Guardian, injection scan."""

    async def __call__(self, message: InboundMessage) -> Refusal | None:
        """Look at a message; `None` lets it pass. One that raises or takes too long blocks it.

        The last two are then asked once more, so they change nothing that asking twice would spoil.
        """


class Screen(Protocol):
    """Looks at what was said in a group without meaning the bot."""

    async def screen(self, message: InboundMessage, lines: Sequence[Overheard]) -> tuple[Overheard, ...]:
        """What of it a turn may be shown. One that raises or hangs, twice, leaves all of it out."""


class AnswerCheck(Protocol):
    """Looks at an answer before it is kept."""

    async def __call__(self, message: InboundMessage, text: str) -> str | None:
        """What is said instead; `None` lets it pass. One that raises or hangs, twice, withholds it."""


class CommandAnswer(Protocol):
    """What a command has to say; without text it is silent."""

    @property
    def text(self) -> str: ...

    @property
    def buttons(self) -> tuple[Button, ...]: ...


class Commands(Protocol):
    """The slash commands."""

    def matches(self, text: str) -> bool:
        """Whether a text is a command; asked for every message, so it has to be quick."""

    async def run(self, message: InboundMessage) -> CommandAnswer:
        """Carry out a command; what the person did wrong is an answer, not an error."""


class MediaSource(Protocol):
    """Gets the files that came with a message."""

    async def fetch(self, message: InboundMessage) -> InboundMessage:
        """The message with its files on our disk; a file that can't be had says why."""


class RedactionStream(Protocol):
    """Hides what must not be shown, in one answer, as it comes."""

    def feed(self, text: str) -> str:
        """Take more of the answer; gives what may be shown by now."""

    def flush(self) -> str:
        """The rest that was held back."""


class Outward(Protocol):
    """Stands between a turn and people: makes a stream for each answer, and looks at whole texts."""

    def open(self) -> RedactionStream: ...

    def redact(self, text: str) -> str: ...


class Redactor(Outward, Protocol):
    """Hides what must not be shown, in all that goes out."""

    async def redact_soon(self, text: str) -> str:
        """The same; of a long text not on the event loop."""


class InputGuard(Protocol):
    """Hides what no model is to read."""

    def __call__(self, then: Oversight) -> Oversight:
        """What looks at each call of a turn before `then` does."""


class Layers:
    """One behind the other; fulfils `Outward`."""

    def __init__(self, *layers: Outward) -> None:
        self._layers = layers

    def open(self) -> "LayeredStream":
        """See the protocol."""
        return LayeredStream([layer.open() for layer in self._layers])

    def redact(self, text: str) -> str:
        """See the protocol."""
        for layer in self._layers:
            text = layer.redact(text)
        return text


class LayeredStream:
    """What one gives, the next one takes; fulfils `RedactionStream`."""

    def __init__(self, streams: Sequence[RedactionStream]) -> None:
        self._streams = streams

    def feed(self, text: str) -> str:
        """See the protocol."""
        for stream in self._streams:
            text = stream.feed(text)
        return text

    def flush(self) -> str:
        """See the protocol."""
        rest = ""
        for stream in self._streams:
            rest = stream.feed(rest) + stream.flush()
        return rest


class ToolSource(Protocol):
    """Gives the tools that the sender of a message may use."""

    def tools_for(self, message: InboundMessage, ledger: Ledger) -> Tools:
        """Those tools; every call is written down in `ledger`."""


class Learner(Protocol):
    """Takes what there is to remember of a turn that went well; never waits and never raises."""

    def learn(self, message: InboundMessage, answer: str) -> None: ...


class Notes(Protocol):
    """Finds what is remembered that has to do with a message; never raises, and takes seconds at most."""

    async def relevant(self, message: InboundMessage) -> str:
        """The text, framed as data; empty where there is nothing."""


class Operators(Protocol):
    """Knows what operators have put to a chat; asked in every turn, so it has to be quick."""

    def has_taken(self, message: InboundMessage) -> bool:
        """Whether one of them answers there in the agent's stead."""

    def destination(self, message: InboundMessage) -> Address | None:
        """Where the answer goes instead; `None` where it goes where the message came from."""


class NoToolSource:
    """Gives nobody any tool."""

    def __init__(self) -> None:
        self._none = NoTools()

    def tools_for(self, message: InboundMessage, ledger: Ledger) -> Tools:
        """The empty set of tools."""
        return self._none


class Seams(msgspec.Struct, frozen=True, kw_only=True):
    """What has joined; checks run in the order of the fields.

    Attributes:
        is_operator: Whether a sender's words are as good as the owner's.
        links: Takes apart links of an answer that could carry something out.
        on_spent: Told of a message that a budget has refused, of which budget, and in which words.
    """

    is_operator: Callable[[InboundMessage], bool] = lambda message: False
    access: Check | None = None
    rate_limit: Check | None = None
    commands: Commands | None = None
    guardian: Check | None = None
    injection: Check | None = None
    overheard: Screen | None = None
    answers: AnswerCheck | None = None
    links: Outward | None = None
    redactor: Redactor | None = None
    input_guard: InputGuard | None = None
    learner: Learner | None = None
    notes: Notes | None = None
    media: MediaSource | None = None
    operators: Operators | None = None
    on_spent: Callable[[InboundMessage, Scope, str], None] | None = None
    tools: ToolSource = msgspec.field(default_factory=NoToolSource)
    moments: Moments = msgspec.field(default_factory=Moments)
    display: Display = msgspec.field(default_factory=Display)
    spending: Spending = msgspec.field(default_factory=Spending)
    shortening: HistoryShortening | NoHistoryShortening = msgspec.field(default_factory=NoHistoryShortening)

    @property
    def outward(self) -> Outward | None:
        """What stands between a turn and people: the redactor last, so that nothing comes in behind it."""
        layers = [layer for layer in (self.links, self.redactor) if layer is not None]
        return Layers(*layers) if len(layers) > 1 else next(iter(layers), None)
