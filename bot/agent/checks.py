"""Asks the guards of a turn, each within its time limit; one that breaks or hangs lets nothing through."""

import logging

from msgspec.structs import replace

from bot.agent.run import Outcome, Run
from bot.agent.seams import Check, Seams
from bot.agent.store import Begun
from bot.agent.taint import Taint, tainted
from bot.messages import EndReason, InboundMessage
from bot.within import within

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
BLOCKED = "Message blocked by safety check."
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
        return await self._ask(run, run.message, ADMISSION)

    async def scan(self, run: Run, message: InboundMessage) -> Outcome | None:
        """Look at what a message says; the first that objects ends the turn."""
        return await self._ask(run, message, SCANS)

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
        run.enter("overheard", CHECK_SECONDS + 1)
        try:
            kept = await within(CHECK_SECONDS, self._screen.screen(run.message, begun.overheard))
        except Exception:  # a guard that is broken must not let anything through
            log.exception("check failed, group context left out")
            kept = ()
        return replace(begun, overheard=kept)

    async def look_at_answer(self, run: Run, outcome: Outcome) -> Outcome:
        """Put something else in the place of an answer that may not be given."""
        if self._answers is None or not outcome.text:
            return outcome
        run.enter("answer", CHECK_SECONDS + 1)
        try:
            told = await within(CHECK_SECONDS, self._answers(run.message, outcome.text))
        except Exception:  # the same
            log.exception("check failed, answer withheld")
            told = WITHHELD
        return outcome if told is None else Outcome(reason="error", text=told, in_context=False)

    async def _ask(self, run: Run, message: InboundMessage, names: tuple[str, ...]) -> Outcome | None:
        for name in names:
            if (check := self._checks.get(name)) is None:
                continue
            run.enter(name, CHECK_SECONDS + 1)
            try:
                refusal = await within(CHECK_SECONDS, check(message))
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
                if await within(CHECK_SECONDS, check(message)) is not None:
                    return False
            except Exception:  # the same
                log.exception("check failed, message not taken up", extra={"check": name})
                return False
        return True
