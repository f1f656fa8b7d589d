"""What operators change while the bot runs: read as the settings are read, kept over a restart, audited."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from bot.agent.audit import Audit, AuditEvent
from bot.commands.admin import NAME, PRESENCE, STATES, clean_activity, clean_name, read_presence
from bot.errors import BotError, ConfigError
from bot.messages import Frozen
from bot.settings import Settings, variable_name
from bot.settings.overview import check_setting, choices_of, value_of

log = logging.getLogger(__name__)

LEVEL: Final = "log.level"
ACTION: Final = "setting change"


class Changed(Frozen, frozen=True):
    """A setting that was changed at run time: the text of its value, by whom; `at` in seconds since 1970."""

    name: str
    value: str
    by: str
    at: float


class Book(Protocol):
    """Keeps what was changed over a restart."""

    async def lines(self) -> Sequence[Changed]: ...

    async def change(self, name: str, value: str | None, *, by: str) -> None: ...


class Running(Protocol):
    """The bot that they are changed in."""

    async def rename(self, name: str | None) -> str: ...

    async def set_presence(self, status: str, activity: str | None) -> Sequence[str]: ...

    def set_log_level(self, level: str | None) -> str: ...


class Adjustable(Frozen, frozen=True, kw_only=True):
    """A setting that may change at run time.

    Attributes:
        variable: The environment variable of the setting; empty where there is none.
        configured: What it is without a change.
        choices: All that it can be; empty where it is free text.
    """

    name: str
    variable: str
    configured: str
    choices: tuple[str, ...] = ()
    changed: Changed | None = None

    @property
    def value(self) -> str:
        """What is in force."""
        return self.configured if self.changed is None else self.changed.value


class Knob(msgspec.Struct, frozen=True):
    """How one setting is changed.

    Attributes:
        path: Of the setting that it stands in for; `None` where there is none.
        read: Makes the text that is kept of what was typed; raises `ConfigError`.
        apply: Puts it in force; `None` goes back to the configured one.
    """

    path: str | None
    read: Callable[[str], str]
    apply: Callable[[str | None], Awaitable[object]]
    choices: tuple[str, ...] = ()


class Adjusting:
    """Changes settings of a running bot.

    Args:
        more: Knobs beside the built-in ones, by name.
    """

    def __init__(
        self,
        settings: Settings,
        running: Running,
        *,
        book: Book,
        audit: Audit,
        more: Mapping[str, Knob] | None = None,
    ) -> None:
        self._settings = settings
        self._book = book
        self._audit = audit
        self._knobs = {**_built_in(running), **(more or {})}
        self._one_at_a_time = asyncio.Lock()  # or what is kept would not be what is in force

    async def all(self) -> list[Adjustable]:
        """Every setting that can be changed."""
        changed = {line.name: line for line in await self._book.lines()}
        return [
            Adjustable(
                name=name,
                variable=variable_name(knob.path) if knob.path else "",
                configured=value_of(self._settings, knob.path) if knob.path else "",
                choices=knob.choices,
                changed=changed.get(name),
            )
            for name, knob in self._knobs.items()
        ]

    async def change(self, name: str, typed: str, *, by: str) -> None:
        """Put a value in force, and keep it.

        Raises:
            ConfigError: It is no value for this setting, or there is no such setting.
        """
        knob = self._knob(name)
        value = knob.read(typed)
        async with self._one_at_a_time:
            await knob.apply(value)
            await self._book.change(name, value, by=by)
            await self._note(name, value, by)

    async def undo(self, name: str, *, by: str) -> None:
        """Go back to what is configured.

        Raises:
            ConfigError: There is no such setting.
        """
        knob = self._knob(name)
        async with self._one_at_a_time:
            await knob.apply(None)
            await self._book.change(name, None, by=by)
            await self._note(name, "as configured", by)

    async def restore(self, changed: Mapping[str, str]) -> None:
        """Put in force what was changed before a restart; a value that is none any more is left out.

        Platforms are told of the presence when they are opened.
        """
        for name, value in changed.items():
            knob = self._knobs.get(name)
            if knob is None or name == PRESENCE:
                continue
            try:
                await knob.apply(knob.read(value))
            except BotError as error:
                log.warning("changed setting not used", extra={"setting": name, "cause": str(error)})

    def _knob(self, name: str) -> Knob:
        if name not in self._knobs:
            raise ConfigError(f"{name!r} can't be changed while the bot runs: {', '.join(self._knobs)} can")
        return self._knobs[name]

    async def _note(self, name: str, value: str, by: str) -> None:
        event = AuditEvent(
            severity="warning",
            actor=by,
            action=ACTION,
            target=name,
            status="done",
            context=(("value", value),),
        )
        await self._audit.record(event)


def setting_knob(path: str, apply: Callable[[str | None], Awaitable[object]]) -> Knob:
    """A knob for a setting, which checks what is typed and knows what it can be."""

    def read(typed: str) -> str:
        check_setting(path, typed)
        return typed

    return Knob(path, read, apply, choices_of(path))


def _built_in(running: Running) -> dict[str, Knob]:
    async def show(kept: str | None) -> None:
        await running.set_presence(*read_presence(kept or STATES[0]))

    async def set_level(level: str | None) -> None:
        running.set_log_level(level)

    return {
        NAME: Knob("name", _read_name, running.rename),
        PRESENCE: Knob(None, _read_presence, show),
        LEVEL: setting_knob(LEVEL, set_level),
    }


def _read_name(typed: str) -> str:
    name = clean_name(typed)
    check_setting("name", name)
    return name


def _read_presence(typed: str) -> str:
    """A status, and behind it what the bot is doing."""
    status, _, activity = typed.strip().partition(" ")
    if status not in STATES:
        raise ConfigError(f"{status!r} is no status: there are {', '.join(STATES)}")
    return f"{status} {clean_activity(activity)}".rstrip()
