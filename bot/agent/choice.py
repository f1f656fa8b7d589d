"""What a session has chosen to be answered by."""

from typing import Protocol

from bot.messages import Frozen, SessionKey


class Choice(Frozen, frozen=True, kw_only=True):
    """A model and a backend by name; `None` leaves it to the settings."""

    model: str | None = None
    backend: str | None = None


NO_CHOICE = Choice()


class SessionSettings(Protocol):
    """Knows what each session has chosen; `memory/choices.py` fulfils it."""

    def of(self, session: SessionKey) -> Choice:
        """The choice of a session, from memory."""


class NoChoices:
    """Leaves everything to the settings."""

    def of(self, session: SessionKey) -> Choice:
        """The same for every session."""
        return NO_CHOICE


NO_CHOICES = NoChoices()
