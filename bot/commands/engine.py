"""What commands need of the running bot; `bot/app.py` fulfils it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bot.messages import Address, Frozen, RunId, SessionKey


class Activity(Frozen, frozen=True, kw_only=True):
    """What goes on in a session, commands aside.

    Attributes:
        stage: Of the turn that is being done; `None` where none is.
        seconds: How long it has been done.
        waiting: Messages behind it.
    """

    stage: str | None = None
    seconds: float = 0.0
    waiting: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether something is being answered, or about to be."""
        return self.stage is not None or self.waiting > 0


class ChannelState(Frozen, frozen=True, kw_only=True):
    """How the connection to a platform is doing; `cause` says why there is none."""

    channel: str
    account: str = "default"
    is_connected: bool = True
    last_event_at: datetime | None = None
    cause: str | None = None


class Engine(Protocol):
    """The running bot, looked at."""

    @property
    def name(self) -> str:
        """What it is called at this moment."""

    @property
    def model(self) -> str:
        """What answers a session that has chosen no model."""

    @property
    def backend(self) -> str:
        """The same for backends."""

    @property
    def uptime(self) -> float:
        """Seconds since it started."""

    @property
    def running(self) -> int:
        """Turns that are being done, of all sessions."""

    def activity(self, session: SessionKey) -> Activity:
        """What goes on in one session."""

    def channels(self) -> Sequence[ChannelState]:
        """Every channel that is on."""


class Unfinished(Protocol):
    """An accepted message that is not done; `accepted_at` in seconds since 1970."""

    @property
    def run(self) -> RunId: ...

    @property
    def session(self) -> SessionKey: ...

    @property
    def state(self) -> str: ...

    @property
    def attempts(self) -> int: ...

    @property
    def accepted_at(self) -> float: ...


class Operations(Protocol):
    """What can be done to the running bot; each raises a `BotError` that says why it could not."""

    async def rename(self, name: str | None) -> str:
        """Go by another name from now on, or by the one of the settings; gives the name in force."""

    async def set_presence(self, status: str, activity: str | None) -> Sequence[str]:
        """Show how the bot is doing on every platform that can; gives the channels that show it."""

    async def reload(self) -> Sequence[str]:
        """Read the settings again; gives a line for each that is new in force."""

    def restart(self) -> None:
        """Shut down in order and start again, once the turn that asks for it is saved."""

    async def broadcast(self, text: str, addresses: Sequence[Address]) -> int:
        """Put a message into the outbox for many chats; gives for how many."""

    async def unfinished(self) -> Sequence[Unfinished]:
        """Accepted messages that are not done, oldest first."""

    async def retry(self, run: RunId) -> None:
        """Run a parked message again."""
