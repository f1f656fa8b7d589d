"""Who is who, put together: what links people, and the commands for it."""

from collections.abc import Callable, Mapping, Sequence

from bot.agent.audit import Audit
from bot.agent.notebook import Notebook
from bot.app.doors import Doors
from bot.commands.call import Command
from bot.commands.habits import HabitCommands
from bot.commands.people import PeopleCommands
from bot.messages import Address, InboundMessage, Role
from bot.people import Linking
from bot.tools.base import Speaker
from memory.people.book import PeopleBook
from memory.people.sharing import SharedSessions
from memory.rules import Rules
from memory.store import Store
from security.access.people import People as Known
from security.access.rules import ROLE


class Ranks:
    """Fulfils `bot.commands.people.Ranks` on what admins have said."""

    def __init__(self, known: Known, rules: Rules) -> None:
        self._known = known
        self._rules = rules

    def rank(self, message: InboundMessage) -> Role:
        """See the protocol; the next ones, too."""
        return self._known.rank(message)

    def given(self, identity: str) -> Mapping[str, Role]:
        channel, _, id_ = identity.partition(":")
        said = ((subject.split(":", 2), subject, value) for subject, value in self._rules.of(ROLE).items())
        return {
            subject: Role(value) for (one, _, name), subject, value in said if (one, name) == (channel, id_)
        }

    async def assign(self, subject: str, role: Role, *, by: str, rank: Role) -> None:
        await self._known.assign(subject, role, by=by, rank=rank)


class Noting:
    """Fulfils `bot.agent.store.Chats`: notes the chat, and who has spoken there."""

    def __init__(self, notebook: Notebook, people: PeopleBook) -> None:
        self._notebook = notebook
        self._people = people

    async def note(self, message: InboundMessage) -> None:
        """See the protocol."""
        await self._notebook.note(message)
        await self._people.note(message)


def linking_of(
    store: Store,
    audit: Audit,
    *,
    speaker: Callable[[], Speaker],
    on_change: Callable[[Sequence[str]], object],
) -> Linking:
    """What links and unlinks people in a running bot, and tells them."""

    async def tell(address: Address, text: str) -> None:
        await speaker().say(address, address.session(), text)

    sessions = store.sessions
    share = sessions if isinstance(sessions, SharedSessions) else None
    return Linking(store.people, audit, tell=tell, share=share, on_change=on_change)


def people_commands(linking: Linking, store: Store, doors: Doors) -> tuple[Command, ...]:
    """The slash commands."""
    ranks = Ranks(doors.people, store.rules)
    return (
        *PeopleCommands(linking, store.link_codes, ranks).commands(),
        *HabitCommands(linking.people).commands(),
    )
