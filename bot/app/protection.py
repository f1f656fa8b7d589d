"""What stands between people and what is read on one side, and what the bot can do on the other."""

from collections.abc import Callable

from msgspec.structs import replace

from bot.agent.seams import Redactor, Seams
from bot.app.doors import Doors
from bot.app.guards import guards_of
from bot.app.parts import input_guard_of, redactor_of
from bot.app.taint import taint_guards
from bot.commands.release import Blocked
from bot.settings import Settings
from bot.tools.approval import Suspicion
from bot.tools.base import Gate
from memory.store import Store
from security.audit import AuditLog, note_hidden
from security.injection import LazyScanner


class Protection:
    """The guards of a bot, made together.

    Args:
        redactor: One of the caller's own, for all that goes out.

    Attributes:
        redactor: Hides what must not be shown, in all that goes out.
        taint: What keeps a turn from acting on what it has read.
    """

    def __init__(
        self, settings: Settings, store: Store, audit: AuditLog, *, redactor: Redactor | None = None
    ) -> None:
        self._settings = settings
        self._store = store
        self._audit = audit
        self.redactor = redactor or redactor_of(
            settings, settings.redaction.outbound, on_hidden=note_hidden(audit, "outbound")
        )
        self._scanner = LazyScanner.of(settings.injection)
        self.taint = taint_guards(settings, store.taints, self._scanner, audit)

    def watch(self, doors: Doors, *, on_blocked: Callable[[Blocked], None]) -> None:
        """Set the Guardian up, once it is known who may do what; before messages come."""
        self._doors = doors
        self._guards = guards_of(
            self._settings,
            self._store.blocked,
            self._scanner,
            audit=self._audit,
            is_admin=doors.is_admin,
            on_blocked=on_blocked,
        )

    @property
    def checks(self) -> tuple[Gate, ...]:
        """What looks at a tool call before anybody is asked about it."""
        return (*self.taint.checks, self._guards.commands, self._guards.sends)

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """What may want a tool call to be asked about."""
        return (self._guards.commands, *self.taint.suspicions)

    def join(self, seams: Seams) -> Seams:
        """Put the guards into the turn, where the caller has none of his own."""
        doors, guards = self._doors, self._guards
        return replace(
            seams,
            is_operator=doors.is_operator,
            access=seams.access or doors.access,
            rate_limit=seams.rate_limit or doors.rates,
            guardian=seams.guardian or guards.messages,
            overheard=seams.overheard or guards.messages,
            answers=seams.answers or guards.answers,
            redactor=self.redactor,
            input_guard=seams.input_guard or input_guard_of(self._settings),
        )

    async def aclose(self) -> None:
        """Let go of what the Guardian holds."""
        await self._guards.guardian.aclose()
