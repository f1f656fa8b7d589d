"""What people have used on all channels on which they are one and the same."""

from collections.abc import Sequence

from bot.agent.accounts import Amount, Scope
from bot.commands.usage import Used
from memory.database import Database
from memory.people.book import PeopleBook
from memory.usage import Usage


class SharedUsage(Usage):
    """Adds up what the identities of a person have used.

    An account goes by the key of a person, what was used by the identity that has used it.
    """

    def __init__(self, database: Database, people: PeopleBook) -> None:
        super().__init__(database)
        self._people = people

    async def used(self, scopes: Sequence[Scope]) -> Sequence[Amount]:
        """See `bot.agent.accounts.Books`."""
        parts = [self._parts(scope) for scope in scopes]
        amounts = iter(await super().used([scope for part in parts for scope in part]))
        return [_sum([next(amounts) for _ in part]) for part in parts]

    def _parts(self, scope: Scope) -> list[Scope]:
        if scope.kind != "person":
            return [scope]
        return [Scope("person", identity, scope.day) for identity in self._people.identities_of(scope.name)]

    async def of_person(self, person: str, *, since: str) -> list[Used]:
        """See `bot.commands.usage.Usage`."""
        identities = self._people.together(person)
        marks = ", ".join("?" * len(identities))
        return await self._by("model", f"day >= ? AND person IN ({marks})", [since, *identities])


def _sum(amounts: Sequence[Amount]) -> Amount:
    return Amount(sum(one.tokens for one in amounts), sum(one.cost for one in amounts))
