"""The check: local rules and the scanner always, a model beside them where one is named."""

import asyncio
import logging
import random
from collections.abc import Callable
from importlib import import_module
from typing import Final

from msgspec.structs import replace

from bot.settings.guardian import GuardianSettings
from security.guardian.findings import SCORES
from security.guardian.judge import Judge, JudgeFailed, Kind
from security.guardian.outbound import look
from security.injection import LazyScanner
from security.verdict import HARMLESS, Level, Verdict

log = logging.getLogger(__name__)

AT_ONCE: Final = 4_000  # characters that are looked at on the spot; longer ones in a thread
JUDGED: Final = "judge"
SOFTENED: Final = "judge lowered"


class Guardian:
    """Grades what comes in, what is to be run and what goes out; one for the whole bot.

    Args:
        scanner: Looks at messages; loaded with the first of them.
        judge: Asked about what is MEDIUM or worse, and about a share of the rest.
        chance: Gives numbers from 0 to 1.
    """

    def __init__(
        self,
        settings: GuardianSettings,
        scanner: LazyScanner,
        judge: Judge | None = None,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._scanner = scanner
        self._judge = judge
        self._chance = chance

    async def check(
        self, content: str, *, kind: Kind, is_quoting: bool = True, is_code: bool = False
    ) -> Verdict:
        """Grade a text.

        A model that fails or takes too long changes nothing. Of a message, it can lower HIGH and MEDIUM to
        LOW, and CRITICAL to HIGH; of commands and of what goes out, only MEDIUM, as their rules are certain.

        Args:
            is_quoting: Of a message: its writer's own words, in which quotations count less.
            is_code: Of a command: it is a program, not a shell line.
        """
        if not self._settings.enabled or not content:
            return HARMLESS
        local = await self._look(content, kind, is_quoting=is_quoting, is_code=is_code)
        if self._judge is None or not self._is_due(local.level):
            return local
        try:
            opinion = await self._judge.ask(content, kind)
        except JudgeFailed as error:
            log.warning("judge failed", extra={"cause": str(error), "kind": kind})
            return local
        return weigh(local, Level[opinion.level], kind)

    def look(self, content: str, kind: Kind, *, is_code: bool = False) -> Verdict:
        """Ask the rules for commands and for what goes out, on the spot."""
        if not self._settings.enabled:
            return HARMLESS
        if kind == "command":
            rules = import_module("security.guardian.commands")  # some 20 ms, and many bots run no commands
            found: Verdict = rules.look(content, "code" if is_code else "shell")
            return found
        return look(content)

    def is_asked(self, level: Level) -> bool:
        """Whether the model has to be waited for."""
        return self._judge is not None and (level >= Level.MEDIUM or self._settings.sample > 0)

    def _is_due(self, level: Level) -> bool:
        return level >= Level.MEDIUM or self._chance() < self._settings.sample

    async def _look(self, content: str, kind: Kind, *, is_quoting: bool, is_code: bool) -> Verdict:
        if kind == "message":
            return await self._scanner.scan(content, are_quotes_lenient=is_quoting)
        if len(content) <= AT_ONCE:
            return self.look(content, kind, is_code=is_code)
        return await asyncio.to_thread(self.look, content, kind, is_code=is_code)

    async def aclose(self) -> None:
        """Let go of the model's connections."""
        if self._judge is not None:
            await self._judge.aclose()


def weigh(local: Verdict, judged: Level, kind: Kind) -> Verdict:
    """Put together what the rules and the model say; never below what the rules leave it."""
    level = max(judged, _floor(local.level, kind))
    if level == local.level:
        return local
    reasons = (*local.reasons, JUDGED if level > local.level else SOFTENED)
    return replace(local, level=level, score=SCORES[level], reasons=reasons)


def _floor(level: Level, kind: Kind) -> Level:
    """The least that is left of a level."""
    if level >= Level.HIGH and kind != "message":
        return level
    return {Level.CRITICAL: Level.HIGH, Level.NONE: Level.NONE}.get(level, Level.LOW)
