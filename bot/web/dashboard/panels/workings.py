"""What the panels need of the bot beside what the API has; loads nothing that is heavy."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from bot.adjusting import Adjusting
from bot.agent.spending import Spending
from bot.agent.store import Undelivered
from bot.commands.engine import ChannelState, Unfinished
from bot.commands.pairing import LetIn, Request
from bot.commands.release import Releases
from bot.commands.usage import Used
from bot.log_tail import LogTail
from bot.messages import End, Role, RunId
from bot.metrics import Depths, RateWait
from bot.plugins import Plugin
from bot.settings.overview import SettingLine
from bot.web.dashboard.panels.audit_desk import AuditDesk


class Journal(Protocol):
    """Accepted messages that are not done."""

    async def unfinished(self) -> Sequence[Unfinished]:
        """The oldest first."""

    async def retry(self, run: RunId) -> None:
        """Run a parked one again; `StoreError` where none has this id."""


class Outbox(Protocol):
    """Answers that no platform has confirmed; stuck are those that nobody tries any more."""

    async def undelivered(self, *, limit: int) -> Sequence[Undelivered]:
        """The newest of them, those that were given up included."""

    async def revive(self, run: RunId, *, tries: int) -> End | None:
        """Have a stuck one wait again, which is to be published; `None` where it is not stuck."""

    async def drop(self, run: RunId, *, tries: int) -> bool:
        """Forget a stuck one; False where it is not."""


class Doors(Protocol):
    """Where people are let in; what can't be done is a `BotError`."""

    async def waiting(self) -> Sequence[Request]: ...

    async def let_in(self, code: str, role: Role | None = None, *, by: str, rank: Role) -> LetIn: ...

    async def turn_away(self, code: str, *, by: str) -> Request: ...


class Usage(Protocol):
    """Adds up model calls from a day on, which is written as `2031-05-17`."""

    async def by_model(self, *, since: str) -> Sequence[Used]: ...

    async def by_person(self, *, since: str, limit: int) -> Sequence[Used]: ...

    async def by_channel(self, *, since: str) -> Sequence[Used]: ...

    async def by_day(self, *, since: str, limit: int) -> Sequence[Used]: ...


class Workings(msgspec.Struct, frozen=True, kw_only=True):
    """Filled where the bot is put together.

    Attributes:
        max_tries: So many failures make an answer of the outbox stuck.
        settings: Every setting, its secrets hidden.
    """

    channels: Callable[[], Sequence[ChannelState]]
    waits: Callable[[], Sequence[RateWait]]
    depths: Depths
    journal: Journal
    outbox: Outbox
    max_tries: int
    audit: AuditDesk
    doors: Doors
    releases: Releases
    plugins: Sequence[Plugin]
    usage: Usage
    spending: Spending
    adjusting: Adjusting
    settings: Callable[[], Sequence[SettingLine]]
    logs: LogTail

    async def aclose(self) -> None:
        """Let go of the audit log and of the logs."""
        self.logs.close()
        await self.audit.aclose()
