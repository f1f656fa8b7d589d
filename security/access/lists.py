"""The lists of people and chats that are allowed or blocked."""

from collections.abc import Iterable

from bot.commands.access import Kind, Restriction
from bot.messages import Address
from security.access.rules import ALLOW, ANY, BLOCK, KINDS, RESTRICTED, Change, Rules, names_of, places_of


class Lists:
    """Reads what admins and the settings say about somebody.

    Args:
        listed: Who is allowed by the settings, as `channel:id` or `channel:account:id`.
    """

    def __init__(self, rules: Rules, listed: Iterable[str] = ()) -> None:
        self._rules = rules
        self._listed = frozenset(map(_with_account, listed))

    def is_blocked(self, kind: Kind, address: Address, id_: str) -> bool:
        """Whether somebody is blocked, on this account or on all of the channel."""
        rules = self._rules.of(kind)
        return bool(rules) and any(rules.get(name) == BLOCK for name in names_of(address, id_))

    def is_allowed(self, kind: Kind, address: Address, id_: str) -> bool:
        """Whether somebody is named as one who may speak."""
        rules = self._rules.of(kind)
        if not rules and not self._listed:
            return False
        return any(name in self._listed or rules.get(name) == ALLOW for name in names_of(address, id_))

    def is_blocked_chat(self, address: Address) -> bool:
        """Whether nobody is answered in a chat, or in the thread of it that is meant."""
        ids = places_of(address) if address.thread is None else (*places_of(address), address.thread)
        return any(self.is_blocked("chat", address, id_) for id_ in ids)

    def is_allowed_chat(self, address: Address) -> bool:
        """Whether everybody is answered in a chat or thread."""
        return any(self.is_allowed("chat", address, id_) for id_ in places_of(address))

    def is_closed(self, kind: Kind) -> bool:
        """Whether those of a kind who are not allowed are refused, though the mode would let them in."""
        return kind in self._rules.of(RESTRICTED)

    async def rule(self, kind: Kind, subject: str, verdict: str | None, *, closes: bool, by: str) -> None:
        """Say something about a subject, or (`None`) take it back.

        Args:
            closes: The first that is allowed closes the door to the others of its kind.
        """
        changes: list[Change] = [(kind, subject, verdict)]
        if closes and verdict == ALLOW:
            changes.append((RESTRICTED, kind, "on"))
        await self._rules.change(changes, by=by)

    async def reopen(self, *, by: str) -> None:
        """Forget whoever is allowed, and that others are not."""
        allowed: list[Change] = [
            (kind, subject, None)
            for kind in KINDS
            for subject, verdict in self._rules.of(kind).items()
            if verdict == ALLOW
        ]
        await self._rules.change([*allowed, *((RESTRICTED, kind, None) for kind in KINDS)], by=by)

    def restriction(self, kind: Kind) -> Restriction:
        """What is in force for one kind."""
        rules = sorted(self._rules.of(kind).items())
        return Restriction(
            kind=kind,
            is_closed=self.is_closed(kind),
            allowed=tuple(subject for subject, verdict in rules if verdict == ALLOW),
            blocked=tuple(subject for subject, verdict in rules if verdict == BLOCK),
        )


def _with_account(subject: str) -> str:
    channel, _, rest = subject.partition(":")
    return subject if ":" in rest else f"{channel}:{ANY}:{rest}"
