"""`/blocked` and `/release`: what the safety check has held back, for admins to decide about."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from msgspec.structs import replace

from bot.agent.audit import Audit, AuditEvent
from bot.bus import Receipt
from bot.commands.call import Answer, Call, Command, refuse
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import ago, code, plain
from bot.errors import StoreError
from bot.messages import Address, Button, Frozen, InboundMessage, MessageId, RunId, SessionKey, new_id

log = logging.getLogger(__name__)

SHOWN = 20  # messages in a list
OFFERED = 5  # of them with buttons
BEGINNING = 120  # characters of each
NOTHING = "No message is held back."
RELEASED = "An admin has released your message."
GONE = "There is no blocked message {reference} that you may decide about; `/blocked` lists them."
REPEATED = "{reference} was released already."
FULL = "{reference} can't run now: too much is waiting in its chat. Try again later."

State: TypeAlias = Literal["blocked", "released"]
Publish: TypeAlias = Callable[[InboundMessage], Awaitable[Receipt]]
Tell: TypeAlias = Callable[[Address, SessionKey, str], Awaitable[object]]


class Blocked(Frozen, frozen=True, kw_only=True):
    """A message that was held back.

    Attributes:
        level: As the check has graded it: `HIGH`, `CRITICAL`.
        reasons: Names of what was found, the weightiest first.
        released: The run under which it runs again.
    """

    reference: str
    message: InboundMessage
    level: str
    reasons: tuple[str, ...]
    at: datetime
    state: State = "blocked"
    released: RunId | None = None


class Shelf(Protocol):
    """Keeps blocked messages for a while; `memory/blocked.py` fulfils it."""

    async def waiting(self, *, limit: int, within: str = "") -> Sequence[Blocked]:
        """Those that nobody has decided about, newest first; only of sessions that begin with `within`."""

    async def find(self, reference: str) -> Blocked | None:
        """The one with this reference, whatever has become of it."""

    async def release(self, reference: str, run: RunId) -> Blocked | None:
        """Let it run, under the first run that was ever named for it; `None` if it is gone."""

    async def drop(self, reference: str) -> bool:
        """Forget it; False if there is none that waits."""


class Releases:
    """Decides about blocked messages; what is not within a reach, the beginning of a session, is not there.

    Args:
        publish: Takes a message as one that has just come.
        tell: Says something in a chat.
    """

    def __init__(self, shelf: Shelf, *, publish: Publish, tell: Tell, audit: Audit) -> None:
        self._shelf = shelf
        self._publish = publish
        self._tell = tell
        self._audit = audit

    async def waiting(self, *, limit: int, within: str = "") -> Sequence[Blocked]:
        """Those that nobody has decided about, newest first."""
        return await self._shelf.waiting(limit=limit, within=within)

    async def release(self, reference: str, *, by: str, within: str = "") -> Receipt | None:
        """Let a message run as if it had just come; it runs once at most. `None` where there is none."""
        found = await self._find(reference, within)
        if found is not None:
            found = await self._shelf.release(reference, RunId(new_id()))
        if found is None or found.released is None:
            return None
        # Published at every release of it: had the process died before, it would be lost. The dedupe key
        # sees to it that it runs once.
        message = replace(
            found.message, id=MessageId(found.released), platform_id=f"release:{found.reference}"
        )
        receipt = await self._publish(message)
        if receipt is Receipt.ACCEPTED:
            await self._note(by, found, "released")
            await self._inform(message)
        return receipt

    async def drop(self, reference: str, *, by: str, within: str = "") -> bool:
        """Forget a message; False where there is none that waits."""
        found = await self._find(reference, within)
        if found is None or not await self._shelf.drop(reference):
            return False
        await self._note(by, found, "dropped")
        return True

    async def _find(self, reference: str, within: str) -> Blocked | None:
        found = await self._shelf.find(reference)
        if found is None or not f"{found.message.address.session()}:".startswith(within):
            return None
        return found

    async def _inform(self, message: InboundMessage) -> None:
        try:
            await self._tell(message.address, message.session, RELEASED)
        except StoreError as error:  # the message runs, and its answer comes
            log.warning("sender not told of a release", extra={"cause": str(error)})

    async def _note(self, actor: str, blocked: Blocked, status: str) -> None:
        await self._audit.record(
            AuditEvent(
                severity="warning",
                actor=actor,
                action="guardian release",
                target=blocked.reference,
                status=status,
                session=blocked.message.session,
                run=blocked.message.run,
                context=(("level", blocked.level), ("sender", blocked.message.sender.id)),
            )
        )


class ReleaseCommands:
    """The handlers.

    An admin of one group decides about the channel and the account it is on, and about no other.
    """

    def __init__(self, releases: Releases) -> None:
        self._releases = releases

    async def blocked(self, call: Call) -> Answer:
        """`/blocked`, `/blocked drop <reference>`."""
        if call.word("action") == "drop":
            return await self._drop(call)
        waiting = await self._releases.waiting(limit=SHOWN + 1, within=_reach(call))
        if not waiting:
            return Answer(text=NOTHING)
        lines = [_line(one) for one in waiting[:SHOWN]]
        if len(waiting) > SHOWN:
            lines.append("… and older ones")
        return Answer(
            text="\n".join(["**Blocked messages**", *lines, "`/release <reference>` lets one run."]),
            buttons=tuple(button for one in waiting[:OFFERED] for button in _buttons(one.reference)),
        )

    async def release(self, call: Call) -> Answer:
        """`/release <reference>`."""
        reference = call.word("reference")
        match await self._releases.release(reference, by=call.actor, within=_reach(call)):
            case None:
                return refuse(GONE.format(reference=code(reference)))
            case Receipt.DUPLICATE:
                return Answer(text=REPEATED.format(reference=code(reference)), target=reference)
            case Receipt.REFUSED:
                return refuse(FULL.format(reference=code(reference)))
            case Receipt.ACCEPTED:
                return Answer(text=f"{code(reference)} is released.", target=reference)

    async def _drop(self, call: Call) -> Answer:
        reference = call.word("reference")
        if not reference:
            return refuse("Which one? `/blocked drop <reference>`")
        if not await self._releases.drop(reference, by=call.actor, within=_reach(call)):
            return refuse(GONE.format(reference=code(reference)))
        return Answer(text=f"{code(reference)} is dropped.", target=reference)

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        which = Argument(name="reference", help="Its eight signs")
        action = Argument(name="action", help="Forget one for good", choices=("list", "drop"))
        listing = CommandSpec(
            name="blocked",
            help="Show the messages that the safety check has blocked",
            arguments=(action, which),
            is_admin=True,
            native="blocked",
        )
        releasing = CommandSpec(
            name="release",
            help="Let a blocked message run",
            arguments=(replace(which, is_required=True),),
            is_admin=True,
            native="release",
        )
        return (Command(listing, self.blocked), Command(releasing, self.release))


def _reach(call: Call) -> str:
    """How the sessions begin that an admin may decide about."""
    address = call.message.address
    return "" if call.is_operator else f"{address.channel}:{address.account}:"


def _line(one: Blocked) -> str:
    sender, reasons = one.message.sender, ", ".join(one.reasons) or "no reason"
    return (
        f"- {code(one.reference)} {ago(one.at.timestamp())}, {plain(sender.name or sender.id)}"
        f" in {code(one.message.session)}: {one.level} ({plain(reasons)}):"
        f" {plain(one.message.text, BEGINNING)}"
    )


def _buttons(reference: str) -> tuple[Button, Button]:
    return (
        Button(label=f"Release {reference}", value=f"/release {reference}"),
        Button(label=f"Drop {reference}", value=f"/blocked drop {reference}", style="danger"),
    )
