"""What people are to the bot: roles that were given, and what each may do."""

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from msgspec.structs import replace

from bot.commands.parsing import first_word, read_head
from bot.messages import BY_ITSELF, Address, InboundMessage, Role
from bot.settings.access import AccessSettings, RoleSettings
from security.access.lists import Lists
from security.access.modes import OWN
from security.access.rules import ROLE, ROLE_IN, Rules, places_of, said_of

VOUCHED = frozenset({"api"})  # channels on which nobody speaks whom no admin has given a key
STEERING = (Role.OWNER, Role.ADMIN)
MODEL = "model"  # the command that chooses one
NOT_FOR_YOU = "That command is not for {role}s here."
MODEL_NOT_FOR_YOU = "That model is not for {role}s here."


class Roles:
    """Reads roles; changes are in force at once.

    Args:
        admins: Who is named in BOT_ADMINS, as `channel:id`: they rank with owners.
    """

    def __init__(
        self, rules: Rules, *, lists: Lists, settings: AccessSettings, admins: Collection[str] = ()
    ) -> None:
        self._rules = rules
        self._lists = lists
        self._admins = admins
        self._strangers = Role(settings.strangers)
        self._rights: dict[Role, RoleSettings] = {
            Role.GUEST: settings.roles.guest,
            Role.MEMBER: settings.roles.member,
        }

    def given(self, address: Address, person: str) -> Role | None:
        """The role that somebody was given there, if any."""
        rules = self._rules.of(ROLE)
        if not rules:
            return None
        found = said_of(rules, address.channel, address.account, person)
        return Role(found) if found is not None else None

    def of(self, message: InboundMessage) -> Role:
        """What the sender of a message is to the bot, with what the platform says of them."""
        if message.sender.role is Role.OWNER or self._is_named(message):
            return Role.OWNER
        given = self.given(message.address, message.sender.id)
        return given if given in STEERING else self._below(message, given)

    def known_as(self, message: InboundMessage) -> InboundMessage:
        """The message with the role that its sender has, for who looks at no more than that.

        Whoever steers the bot keeps the role that the platform gave: a message is kept for long, and what it
        says must not be more than what holds when it is read again.
        """
        sender = message.sender
        if sender.role is Role.OWNER or self._is_named(message):
            return message
        given = self.given(message.address, sender.id)
        role = sender.role if given in STEERING else self._below(message, given)
        return message if role is sender.role else replace(message, sender=replace(sender, role=role))

    def _below(self, message: InboundMessage, given: Role | None) -> Role:
        """What somebody is who steers nothing: as given, as their chat is, or as strangers are."""
        if given is not None:
            return given
        address, said = message.address, message.sender.role
        if address.channel in VOUCHED:
            return said
        if said is Role.ADMIN and message.trigger not in BY_ITSELF:
            return said
        if self._lists.is_allowed("user", address, message.sender.id):
            return _least(said, Role.MEMBER)
        if self._lists.is_allowed_chat(address):
            return _least(said, self._in_chat(address))
        return said if address.channel in OWN else _least(said, self._strangers)

    def _in_chat(self, address: Address) -> Role:
        rules = self._rules.of(ROLE_IN)
        for id_ in places_of(address):
            if (found := said_of(rules, address.channel, address.account, id_)) is not None:
                return Role(found)
        return Role.MEMBER

    def _is_named(self, message: InboundMessage) -> bool:
        return f"{message.address.channel}:{message.sender.id}" in self._admins

    def fault(self, message: InboundMessage) -> str | None:
        """Why a command is not for its sender; `None` for what they may do, and for all that is none."""
        head = read_head(message.text)
        if head is None:
            return None
        role = self.of(message)
        if (rights := self._rights.get(role)) is None:
            return None
        if not _is_among(head.name, rights.commands):
            return NOT_FOR_YOU.format(role=role)
        chosen = first_word(head.rest)[0]
        if head.name == MODEL and chosen and not _is_among(chosen, rights.models):
            return MODEL_NOT_FOR_YOU.format(role=role)
        return None

    @property
    def owners(self) -> tuple[str, ...]:
        """Who was made an owner, as `channel:account:id`."""
        return tuple(sorted(name for name, role in self._rules.of(ROLE).items() if role == Role.OWNER))

    @property
    def has_named(self) -> bool:
        """Whether BOT_ADMINS names anybody."""
        return bool(self._admins)

    @property
    def is_owned(self) -> bool:
        """Whether anybody beside the page and the terminal steers the bot."""
        return self.has_named or bool(self.owners)

    def is_named(self, subject: str) -> bool:
        """Whether BOT_ADMINS names somebody: nothing that is said here changes that."""
        channel, _, id_ = subject.split(":", 2)
        return f"{channel}:{id_}" in self._admins

    def people(self) -> dict[str, Role]:
        """Everybody with a role."""
        return {name: Role(role) for name, role in sorted(self._rules.of(ROLE).items())}


class Steering(Collection[str]):
    """Who may steer the bot as a whole: those of the settings, and those who were made owner or admin.

    `bot.agent.control` asks for names as the settings have them, and for (channel, account, id).

    Args:
        named: A live set.
    """

    def __init__(self, named: Collection[str], rules: Rules) -> None:
        self._named = named
        self._rules = rules

    def __contains__(self, name: object) -> bool:
        match name:
            case str():
                return name in self._named
            case (str() as channel, str() as account, str() as id_):
                rules = self._rules.of(ROLE)
                return bool(rules) and said_of(rules, channel, account, id_) in STEERING
            case _:
                return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


def _least(said: Role, role: Role) -> Role:
    """What somebody is at most: a platform's guest is no member for being in a chat of members."""
    return Role.GUEST if Role.GUEST in (said, role) else role


def _is_among(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)
