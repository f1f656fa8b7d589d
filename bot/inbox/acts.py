"""Who may do what in the inbox, and the record of it."""

from collections.abc import Callable, Sequence

from bot.agent.audit import Audit, AuditEvent, Severity, Value
from bot.inbox.base import InboxError, Operator
from bot.messages import Role, SessionKey

LOOKS_ONLY = "Only owners and admins may do that; you can look."


class Acts:
    """Lets those steer who may, writes down what they do, and tells whoever looks on."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._watchers: list[Callable[[], None]] = []

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have something called after each act, until what this gives is called."""
        self._watchers.append(changed)

        def end() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)

        return end

    def tell(self) -> None:
        """Something has changed; whoever looks on hears of it."""
        for changed in tuple(self._watchers):
            changed()

    def allow(self, by: Operator) -> None:
        """See to it that somebody may steer.

        Raises:
            InboxError: They may not.
        """
        if by.role not in (Role.OWNER, Role.ADMIN):
            raise InboxError(LOOKS_ONLY)

    async def note(
        self,
        by: Operator,
        action: str,
        target: str,
        *,
        status: str = "done",
        severity: Severity = "info",
        session: SessionKey | None = None,
        context: Sequence[tuple[str, Value]] = (),
    ) -> None:
        """Write an act down; never with the text of a message."""
        await self._audit.record(
            AuditEvent(
                severity=severity,
                actor=by.actor,
                action=f"inbox {action}",
                target=target,
                status=status,
                session=session,
                context=tuple(context),
            )
        )
        self.tell()
