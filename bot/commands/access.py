"""Admin commands for who is answered: people and chats that are allowed or blocked, and conversing."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from bot.commands.call import Answer, Call, Command, Handler, ask_first, refuse
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code
from bot.messages import Address, Frozen
from bot.settings.access import AccessMode

Kind: TypeAlias = Literal["user", "chat"]
Verdict: TypeAlias = Literal["allow", "block"]

NOUNS: dict[Kind, str] = {"user": "people", "chat": "chats"}
MENTION = re.compile(r"<[@#]!?&?([^|>\s]+)(?:\|[^>]*)?>")  # as Discord and Slack write one
ELSEWHERE = "That is about another channel or account: only those named in BOT_ADMINS may do it."
LET_IN = "Here, only those who steer the whole bot let somebody in."
MODES: dict[str, AccessMode | None] = {
    "open": "open",
    "allowlist": "allowlist",
    "pairing": "pairing",
    "disabled": "disabled",
    "default": None,
}
NOBODY_NEW = "As long as this stands, nobody else is answered: `/admin restrictions open` changes that."


class Restriction(Frozen, frozen=True, kw_only=True):
    """Who is answered, of people or of chats; subjects are `channel:account:id`, `*` for every account."""

    kind: Kind
    is_closed: bool
    allowed: tuple[str, ...]
    blocked: tuple[str, ...]


class AccessRules(Protocol):
    """Keeps who is answered; changes are in force at once and outlive a restart."""

    async def rule(
        self, kind: Kind, subject: str, verdict: Verdict | None, *, by: str, closes: bool = True
    ) -> bool:
        """Allow or block a subject, or (`None`) take back what was said of it.

        Args:
            closes: Where everybody is answered, the first that is allowed closes the door to others.

        Returns:
            Whether it has.
        """

    async def reopen(self, *, by: str) -> None:
        """Answer everybody again who is not blocked."""

    def restrictions(self) -> Sequence[Restriction]:
        """What is in force: of people, then of chats."""

    def mode_of(self, address: Address) -> AccessMode:
        """Who is answered in a chat who is on no list."""

    async def set_mode(self, address: Address, mode: AccessMode | None, *, by: str) -> None:
        """Let a mode hold in one chat, or (`None`) that of the settings."""

    def modes(self) -> Mapping[str, str]:
        """The modes by place, the widest places first."""


class Conversing(Protocol):
    """Keeps in which chats the bot takes part without being asked."""

    def is_conversing(self, address: Address) -> bool: ...

    async def converse(self, address: Address, *, is_on: bool, by: str) -> None: ...


class AccessCommands:
    """The handlers, over the rules."""

    def __init__(self, rules: AccessRules, conversing: Conversing) -> None:
        self._rules = rules
        self._conversing = conversing

    async def allow_user(self, call: Call) -> Answer:
        """`/admin allowuser <id>`."""
        return await self._decide(call, "user", "allow")

    async def block_user(self, call: Call) -> Answer:
        """`/admin blockuser <id>`."""
        return await self._decide(call, "user", "block")

    async def allow_chat(self, call: Call) -> Answer:
        """`/admin allowchannel [id]`."""
        return await self._decide(call, "chat", "allow")

    async def block_chat(self, call: Call) -> Answer:
        """`/admin blockchannel [id]`."""
        return await self._decide(call, "chat", "block")

    async def _decide(self, call: Call, kind: Kind, verdict: Verdict) -> Answer:
        address = call.message.address
        subject = read_subject(call.word("id") or address.chat, address)
        if not _may_decide(call, subject):
            return refuse(ELSEWHERE)
        if verdict == "allow" and not call.is_operator and self._rules.mode_of(address) != "open":
            return refuse(LET_IN)
        closes = call.is_operator  # what others of the bot have must not depend on an admin of one group
        is_closed = await self._rules.rule(kind, subject, verdict, by=call.actor, closes=closes)
        done = f"{code(subject)} is {'allowed' if verdict == 'allow' else 'blocked'}."
        text = f"{done} {NOBODY_NEW}" if is_closed else done
        return Answer(text=text, target=f"{kind} {subject}")

    async def restrictions(self, call: Call) -> Answer:
        """`/admin restrictions`, `… open`, `… forget <id>`."""
        match call.word("action"):
            case "forget":
                return await self._forget(call)
            case "open":
                return await self._reopen(call)
            case _:
                parts = (_describe(one, self._has_open_door) for one in self._rules.restrictions())
                return Answer(text="\n".join(line for lines in parts for line in lines))

    async def _forget(self, call: Call) -> Answer:
        subject = read_subject(call.word("id"), call.message.address) if call.word("id") else ""
        if not subject:
            return refuse("Whose rule? `/admin restrictions forget <id>`")
        if not _may_decide(call, subject):
            return refuse(ELSEWHERE)
        known = [one.kind for one in self._rules.restrictions() if subject in (*one.allowed, *one.blocked)]
        for kind in known:
            await self._rules.rule(kind, subject, None, by=call.actor)
        if not known:
            return refuse(f"There is no rule about {code(subject)}.")
        return Answer(text=f"There is no rule about {code(subject)} any more.", target=subject)

    async def _reopen(self, call: Call) -> Answer:
        if not call.is_operator:
            return refuse(ELSEWHERE)
        if call.word("id") != "yes":
            question = "Everybody who is not blocked will be answered again."
            return ask_first(question, "/admin restrictions open yes", label="Open to everybody")
        await self._rules.reopen(by=call.actor)
        if self._has_open_door:
            return Answer(text="Everybody who is not blocked is answered again.")
        return Answer(
            text="Nobody is listed as allowed any more. Who was let in stays so; see `/admin access`."
        )

    @property
    def _has_open_door(self) -> bool:
        """Whether everybody is answered who is not blocked, but where another mode holds."""
        return next(iter(self._rules.modes().values())) == "open"

    async def access(self, call: Call) -> Answer:
        """`/admin access [mode]`."""
        address, asked = call.message.address, call.word("mode")
        if not asked:
            lines = [f"- {code(place)}: {mode}" for place, mode in self._rules.modes().items()]
            return Answer(text="\n".join([*lines, f"Here: {self._rules.mode_of(address)}."]))
        await self._rules.set_mode(address, MODES[asked], by=call.actor)
        mode = self._rules.mode_of(address)
        return Answer(text=f"The mode of this chat is {mode} now.", target=f"{address.session()} {mode}")

    async def converse(self, call: Call) -> Answer:
        """`/admin converse [on|off]`."""
        address, mode = call.message.address, call.word("mode")
        if address.is_direct:
            return refuse("In a direct chat I answer everything anyway.")
        if mode:
            await self._conversing.converse(address, is_on=mode == "on", by=call.actor)
        if self._conversing.is_conversing(address):
            return Answer(text="I take part in this chat without being asked.", target=address.session())
        return Answer(text="I answer in this chat only when I am addressed.", target=address.session())

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        person = Argument(name="id", help="The person's id here, or channel:id", is_required=True)
        chat = Argument(name="id", help="The chat's id here, or channel:id; without it this one")
        action = Argument(name="action", help="Change them", choices=("open", "forget"))
        which = Argument(name="id", help="forget: whose rule")
        mode = Argument(name="mode", help="Whether I do", choices=("on", "off"))
        way = Argument(name="mode", help="Who may, in this chat", choices=tuple(MODES))
        return (
            _command("allowuser", "Answer a person, and nobody who is not allowed", self.allow_user, person),
            _command("blockuser", "Answer a person no more", self.block_user, person),
            _command(
                "allowchannel", "Answer in a chat, and in none that is not allowed", self.allow_chat, chat
            ),
            _command("blockchannel", "Answer in a chat no more", self.block_chat, chat),
            _command("restrictions", "Show or change who is answered", self.restrictions, action, which),
            Command(
                CommandSpec(
                    name="admin access",
                    help="Show or change who may speak here",
                    arguments=(way,),
                    is_admin=True,
                ),
                self.access,
                True,
            ),
            _command("converse", "Take part in this chat without being asked", self.converse, mode),
        )


def read_subject(text: str, address: Address) -> str:
    """Whom an admin means, as `channel:account:id`.

    A plain id, or a mention as the platform writes it, is of the same channel and account; `channel:id` is of
    every account of that channel.
    """
    if (mention := MENTION.fullmatch(text)) is not None:
        text = mention[1]
    parts = text.split(":", 2)
    match parts:
        case [channel, account, id_] if channel and account and id_:
            return f"{channel.lower()}:{account}:{id_}"
        case [channel, id_] if channel and id_:
            return f"{channel.lower()}:*:{id_}"
        case _:
            return f"{address.channel}:{address.account}:{text.strip('@#')}"


def _may_decide(call: Call, subject: str) -> bool:
    """An admin of one group decides about the channel and account it is on, and about no other."""
    address = call.message.address
    return call.is_operator or subject.startswith(f"{address.channel}:{address.account}:")


def _command(name: str, text: str, handler: Handler, *arguments: Argument) -> Command:
    spec = CommandSpec(name=f"admin {name}", help=text, arguments=arguments, is_admin=True, native=name)
    return Command(spec, handler)


def _describe(restriction: Restriction, has_open_door: bool) -> list[str]:
    noun = NOUNS[restriction.kind]
    if restriction.is_closed or not has_open_door:
        allowed = ", ".join(code(subject) for subject in restriction.allowed) or "nobody but admins"
        lines = [f"- {noun.capitalize()} that are answered: {allowed}"]
    else:
        lines = [f"- All {noun} are answered that are not blocked"]
    if restriction.blocked:
        lines.append(f"- Blocked {noun}: {', '.join(code(subject) for subject in restriction.blocked)}")
    return lines
