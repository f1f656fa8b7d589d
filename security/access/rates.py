"""How much people may say: rates of persons, chats and channels, and the size of a message."""

import asyncio
import math
import time
from collections.abc import Callable
from importlib import import_module
from typing import Final, Protocol, TypeAlias

from bot.agent.audit import Audit, AuditEvent
from bot.agent.seams import Refusal
from bot.messages import BY_ITSELF, InboundMessage
from bot.settings.access import RatesSettings
from security.access.memory import Lately
from security.access.modes import OWN
from security.access.rules import Clock, IsAdmin, subject_of

TOLD_SECONDS: Final = 3_600.0  # after which somebody who never paused is told again
REFUSALS: Final = 2  # times a rate: with what was answered, three times as much makes a flood
MEGABYTE: Final = 1_000_000
SILENCE: Final = Refusal(text="")

TOO_FAST: Final = "That was faster than I may answer. Please go on in {seconds} s; until then I pass it over."
TOO_BUSY: Final = (
    "More is being said here than I can answer. Please go on in {seconds} s; until then I pass it over."
)
TOO_LONG: Final = "Your message has {count:,} characters; {most:,} are the most. Please send it in parts."
TOO_MANY_FILES: Final = "{count} files came with your message; {most} are the most."
TOO_BIG: Final = "The files of your message have {count:,.0f} MB together; {most} MB are the most."

Scope: TypeAlias = str  # person, chat, channel


class Window(Protocol):
    """A rate that holds for each name; `security.access.windows` has it."""

    def takes(self, name: str) -> bool:
        """Count one more, unless it is too many."""

    def wait(self, name: str) -> float:
        """Seconds until there is room for one more."""


class RateLimits:
    """Fulfils `bot.agent.seams.Check`; whoever goes too far is told once, until they have paused.

    The library is loaded by the first message that is counted: most bots of one person never need it.

    Args:
        is_admin: Who is not limited.
    """

    def __init__(
        self, settings: RatesSettings, *, is_admin: IsAdmin, audit: Audit, clock: Clock = time.monotonic
    ) -> None:
        self._settings = settings
        self._is_admin = is_admin
        self._audit = audit
        self._clock = clock
        self._windows: dict[Scope, Window] = {}
        self._told = Lately(TOLD_SECONDS, clock=clock)
        self._flooding = Lately(settings.flood_silence, clock=clock)

    async def __call__(self, message: InboundMessage) -> Refusal | None:
        """Refuse what is too much."""
        is_own = message.trigger in BY_ITSELF or message.address.channel in OWN
        if is_own or self._is_admin(message):
            return None
        if (fault := self._size_fault(message)) is not None:
            return Refusal(text=fault)
        windows = self._windows or await self._load()
        address = message.address
        person = subject_of(address, message.sender.id)
        if self._flooding.is_remembered(person):
            return SILENCE
        for scope, name in (
            ("person", person),
            ("chat", subject_of(address, address.chat)),
            ("channel", f"{address.channel}:{address.account}"),
        ):
            if not windows[scope].takes(name):
                return await self._refuse(message, scope, name)
            self._told.forget((scope, name))
        return None

    async def _load(self) -> dict[Scope, Window]:
        module = await asyncio.to_thread(import_module, "security.access.windows")
        make: Callable[[RatesSettings, int, Clock], dict[Scope, Window]] = module.make_windows
        self._windows = self._windows or make(self._settings, REFUSALS, self._clock)
        return self._windows

    async def _refuse(self, message: InboundMessage, scope: Scope, name: str) -> Refusal:
        if scope == "person" and not self._windows["flood"].takes(name):
            self._flooding.is_new(name)
            await self._note(message, name, "flood")
            return SILENCE
        if not self._told.is_new((scope, name)):
            return SILENCE
        await self._note(message, name, scope)
        seconds = max(1, math.ceil(self._windows[scope].wait(name)))
        return Refusal(text=(TOO_FAST if scope == "person" else TOO_BUSY).format(seconds=seconds))

    async def _note(self, message: InboundMessage, target: str, why: str) -> None:
        await self._audit.record(
            AuditEvent(
                severity="warning",
                actor=f"{message.address.channel}:{message.sender.id}",
                action="rate_limit",
                target=target,
                status="denied",
                session=message.session,
                run=message.run,
                context=(("why", why),),
            )
        )

    def _size_fault(self, message: InboundMessage) -> str | None:
        """What is too big about a message."""
        settings = self._settings
        if len(message.text) > settings.max_characters:
            return TOO_LONG.format(count=len(message.text), most=settings.max_characters)
        if not message.attachments:
            return None
        if len(message.attachments) > settings.max_files:
            return TOO_MANY_FILES.format(count=len(message.attachments), most=settings.max_files)
        megabytes = sum(attachment.size or 0 for attachment in message.attachments) / MEGABYTE
        if megabytes > settings.max_files_mb:
            return TOO_BIG.format(count=megabytes, most=settings.max_files_mb)
        return None
