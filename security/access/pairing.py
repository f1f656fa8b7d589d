"""Letting people in: a code for who is unknown, and what becomes of it."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from bot.agent.audit import Audit, AuditEvent, Severity
from bot.commands.access import Kind
from bot.commands.pairing import AccessError, LetIn, Request
from bot.errors import BotError
from bot.messages import Address, InboundMessage, MessageId, Role, new_id
from security.access.codes import find_code, make_code, read_code, spoken
from security.access.memory import Lately
from security.access.roles import STEERING, Roles
from security.access.rules import ALLOW, ROLE, ROLE_IN, Change, Clock, Rules, subject_of

log = logging.getLogger(__name__)

CODE_SECONDS: Final = 3_600.0  # that a code is valid
TELL_EVERY: Final = 300.0  # seconds until somebody who writes on is told their code again
DENIED_SECONDS: Final = 86_400.0  # that nothing is heard of who was turned away
KEPT_CHARACTERS: Final = 10_000  # of the message that waits with them
SAVED_FIRST: Final = 5  # so many of somebody's messages are kept as they come, further ones now and then
SAVE_EVERY: Final = 30.0  # seconds
WRONG_CODES: Final = 5  # by one admin, in `WRONG_SECONDS`
WRONG_SECONDS: Final = 600.0
MOST_GUESSERS: Final = 1_000
MAX_NAME: Final = 64
LET_IN_PREFIX: Final = "let-in:"  # before the platform's id: the same message, for the second time

PERSON_TOLD: Final = (
    "I do not know you yet. Ask whoever runs this bot to let you in with the code **{code}**; "
    "it is valid for one hour."
)
CHAT_TOLD: Final = (
    "I do not know this chat yet. Whoever runs this bot can let it in with the code **{code}**; "
    "it is valid for one hour."
)
KEPT: Final = " What was said last is kept, and answered then."
FULL: Final = "I do not know you yet, and too many others wait to be let in. Please try again in an hour."
YOU_ARE_IN: Final = "You have been let in: you may write to me now."
CHAT_IS_IN: Final = "This chat has been let in: I answer here from now on."
TOO_MANY_TRIES: Final = "too many wrong codes: wait ten minutes"
NOT_THAT_ROLE: Final = "only an owner can make owners and admins"
NOT_A_CHAT: Final = "a whole chat can be member or guest"


class Requests(Protocol):
    """Keeps who waits; `memory/pairings.py` fulfils it."""

    async def open(self, now: float) -> Sequence[Request]: ...

    async def get(self, key: str) -> Request | None: ...

    async def put(self, request: Request) -> None: ...

    async def drop(self, key: str) -> None: ...


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """What letting people in has to do outside.

    Attributes:
        tell: Says something in a chat.
        publish: Takes a message in, as if it came from its channel now.
        ask_admins: Tells those who may let somebody in; must not take long.
    """

    tell: Callable[[Address, str], Awaitable[object]]
    publish: Callable[[InboundMessage], Awaitable[object]]
    ask_admins: Callable[[Request], Awaitable[object]] | None = None


class Pairing:
    """Fulfils `bot.commands.pairing.Pairing`.

    Args:
        now: Seconds since 1970.
    """

    def __init__(
        self,
        requests: Requests,
        rules: Rules,
        roles: Roles,
        outside: Outside,
        *,
        audit: Audit,
        max_pending: int,
        now: Clock = time.time,
    ) -> None:
        self._requests = requests
        self._rules = rules
        self._roles = roles
        self._outside = outside
        self._audit = audit
        self._max_pending = max_pending
        self._now = now
        self._lock = asyncio.Lock()
        self._turned_off = Lately(CODE_SECONDS, clock=now)
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    # --- who is unknown

    async def greet(self, message: InboundMessage) -> str:
        """Note that somebody unknown has spoken; gives what they are told, mostly nothing."""
        kind, subject = subject_to_let_in(message)
        async with self._lock:
            now = self._now()
            known = await self._requests.get(f"{kind} {subject}")
            if known is not None and known.expires_at > now:
                return await self._hear(known, message, now)
            request = await self._ask(kind, subject, message, now)
        if request is None:
            return FULL if self._turned_off.is_new(subject) else ""
        if self._outside.ask_admins is not None:
            try:
                await self._outside.ask_admins(request)
            except BotError as error:  # the person has a code all the same
                log.error("admins not told of a request", extra={"cause": str(error)})
        return _told(request)

    async def _hear(self, known: Request, message: InboundMessage, now: float) -> str:
        """Keep the newest of what somebody says who has a code."""
        if known.is_denied:
            return ""
        heard = replace(known, said=known.said + 1, message=_kept(message) or known.message)
        is_told = now - known.told_at >= TELL_EVERY
        if is_told:
            heard = replace(heard, told_at=now)
        if is_told or heard.said <= SAVED_FIRST or now - (known.saved_at or known.asked_at) >= SAVE_EVERY:
            await self._requests.put(replace(heard, saved_at=now))
        return _told(heard) if is_told else ""

    async def _ask(self, kind: Kind, subject: str, message: InboundMessage, now: float) -> Request | None:
        """A new request, where there is room for one."""
        waiting = await self._requests.open(now)
        if sum(not one.is_denied for one in waiting) >= self._max_pending:
            return None
        request = Request(
            code=make_code(),
            kind=kind,
            subject=subject,
            name=_readable(message.sender.name),
            address=replace(message.address, thread=None) if kind == "user" else message.address,
            asked_at=now,
            told_at=now,
            expires_at=now + CODE_SECONDS,
            message=_kept(message),
        )
        await self._requests.put(request)
        actor = f"{message.address.channel}:{message.sender.id}"
        await self._note(actor, request, "asked", severity="info")
        return request

    # --- who decides

    async def waiting(self) -> Sequence[Request]:
        """See the protocol."""
        return [one for one in await self._requests.open(self._now()) if not one.is_denied]

    async def let_in(
        self, typed: str, *, role: Role | None, by: str, rank: Role, is_owner: bool
    ) -> LetIn | None:
        """See the protocol."""
        if role in STEERING and rank is not Role.OWNER:
            raise AccessError(NOT_THAT_ROLE)
        async with self._lock:
            request = await self._find(typed, by)
            if request is None:
                return None
            if role in STEERING and request.kind == "chat":
                raise AccessError(NOT_A_CHAT)
            if role is None:
                is_first = is_owner and request.kind == "user" and not self._roles.is_owned
                role = Role.OWNER if is_first else Role.MEMBER
            await self._rules.change(_changes(request, role), by=by)
            await self._requests.drop(request.key)
        await self._note(by, request, f"let in as {role}", severity="warning" if role in STEERING else "info")
        await self._welcome(request)
        return LetIn(request=request, role=role)

    async def turn_away(self, typed: str, *, by: str) -> Request | None:
        """See the protocol."""
        async with self._lock:
            request = await self._find(typed, by)
            if request is None:
                return None
            until = self._now() + DENIED_SECONDS
            await self._requests.put(replace(request, is_denied=True, message=None, expires_at=until))
        await self._note(by, request, "turned away", severity="info")
        return request

    async def _find(self, typed: str, by: str) -> Request | None:
        """The request with a code; who tries too many is told so, whether the next one is right or not."""
        now = self._now()
        wrong = [at for at in self._wrong.get(by, ()) if now - at < WRONG_SECONDS]
        if len(wrong) >= WRONG_CODES:
            raise AccessError(TOO_MANY_TRIES)
        waiting = {one.code: one for one in await self.waiting()}
        found = find_code(read_code(typed), waiting)
        if found is not None:
            self._wrong.pop(by, None)
            return waiting[found]
        self._wrong[by] = [*wrong, now]
        self._wrong.move_to_end(by)
        if len(self._wrong) > MOST_GUESSERS:
            self._wrong.popitem(last=False)
        return None

    async def _welcome(self, request: Request) -> None:
        """Tell them, and take in what they have said; they are in, whether that works or not."""
        try:
            await self._outside.tell(request.address, CHAT_IS_IN if request.kind == "chat" else YOU_ARE_IN)
            if (message := request.message) is not None:
                again = f"{LET_IN_PREFIX}{message.platform_id}"
                await self._outside.publish(replace(message, id=MessageId(new_id()), platform_id=again))
        except BotError as error:
            log.error("not told of being let in", extra={"cause": str(error)})

    async def _note(self, actor: str, request: Request, status: str, *, severity: Severity) -> None:
        await self._audit.record(
            AuditEvent(
                severity=severity,
                actor=actor,
                action="pairing",
                target=request.key,
                status=status,
                session=request.address.session(),
            )
        )


def subject_to_let_in(message: InboundMessage) -> tuple[Kind, str]:
    """Who would be let in: the person where they are alone with the bot, else the chat."""
    address = message.address
    if address.is_direct:
        return "user", subject_of(address, message.sender.id)
    return "chat", subject_of(address, address.chat)


def _kept(message: InboundMessage) -> InboundMessage | None:
    """A message that is worth keeping: commands and presses are not, nor are very long ones."""
    is_command = message.text.lstrip()[:1] in ("/", "!")
    is_empty = not message.text.strip() and not message.attachments
    if is_command or is_empty or message.pressed is not None or len(message.text) > KEPT_CHARACTERS:
        return None
    return message


def _readable(name: str) -> str:
    """A name as it can be shown to an admin, in a terminal too."""
    return "".join(sign for sign in name if sign.isprintable())[:MAX_NAME]


def _told(request: Request) -> str:
    text = CHAT_TOLD if request.kind == "chat" else PERSON_TOLD
    return text.format(code=spoken(request.code)) + (KEPT if request.message is not None else "")


def _changes(request: Request, role: Role) -> list[Change]:
    if request.kind == "chat":
        return [("chat", request.subject, ALLOW), (ROLE_IN, request.subject, role.value)]
    return [(ROLE, request.subject, role.value)]
