"""What a channel adapter is: the platform's own part, and nothing else."""

from types import TracebackType
from typing import Protocol, Self

from bot.messages import Address, Frozen


class Capabilities(Frozen, frozen=True, kw_only=True):
    """What a platform can do and allows, as data.

    Attributes:
        max_chars: The longest text of one message.
        edits: A posted message can be changed, so an answer can grow in place.
        edit_interval: Seconds between two changes of one message.
        idempotent: A post repeated under the same key does not show twice.
        keeps_history: What people see is read from our own store (web page, terminal): a saved answer
            is a delivered one, and nothing has to be posted.
    """

    max_chars: int = 4096
    edits: bool = False
    edit_interval: float = 1.0
    idempotent: bool = False
    keeps_history: bool = False


class ChannelAdapter(Protocol):
    """Speaks to one platform; open from `__aenter__` to `__aexit__`.

    Inbound events become `InboundMessage`s that the adapter publishes on the bus; it acknowledges the
    platform only after that has returned.
    """

    @property
    def name(self) -> str:
        """The channel's name in addresses."""

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def post(self, address: Address, text: str, *, key: str, reply_to: str | None = None) -> str:
        """Put a new message into a chat; gives the platform's id of it.

        Args:
            key: The same at every try of this post; goes to platforms that recognise repeats.

        Raises:
            ChannelError: It was not posted, as far as can be known.
        """

    async def edit(self, address: Address, platform_id: str, text: str) -> None:
        """Change the text of a message that was posted.

        Raises:
            ChannelError: It was not changed.
        """
