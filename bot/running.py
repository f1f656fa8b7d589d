"""The running bot, as commands and operators look at it and steer it."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from bot.agent.loop import AgentLoop
from bot.agent.prompt import PromptBuilder
from bot.agent.store import Pending
from bot.bus import Bus
from bot.commands.engine import Activity, ChannelState, Unfinished
from bot.messages import Address, End, RunId, SessionKey
from bot.settings import Settings, load_settings

log = logging.getLogger(__name__)


class Platforms(Protocol):
    """The accounts on the platforms."""

    def states(self) -> Sequence[ChannelState]: ...

    async def set_presence(self, status: str, activity: str | None) -> list[str]: ...


class Outbox(Protocol):
    """Takes announcements."""

    async def announce(self, addresses: list[Address], text: str) -> list[End]: ...


class Journal(Protocol):
    """Knows what is not done."""

    async def unfinished(self) -> Sequence[Unfinished]: ...

    async def retry(self, run: RunId) -> Pending: ...


class Named(Protocol):
    """Shows the bot's name to people."""

    bot_name: str


class RunningBot:
    """Fulfils `Engine` and `Operations` of `bot.commands.engine`.

    Attributes:
        admins: Who may steer the bot, as `channel:id`; a live set that `reload` changes.
        loop, platforms, prompts: Set by whoever wires the bot, before the first message comes.
    """

    loop: AgentLoop
    platforms: Platforms
    prompts: PromptBuilder

    def __init__(
        self,
        settings: Settings,
        *,
        model: str,
        bus: Bus,
        outbox: Outbox,
        journal: Journal,
        on_restart: Callable[[], None],
        live_channels: Iterable[str],
        redact: Callable[[str], str] = str,
    ) -> None:
        self._redact = redact
        self._settings = settings
        self._bus = bus
        self._outbox = outbox
        self._journal = journal
        self._on_restart = on_restart
        self._live_channels = frozenset(live_channels)
        self._started_at = time.time()
        self._name = settings.name
        self.admins = set(settings.admins)
        self.named: list[Named] = []
        self.model = model
        self.backend = settings.backend

    # --- looked at

    @property
    def name(self) -> str:
        """What it is called at this moment."""
        return self._name

    def names(self) -> tuple[str, ...]:
        """What people may call it."""
        return tuple(dict.fromkeys((self._name, self._settings.name)))

    @property
    def uptime(self) -> float:
        """Seconds since it started."""
        return time.time() - self._started_at

    @property
    def running(self) -> int:
        """Turns that are being done, of all sessions."""
        return len(self.loop.running())

    def activity(self, session: SessionKey) -> Activity:
        """What goes on in one session."""
        turn, waiting = self.loop.activity(session)
        if turn is None:
            return Activity(waiting=waiting)
        return Activity(stage=turn.stage, seconds=turn.seconds, waiting=waiting)

    def channels(self) -> Sequence[ChannelState]:
        """Every channel that is on."""
        live = [ChannelState(channel=name) for name in sorted(self._live_channels)]
        return [*live, *self.platforms.states()]

    # --- steered

    async def rename(self, name: str | None) -> str:
        """Go by another name from now on, or by the one of the settings; gives the name in force."""
        self._name = name or self._settings.name
        self.loop.rename(self._name)
        self.prompts.rename(self._name)
        for shown in self.named:
            shown.bot_name = self._name
        return self._name

    async def set_presence(self, status: str, activity: str | None) -> Sequence[str]:
        """Show how the bot is doing on every platform that can; gives the channels that show it."""
        return await self.platforms.set_presence(status, activity)

    def set_log_level(self, level: str | None) -> str:
        """Log from this level on, or from the one of the settings; gives the one in force."""
        in_force = level or self._settings.log.level
        logging.getLogger().setLevel(in_force)
        return in_force

    async def reload(self) -> Sequence[str]:
        """Read the settings again; admins and log level change at once, the rest at the next start.

        Raises:
            ConfigError: They can't be used; the old ones stay in force.
        """
        fresh, old = load_settings(), self._settings
        lines = []
        if fresh.admins != old.admins:
            self.admins.clear()
            self.admins.update(fresh.admins)
            lines.append(f"admins: {', '.join(fresh.admins) or 'nobody'}")
        if fresh.log.level != old.log.level:
            logging.getLogger().setLevel(fresh.log.level)
            lines.append(f"log level: {fresh.log.level}")
        changed = [name for name in Settings.model_fields if getattr(fresh, name) != getattr(old, name)]
        kept_log = old.log.model_copy(update={"level": fresh.log.level})
        at_once = {"admins", "log"} if fresh.log == kept_log else {"admins"}
        later = sorted(set(changed) - at_once)
        if later:
            lines.append(f"at the next start: {', '.join(later)}")
        kept = {name: getattr(old, name) for name in later} | {"log": kept_log}
        self._settings = fresh.model_copy(update=kept)
        return lines

    def restart(self) -> None:
        """Shut down in order and start again, once the turn that asks for it is saved."""
        self._on_restart()

    async def broadcast(self, text: str, addresses: Sequence[Address]) -> int:
        """Put a message into the outbox for many chats; gives for how many.

        The page and the terminal show what is in the history, which has no line for it: they get none.
        """
        told = [address for address in addresses if address.channel not in self._live_channels]
        for end in await self._outbox.announce(told, self._redact(text)):
            self._bus.send(end)
        return len(told)

    async def unfinished(self) -> Sequence[Unfinished]:
        """Accepted messages that are not done, oldest first."""
        return await self._journal.unfinished()

    async def retry(self, run: RunId) -> None:
        """Run a parked message again.

        Raises:
            StoreError: No parked message has this id.
        """
        self.loop.retry(await self._journal.retry(run))
