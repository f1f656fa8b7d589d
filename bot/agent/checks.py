"""Asks the guards of a turn, each within its time limit; one that breaks or hangs lets nothing through."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from bot.agent.run import Outcome, Run
from bot.agent.seams import Check, Seams
from bot.agent.store import Begun
from bot.agent.taint import Taint, tainted
from bot.messages import EndReason, InboundMessage
from bot.within import within

log = logging.getLogger(__name__)

T = TypeVar("T")
Look: TypeAlias = Callable[[], Coroutine[Any, Any, T]]  # `Any`: what it and its task say to each other

CHECK_SECONDS = 10.0
BLOCKED = "Message blocked by safety check: I could not look at it. Please send it again."
WITHHELD = "The answer was withheld by the safety check."
ADMISSION = ("access", "rate_limit")
SCANS = ("guardian", "injection")
JOINING = ("rate_limit", *SCANS)  # of what a running turn takes up; whether its sender may speak is known


class Checks:
    """The guards among the seams of a turn."""

    def __init__(self, seams: Seams) -> None:
        self._screen = seams.overheard
        self._answers = seams.answers
        self._checks: dict[str, Check] = {
            name: check
            for name in (*ADMISSION, *SCANS)
            if (check := getattr(seams, name)) is not None  # the fields have these names
        }

    async def admit(self, run: Run) -> Outcome | None:
        """Whether its sender may speak, and not too often; the first that objects ends the turn."""
        return await self._refusal(run, run.message, ADMISSION)

    async def scan(self, run: Run, message: InboundMessage) -> Outcome | None:
        """Look at what a message says; the first that objects ends the turn."""
        return await self._refusal(run, message, SCANS)

    async def passes(self, message: InboundMessage) -> bool:
        """Whether a message that a running turn would take up meets no objection."""
        return await self._pass(message, JOINING)

    async def may_replace(self, change: InboundMessage) -> bool:
        """Whether the new text of a message may stand in the history."""
        with tainted(Taint()):
            return await self._pass(change, SCANS)

    async def screen(self, run: Run, begun: Begun) -> Begun:
        """Leave out of what was overheard what may not be shown to the model."""
        if self._screen is None or not begun.overheard:
            return begun
        screen = self._screen.screen
        try:
            kept = await _ask("overheard", lambda: screen(run.message, begun.overheard), run)
        except Exception:  # a guard that is broken must not let anything through
            log.exception("check failed, group context left out")
            kept = ()
        return replace(begun, overheard=kept)

    async def look_at_answer(self, run: Run, outcome: Outcome) -> Outcome:
        """Put something else in the place of an answer that may not be given."""
        if (answers := self._answers) is None or not outcome.text:
            return outcome
        try:
            told = await _ask("answer", lambda: answers(run.message, outcome.text), run)
        except Exception:  # the same
            log.exception("check failed, answer withheld")
            told = WITHHELD
        return outcome if told is None else Outcome(reason="error", text=told, in_context=False)

    async def _refusal(self, run: Run, message: InboundMessage, names: tuple[str, ...]) -> Outcome | None:
        for name in names:
            if (check := self._checks.get(name)) is None:
                continue
            try:
                refusal = await _ask(name, partial(check, message), run)
            except Exception:  # the same
                log.exception("check failed, message blocked", extra={"check": name})
                return Outcome(reason="error", text=BLOCKED, in_context=False)
            if refusal is not None:
                reason: EndReason = "error" if refusal.text else "silent"
                return Outcome(reason=reason, text=refusal.text, in_context=False)
        return None

    async def _pass(self, message: InboundMessage, names: tuple[str, ...]) -> bool:
        for name in names:
            if (check := self._checks.get(name)) is None:
                continue
            try:
                if await _ask(name, partial(check, message)) is not None:
                    return False
            except Exception:  # the same
                log.exception("check failed, message not taken up", extra={"check": name})
                return False
        return True


async def _ask(guard: str, look: Look[T], run: Run | None = None) -> T:
    """What a guard says; one that breaks or hangs is asked again, unless asking it changes something.

    A disk that stalls while the scanner is loaded must not cost a message.

    Raises:
        Exception: It broke again; `TimeoutError` where it took too long.
    """
    if guard not in ADMISSION:
        try:
            return await _ask_once(guard, look, run)
        except Exception:  # it is raised where it comes again
            log.warning("check failed, asked again", exc_info=True, extra={"check": guard})
    return await _ask_once(guard, look, run)


async def _ask_once(guard: str, look: Look[T], run: Run | None) -> T:
    if run is not None:
        run.enter(guard, CHECK_SECONDS + 1)
    return await within(CHECK_SECONDS, look())
