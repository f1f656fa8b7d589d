"""What the rest of the project needs of a bus."""

from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self, TypeAlias, TypeVar

from bot.messages import InboundMessage, Missed, OutboundMessage, SessionKey, SystemEvent

Item = TypeVar("Item", covariant=True)


class Receipt(StrEnum):
    """What became of an inbound message that was published."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


Wants: TypeAlias = Callable[[type[SystemEvent], SessionKey], bool]
InboundHandler: TypeAlias = Callable[[InboundMessage], Awaitable[Receipt]]


class Subscription(Protocol[Item]):
    """A bounded queue of what was published since it was opened; closing it ends the iteration."""

    def __aiter__(self) -> AsyncIterator[Item]: ...

    def take(self) -> Item | None:
        """The next item, if there is one now."""

    def close(self) -> None:
        """Take no more and wake the reader; what is queued is still read."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Bus(Protocol):
    """Carries inbound messages to the loop, and answers and events from it.

    Nobody who publishes an answer or an event is ever made to wait by a reader.
    """

    def serve(self, handler: InboundHandler) -> None:
        """Name the one that accepts inbound messages; without it `publish` raises `StoreError`."""

    async def publish(self, message: InboundMessage) -> Receipt:
        """Hand in a message; when this returns it is durable, and the platform may be told so.

        Raises:
            StoreError: It could not be made durable: do not acknowledge it.
        """

    def send(self, message: OutboundMessage) -> None:
        """Publish a piece of an answer to its channel's delivery and to every other subscriber."""

    def emit(self, event: SystemEvent) -> None:
        """Publish a system event."""

    def outbound(self, *, channel: str | None = None) -> Subscription[OutboundMessage]:
        """Subscribe to answers, of one channel or of all.

        A reader that falls behind gets the chunks of a run merged into one.
        """

    def is_wanted(self, kind: type[SystemEvent], session: SessionKey) -> bool:
        """Whether any reader has a use for such an event: one that is costly to make need not be made."""

    def events(self, *, limit: int = 1000, wants: Wants | None = None) -> Subscription[SystemEvent | Missed]:
        """Subscribe to system events; past `limit` the oldest go, and `Missed` tells how many.

        Args:
            wants: Whether the reader has a use for events of a kind in a session; without it, it has for all.
                It is asked for each event, as that is published.
        """
