"""What admins have decided, and where it is kept; the names of all that is said about people and chats."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from bot.commands.access import Kind
from bot.messages import Address, InboundMessage

Change: TypeAlias = tuple[str, str, str | None]
IsAdmin: TypeAlias = Callable[[InboundMessage], bool]
Clock: TypeAlias = Callable[[], float]

ANY: Final = "*"  # in place of an account: all of them
KINDS: Final[tuple[Kind, ...]] = ("user", "chat")
ALLOW: Final = "allow"
BLOCK: Final = "block"
RESTRICTED: Final = "restricted"  # kinds of which only those are answered who are allowed
ROLE: Final = "role"  # of people
ROLE_IN: Final = "role_in"  # of all people in a chat
MODE: Final = "mode"  # of chats


class Rules(Protocol):
    """Keeps values by kind and subject; `memory/rules.py` fulfils it."""

    def of(self, kind: str) -> Mapping[str, str]:
        """Every subject of a kind with its value, from memory."""

    async def change(self, changes: Sequence[Change], *, by: str) -> None:
        """Set values as (kind, subject, value), all or nothing; `None` takes one away."""


def subject_of(address: Address, id_: str) -> str:
    """The name of a person or a chat on the account of an address."""
    return f"{address.channel}:{address.account}:{id_}"


def names_of(address: Address, id_: str) -> Iterator[str]:
    """All names by which rules may mean a person or a chat, the exact one first."""
    yield f"{address.channel}:{address.account}:{id_}"
    yield f"{address.channel}:{ANY}:{id_}"


def said_of(rules: Mapping[str, str], channel: str, account: str, id_: str) -> str | None:
    """What rules say of a person or a chat, if anything: on that account, else on all of the channel."""
    return rules.get(f"{channel}:{account}:{id_}") or rules.get(f"{channel}:{ANY}:{id_}")


def places_of(address: Address) -> tuple[str, ...]:
    """The ids of what is a chat there: what is said of a thread's chat holds in the thread.

    A thread has its chat in its id: on some platforms somebody else's thread may have the number of a chat.
    """
    return (address.chat,) if address.thread is None else (address.chat, f"{address.chat}:{address.thread}")
