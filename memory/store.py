"""The store as a whole: one database, and a view of it for each who needs one."""

from pathlib import Path
from types import TracebackType
from typing import Self

from memory.blocked import BlockedMessages
from memory.changed import AuditPointer, ChangedSettings
from memory.chats import Chats
from memory.choices import Choices
from memory.database import DATABASE, Database, Synchronous
from memory.history import History
from memory.journal import Journal
from memory.ledger import ToolLedger
from memory.outbox import Outbox
from memory.pairings import Pairings
from memory.recall import Recall
from memory.rules import Rules
from memory.schedules import Schedules
from memory.sessions import Sessions
from memory.state import State
from memory.summaries import Summaries
from memory.taints import Taints
from memory.usage import Usage


class Store:
    """Opens the database of a data directory, and closes it when all is written."""

    def __init__(self, home: Path, *, synchronous: Synchronous = "FULL") -> None:
        self._database = Database(home / DATABASE, synchronous=synchronous)
        self.journal = Journal(self._database)
        self.history = History(self._database)
        self.outbox = Outbox(self._database)
        self.ledger = ToolLedger(self._database)
        self.changed_settings = ChangedSettings(self._database)
        self.audit_pointer = AuditPointer(self._database)
        self.choices = Choices(self._database)
        self.sessions = Sessions(self._database, self.choices)
        self.usage = Usage(self._database)
        self.rules = Rules(self._database)
        self.blocked = BlockedMessages(self._database)
        self.pairings = Pairings(self._database)
        self.chats = Chats(self._database)
        self.summaries = Summaries(self._database)
        self.recall = Recall(self._database)
        self.schedules = Schedules(self._database)
        self.taints = Taints(self._database)

    async def __aenter__(self) -> Self:
        await self._database.__aenter__()
        try:
            await self.choices.load()
            await self.rules.load()
            await self.taints.load()
        except BaseException:
            await self._database.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.__aexit__(kind, error, trace)

    def state(self, channel: str, account: str) -> State:
        """What the adapter of one account keeps over a restart."""
        return State(self._database, f"{channel}:{account}")
