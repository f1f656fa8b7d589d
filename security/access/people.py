"""What people are made, and who may make them that."""

from bot.commands.pairing import AccessError
from bot.messages import InboundMessage, Role
from security.access.roles import STEERING, Roles
from security.access.rules import ALLOW, ROLE, ROLE_IN, Change, Rules

ONLY_OWNERS = "only an owner can make or unmake owners and admins"
LAST_OWNER = "nobody else is an owner: make somebody one first, or name one in BOT_ADMINS"
IN_SETTINGS = "BOT_ADMINS names them: change it there"


class People:
    """Fulfils `bot.commands.pairing.People`."""

    def __init__(self, rules: Rules, roles: Roles) -> None:
        self._rules = rules
        self._roles = roles

    def rank(self, message: InboundMessage) -> Role:
        """See the protocol."""
        return self._roles.of(message)

    async def assign(self, subject: str, role: Role, *, by: str, rank: Role) -> None:
        """See the protocol."""
        self._check(subject, role, rank)
        await self._rules.change([(ROLE, subject, role.value)], by=by)

    async def unpair(self, subject: str, *, by: str, rank: Role) -> bool:
        """See the protocol."""
        said = [(kind, subject, None) for kind in (ROLE, ROLE_IN) if subject in self._rules.of(kind)]
        allowed = [
            (kind, subject, None) for kind in ("user", "chat") if self._rules.of(kind).get(subject) == ALLOW
        ]
        changes: list[Change] = [*said, *allowed]
        if not changes:
            return False
        self._check(subject, None, rank)
        await self._rules.change(changes, by=by)
        return True

    def _check(self, subject: str, role: Role | None, rank: Role) -> None:
        """Raise where somebody of a rank may not make a person that."""
        given = self._roles.people().get(subject)
        if self._roles.is_named(subject):
            raise AccessError(IN_SETTINGS)
        if rank is not Role.OWNER and (role in STEERING or given in STEERING):
            raise AccessError(ONLY_OWNERS)
        is_last = self._roles.owners == (subject,) and not self._roles.has_named
        if given is Role.OWNER and role is not Role.OWNER and is_last:
            raise AccessError(LAST_OWNER)
