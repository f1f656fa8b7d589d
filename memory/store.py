"""The store as a whole: one database, and a view of it for each who needs one."""

from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memory.api_keys import ApiKeys
from memory.blocked import BlockedMessages
from memory.changed import AuditPointer, ChangedSettings
from memory.chats import Chats
from memory.choices import Choices
from memory.database import DATABASE, Database, Synchronous
from memory.history import History
from memory.inbox.book import Inbox
from memory.journal import Journal
from memory.ledger import ToolLedger
from memory.outbox import Outbox
from memory.pairings import Pairings
from memory.people.book import PeopleBook
from memory.people.codes import LinkCodes
from memory.people.sharing import SharedSessions
from memory.people.usage import SharedUsage
from memory.recall import Recall
from memory.rules import Rules
from memory.runs import Runs
from memory.schedules import Schedules
from memory.sessions import Sessions
from memory.state import State
from memory.summaries import Summaries
from memory.taints import Taints
from memory.webhooks import WebhookBook

if TYPE_CHECKING:
    from memory.secrets import SecretStore


class Store:
    """Opens the database of a data directory, and closes it when all is written.

    Args:
        share_sessions: The direct chats of a person who is linked go on in one session.
    """

    def __init__(
        self, home: Path, *, synchronous: Synchronous = "FULL", share_sessions: bool = False
    ) -> None:
        self._database = Database(home / DATABASE, synchronous=synchronous)
        self.journal = Journal(self._database)
        self.history = History(self._database)
        self.outbox = Outbox(self._database)
        self.ledger = ToolLedger(self._database)
        self.changed_settings = ChangedSettings(self._database)
        self.audit_pointer = AuditPointer(self._database)
        self.choices = Choices(self._database)
        made = SharedSessions if share_sessions else Sessions
        self.sessions = made(self._database, self.choices)
        self.people = PeopleBook(self._database)
        self.link_codes = LinkCodes(self._database)
        self.usage = SharedUsage(self._database, self.people)
        self.rules = Rules(self._database)
        self.blocked = BlockedMessages(self._database)
        self.pairings = Pairings(self._database)
        self.chats = Chats(self._database)
        self.summaries = Summaries(self._database)
        self.recall = Recall(self._database)
        self.inbox = Inbox(self._database, self.recall)
        self.schedules = Schedules(self._database)
        self.taints = Taints(self._database)
        self.api_keys = ApiKeys(self._database)
        self.runs = Runs(self._database)
        self.webhooks = WebhookBook(self._database)
        self._home = home

    async def __aenter__(self) -> Self:
        await self._database.__aenter__()
        try:
            await self.choices.load()
            await self.rules.load()
            await self.taints.load()
            await self.people.load()
        except BaseException:
            await self._database.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.__aexit__(kind, error, trace)

    def secrets(self, *, key: str | None) -> "SecretStore":
        """The stored secrets; loads encryption, for which most have no use.

        Args:
            key: See `SecretStore`.
        """
        made: SecretStore = import_module("memory.secrets").SecretStore(self._database, self._home, key=key)
        return made

    @property
    def database(self) -> Database:
        """The file itself, for what is kept there by others."""
        return self._database

    def state(self, channel: str, account: str) -> State:
        """What the adapter of one account keeps over a restart."""
        return State(self._database, f"{channel}:{account}")
