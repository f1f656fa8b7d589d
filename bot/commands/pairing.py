"""Commands for who is let in, and as what: `/pair`, `/unpair`, `/admin role`."""

import time
from collections.abc import Sequence
from typing import Protocol

from bot.commands.access import Kind, read_subject
from bot.commands.call import Answer, Call, Command, Handler, refuse
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import ago, code, duration, plain
from bot.errors import BotError
from bot.messages import Address, Button, Frozen, InboundMessage, Role

SHOWN = 20
ROLES = tuple(role.value for role in Role)
NO_CODE = "Nobody waits with that code: it is wrong, or it has expired."


class AccessError(BotError):
    """Somebody may not decide that about somebody else."""


class Request(Frozen, frozen=True, kw_only=True):
    """Somebody waits to be let in.

    Attributes:
        code: What they were told.
        kind: A person, or a whole chat where it was a group that spoke.
        subject: As `channel:account:id`.
        name: Of the person who spoke.
        address: Where they are told that they are in.
        asked_at: Seconds since 1970, as all times here.
        told_at: When they were told the code last.
        said: How often they have spoken.
        saved_at: When what they said was written down last.
        message: The newest that they have said; answered once they are in.
        is_denied: They were turned away, and are not heard until this has expired.
    """

    code: str
    kind: Kind
    subject: str
    name: str
    address: Address
    asked_at: float
    told_at: float
    expires_at: float
    said: int = 1
    saved_at: float = 0.0
    message: InboundMessage | None = None
    is_denied: bool = False

    @property
    def key(self) -> str:
        """What makes it one of its own."""
        return f"{self.kind} {self.subject}"


class LetIn(Frozen, frozen=True, kw_only=True):
    """Who was let in, and as what."""

    request: Request
    role: Role


class Pairing(Protocol):
    """Keeps who waits; what is decided is in force at once."""

    async def waiting(self) -> Sequence[Request]:
        """Who waits, the oldest first."""

    async def let_in(
        self, typed: str, *, role: Role | None, by: str, rank: Role, is_owner: bool
    ) -> LetIn | None:
        """Let somebody in by their code; `None` where nobody waits with it.

        Args:
            role: What they are to be; by default members, but for the first whom the owner lets in.
            rank: Of who lets them in: nobody makes others more than they are.
            is_owner: Who lets them in sits at the page or the terminal.

        Raises:
            AccessError: They may not give this role, or have tried too many codes.
        """

    async def turn_away(self, typed: str, *, by: str) -> Request | None:
        """Hear nothing of somebody for a day; `None` where nobody waits with this code."""


class People(Protocol):
    """Keeps what people are to the bot."""

    def rank(self, message: InboundMessage) -> Role:
        """What the sender of a message is."""

    async def assign(self, subject: str, role: Role, *, by: str, rank: Role) -> None:
        """Let somebody be this from now on.

        Raises:
            AccessError: Who says it may not, or nobody would be left who steers the bot.
        """

    async def unpair(self, subject: str, *, by: str, rank: Role) -> bool:
        """Let a person or a chat be unknown again; False where they were not known.

        Raises:
            AccessError: As for `assign`.
        """


class PairingCommands:
    """The handlers."""

    def __init__(self, pairing: Pairing, people: People) -> None:
        self._pairing = pairing
        self._people = people

    async def pair(self, call: Call) -> Answer:
        """`/pair`, `/pair <code> [role]`, `/pair deny <code>`."""
        first, second = call.word("code"), call.word("role").lower()
        if not first:
            return Answer(text=describe_all(await self._pairing.waiting()))
        if first.lower() == "deny":
            return await self._deny(call, second)
        if second and second not in ROLES:
            return refuse(f"A role is one of {', '.join(ROLES)}.")
        let_in = await self._pairing.let_in(
            first,
            role=Role(second) if second else None,
            by=call.actor,
            rank=self._people.rank(call.message),
            is_owner=call.message.sender.role is Role.OWNER,
        )
        if let_in is None:
            return refuse(NO_CODE)
        return Answer(text=describe(let_in), target=let_in.request.key)

    async def _deny(self, call: Call, typed: str) -> Answer:
        request = await self._pairing.turn_away(typed, by=call.actor)
        if request is None:
            return refuse(NO_CODE)
        return Answer(text=f"The {_who(request)}, gets no answer for a day.", target=request.key)

    async def unpair(self, call: Call) -> Answer:
        """`/unpair <id>`."""
        subject = read_subject(call.word("id"), call.message.address)
        rank = self._people.rank(call.message)
        if not await self._people.unpair(subject, by=call.actor, rank=rank):
            return refuse(f"{code(subject)} was not let in.")
        return Answer(text=f"I do not know {code(subject)} any more.", target=subject)

    async def role(self, call: Call) -> Answer:
        """`/admin role <id> <role>`."""
        subject = read_subject(call.word("id"), call.message.address)
        role, rank = Role(call.word("role")), self._people.rank(call.message)
        await self._people.assign(subject, role, by=call.actor, rank=rank)
        return Answer(text=f"{code(subject)} is {role} from now on.", target=f"{subject} {role}")

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        typed = Argument(name="code", help="What they were told; `deny` and the code turns them away")
        role = Argument(name="role", help="What they are to be, else member: owner, admin, member or guest")
        whom = Argument(name="id", help="A person's or chat's id here, or channel:id", is_required=True)
        which = Argument(name="role", help="What they are to be", choices=ROLES, is_required=True)
        return (
            _command("pair", "Let somebody in who waits, or list who does", self.pair, typed, role),
            _command("unpair", "Let a person or a chat be unknown again", self.unpair, whom),
            _command("admin role", "Change what a person is to me", self.role, whom, which),
        )


def ask_about(request: Request) -> tuple[str, tuple[Button, ...]]:
    """What an admin is asked when somebody waits, and what they can press."""
    who = _who(request)
    speaker = f" ({plain(request.name)} has spoken there)" if request.kind == "chat" and request.name else ""
    buttons = (
        Button(label="Let in", value=f"/pair {request.code}", style="primary"),
        Button(label="Turn away", value=f"/pair deny {request.code}", style="danger"),
    )
    return f"The {who} asks to talk with me{speaker}.", buttons


def describe(let_in: LetIn) -> str:
    """What is said to who has let somebody in."""
    request, role = let_in.request, let_in.role
    said = "" if request.message is None else " What they wrote is answered now."
    if request.kind == "chat":
        return f"The {_who(request)} may talk with me; people there are {role}s.{said}"
    return f"The {_who(request)}, is {role} from now on.{said}"


def describe_all(requests: Sequence[Request]) -> str:
    """Who waits, for admins."""
    if not requests:
        return "Nobody waits to be let in."
    lines = [_line(request) for request in requests[:SHOWN]]
    if len(requests) > SHOWN:
        lines.append(f"- … and {len(requests) - SHOWN} more")
    return "\n".join([*lines, "", "They know their code: `/pair <code>` lets them in."])


def _line(request: Request) -> str:
    left = duration(request.expires_at - time.time(), units=1)
    return f"- {_who(request)}: {ago(request.asked_at)}, and the code holds for {left}"


def _who(request: Request) -> str:
    """A person or chat, as admins read of it."""
    subject = code(request.subject)
    if request.kind == "chat":
        return f"chat {subject}"
    return f"person {plain(request.name)}, {subject}" if request.name else f"person {subject}"


def _command(
    name: str,
    text: str,
    handler: Handler,
    *arguments: Argument,
) -> Command:
    return Command(CommandSpec(name=name, help=text, arguments=arguments, is_admin=True), handler, True)
