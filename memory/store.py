"""The store as a whole: one database, and a view of it for each who needs one."""

from pathlib import Path
from types import TracebackType
from typing import Self

from memory.changed import AuditPointer, ChangedSettings
from memory.database import DATABASE, Database, Synchronous
from memory.history import History
from memory.journal import Journal
from memory.ledger import ToolLedger
from memory.outbox import Outbox


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

    async def __aenter__(self) -> Self:
        await self._database.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.__aexit__(kind, error, trace)
