"""What every long-term memory on our table does in the same way."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from bot.long_term import Fact, Memory, Origin, Scope
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf, cleaned


class Shelved(ABC):
    """The part of `bot.long_term.LongTerm` that asks for no likeness."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    @abstractmethod
    async def vectors_of(self, facts: Sequence[Fact]) -> Sequence[Vector | None]:
        """A vector for each fact, where there is one."""

    async def list(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[Memory]:
        """See the protocol."""
        need([scope])
        return await self.shelf.page(scope, limit=limit, before=before)

    async def update(self, scope: Scope, number: int, text: str, origin: Origin) -> Memory | None:
        """See the protocol."""
        need([scope])
        facts = cleaned([Fact(text=text)])
        if not facts:
            return None
        (vector,) = await self.vectors_of(facts)
        return await self.shelf.change(scope, number, facts[0].text, origin, vector)

    async def forget(self, scope: Scope, number: int | None = None) -> int:
        """See the protocol."""
        need([scope])
        return await self.shelf.drop(scope, number)

    async def export(self, scope: Scope) -> Sequence[Memory]:
        """See the protocol."""
        need([scope])
        return await self.shelf.all(scope)


def need(scopes: Sequence[Scope]) -> None:
    """Refuse a call that names nobody: it must never mean everybody."""
    if not scopes or not all(isinstance(scope, Scope) for scope in scopes):
        raise ValueError("a memory is asked for without saying whose")
