"""Who may speak, put together: what opens the doors, and who may open them."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from bot.agent.audit import Audit
from bot.agent.control import is_admin, is_operator
from bot.bus import Bus
from bot.commands.call import Command
from bot.commands.pairing import LetIn, PairingCommands, Request, ask_about
from bot.errors import BotError
from bot.messages import Address, InboundMessage, Role
from bot.running import RunningBot
from bot.settings.access import AccessSettings
from bot.tools.base import Speaker
from memory.store import Store
from security.access import Access, Lists, Outside, Pairing, People, RateLimits, Roles, Steering

AT_THE_PAGE = "web:owner"
NO_SUCH = "nobody waits with that code: it is wrong, or it has expired"


class Commands(Protocol):
    """The slash commands, once they are there."""

    def matches(self, text: str) -> bool: ...


@dataclass(slots=True)
class Doors:
    """Fulfils `bot.agent.control.People`.

    Attributes:
        steering: Who may steer the bot as a whole.
        commands: Set by whoever wires the bot, before the first message comes.
    """

    access: Access
    rates: RateLimits
    people: People
    pairing: Pairing
    steering: Steering
    commands: Commands | None = None

    @classmethod
    def of(
        cls,
        settings: AccessSettings,
        store: Store,
        *,
        admins: Collection[str],
        audit: Audit,
        outside: Outside,
    ) -> Self:
        """Make all of it.

        Args:
            admins: Who is named in the settings; a live set.
        """
        rules, steering = store.rules, Steering(admins, store.rules)
        roles = Roles(rules, lists=Lists(rules, settings.allow), settings=settings, admins=admins)
        pairing = Pairing(
            store.pairings, rules, roles, outside, audit=audit, max_pending=settings.max_pending
        )

        def steers(message: InboundMessage) -> bool:
            return is_operator(message, steering)

        def is_command(text: str) -> bool:
            return doors.commands is not None and doors.commands.matches(text)

        access = Access(
            rules,
            is_admin=steers,
            audit=audit,
            settings=settings,
            roles=roles,
            greeter=pairing,
            is_command=is_command,
        )
        rates = RateLimits(settings.rates, is_admin=steers, audit=audit)
        doors = cls(access, rates, People(rules, roles), pairing, steering)
        return doors

    def known_as(self, message: InboundMessage) -> InboundMessage:
        """See the protocol."""
        return self.access.known_as(message)

    def may_speak(self, message: InboundMessage) -> bool:
        """See the protocol."""
        return self.access.may_speak(message)

    def is_admin(self, message: InboundMessage) -> bool:
        """Whether somebody may steer what is not theirs."""
        return is_admin(message, self.steering)

    def is_operator(self, message: InboundMessage) -> bool:
        """Whether somebody may steer the bot as a whole."""
        return is_operator(message, self.steering)

    def slash_commands(self) -> tuple[Command, ...]:
        """Those that open the doors."""
        return PairingCommands(self.pairing, self.people).commands()

    async def waiting(self) -> Sequence[Request]:
        """Who waits to be let in."""
        return await self.pairing.waiting()

    async def let_in(
        self, code: str, role: Role | None = None, *, by: str = AT_THE_PAGE, rank: Role = Role.OWNER
    ) -> LetIn:
        """Let somebody in; without `by`, for the owner at the terminal or the page.

        Raises:
            BotError: Nobody waits with this code, or whoever is of this rank may not give the role.
        """
        is_owner = rank is Role.OWNER
        done = await self.pairing.let_in(code, role=role, by=by, rank=rank, is_owner=is_owner)
        if done is None:
            raise BotError(NO_SUCH)
        return done

    async def turn_away(self, code: str, *, by: str) -> Request:
        """Hear nothing of somebody for a day.

        Raises:
            BotError: Nobody waits with this code.
        """
        request = await self.pairing.turn_away(code, by=by)
        if request is None:
            raise BotError(NO_SUCH)
        return request


def outside_of(
    bot: RunningBot,
    bus: Bus,
    *,
    admin_chats: Callable[[], Awaitable[Sequence[Address]]],
    speaker: Callable[[], Speaker],
) -> Outside:
    """What letting people in does in a running bot: admins are asked in their own chats, with buttons."""

    async def tell(address: Address, text: str) -> None:
        await bot.broadcast(text, [address])

    async def ask_admins(request: Request) -> None:
        text, buttons = ask_about(request)
        for address in await admin_chats():
            await speaker().say(address, address.session(), text, buttons=buttons)

    return Outside(tell=tell, publish=bus.publish, ask_admins=ask_admins)
