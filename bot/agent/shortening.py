"""Keeps prompts within the model's window: the history before a turn, the steps in the middle of one.

A history grows at its end, so that each prompt begins like the one before. Once it has so many tokens or so
many lines, its older part becomes a summary, at once and not line by line.
"""

import logging
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from bot.agent.compaction import CompactionFailed, Compactor, Summary
from bot.agent.estimate import FRAME_TOKENS, Calibration, estimate_prompt, estimate_schemas
from bot.agent.history import estimate_tokens
from bot.agent.moments import Moments
from bot.agent.run import Run
from bot.agent.sampler import Sampler
from bot.agent.store import Begun
from bot.backends.base import AgentBackend, NoShortening, Shortening, Tools
from bot.bus import Bus
from bot.messages import Compaction as CompactionEvent
from bot.messages import SessionKey, StoredMessage
from bot.models.base import ModelProfile, PromptMessage
from bot.settings.compaction import CompactionSettings

log = logging.getLogger(__name__)

COMPACTION_SECONDS = 300.0
STAGE_SECONDS = 15.0  # for what is left of the stage it is a part of
MAX_LINES = 2_000  # of a session that are summarised at once
LEAST_ROOM = 256  # tokens; below it nothing can be summarised
MOST_KEPT = 200  # lines of history
LIKELY = 3  # a prompt that is not a third of the room by a rough guess is not measured


class Summaries(Protocol):
    """Keeps the summaries of sessions."""

    async def after(self, session: SessionKey, number: int, *, limit: int) -> Sequence[StoredMessage]: ...

    async def keep(self, session: SessionKey, summary: Summary) -> bool: ...


class StepShortening:
    """Fulfils `bot.backends.base.Shortening` for one turn."""

    def __init__(
        self,
        compactor: Compactor,
        calibration: Calibration,
        *,
        backend: AgentBackend,
        session: SessionKey,
        model: str | None,
        tools: Tools,
    ) -> None:
        self._compactor = compactor
        self._calibration = calibration
        self._model = model or ""
        self._tools = estimate_schemas(tools.schemas)
        self._room = room_of(backend.profile) - self._tools
        self._complete = Sampler(backend, session, model)

    async def fit(
        self, messages: tuple[PromptMessage, ...], *, tokens: int, was_refused: bool = False
    ) -> tuple[PromptMessage, ...]:
        """See the protocol."""
        if not was_refused and tokens * LIKELY < self._room:
            return messages
        estimate = estimate_prompt(messages)
        counted = self._room if was_refused else 0
        if was_refused:
            self._calibration.note(self._model, estimate + self._tools, self._room + self._tools)
        if not self._compactor.is_due(estimate, max_tokens=self._room, model=self._model, counted=counted):
            return messages
        return await self._compactor.fold(
            messages, max_tokens=self._room, complete=self._complete, model=self._model, counted=counted
        )

    def note(self, messages: tuple[PromptMessage, ...], reported: int) -> None:
        """See the protocol."""
        if reported * LIKELY > self._room:
            self._calibration.note(self._model, estimate_prompt(messages) + self._tools, reported)


class NoHistoryShortening:
    """Leaves every prompt as it is."""

    async def prepare(
        self, run: Run, begun: Begun, backend: AgentBackend, model: str | None, *, taken: int = 0
    ) -> Begun:
        """The same."""
        return begun

    def of_steps(
        self, backend: AgentBackend, session: SessionKey, model: str | None, tools: Tools
    ) -> Shortening:
        """Nothing is shortened."""
        return NoShortening()


class HistoryShortening:
    """Summarises the older part of a session's history when it has become too long.

    Args:
        max_tokens: What the history may take of a prompt, by our estimate.
        max_lines: The most lines of it that a turn reads.
    """

    def __init__(
        self,
        settings: CompactionSettings,
        *,
        summaries: Summaries,
        bus: Bus,
        moments: Moments,
        max_tokens: int,
        max_lines: int = MOST_KEPT,
    ) -> None:
        self._settings = settings
        self._summaries = summaries
        self._bus = bus
        self._moments = moments
        self._max_tokens = max_tokens
        self._max_lines = max_lines
        self._calibration = Calibration()
        self._compactor = Compactor(settings, self._calibration)

    def of_steps(
        self, backend: AgentBackend, session: SessionKey, model: str | None, tools: Tools
    ) -> Shortening:
        """What shortens the prompt of one turn while it runs."""
        return StepShortening(
            self._compactor, self._calibration, backend=backend, session=session, model=model, tools=tools
        )

    async def prepare(
        self, run: Run, begun: Begun, backend: AgentBackend, model: str | None, *, taken: int = 0
    ) -> Begun:
        """The beginning of a turn with a history that fits; summarised now, where it does not.

        Args:
            taken: Tokens that instructions, tools and the message need, by our estimate.

        Raises:
            CompactionFailed: There is no summary, and without one the history does not fit.
        """
        room = self._room_for_history(begun, backend.profile, model or "", taken)
        if not self._settings.enabled or backend.profile.compact or room < LEAST_ROOM:
            return begun
        # What the summary takes is gone, but never so much that there is a new one at each turn.
        room -= min(begun.summary.tokens, room // 2) if begun.summary is not None else 0
        tokens = _size(begun.history)
        is_full = tokens >= self._settings.at * room
        if not is_full and len(begun.history) < self._max_lines:
            return begun
        stage = run.stage
        run.enter("compaction", COMPACTION_SECONDS)
        self._bus.emit(CompactionEvent(session=run.session, run=run.id, phase="start"))
        await self._moments.compacting(run.message, begun.history, tokens=tokens)
        try:
            begun = await self._shortened(run, begun, room, backend, model)
        except CompactionFailed as error:
            if is_full:
                raise
            log.warning("history not summarised, only its end is shown", extra={"cause": str(error)})
        else:
            await self._moments.compacted(run.session, begun.summary, lines=len(begun.history))
        self._bus.emit(CompactionEvent(session=run.session, run=run.id, phase="end"))
        run.enter(stage, STAGE_SECONDS)
        return begun

    def _room_for_history(self, begun: Begun, profile: ModelProfile, model: str, taken: int) -> int:
        """Tokens, by our estimate, that still fit if a server counts far more than we do."""
        beside = taken + sum(estimate_tokens(line.text) for line in begun.overheard)
        beside += sum(estimate_tokens(kept.result) for kept in begun.kept_calls)
        window = self._calibration.budget(model, room_of(profile))
        return min(self._max_tokens, window - min(beside, taken + (window - taken) // 2))

    async def _shortened(
        self, run: Run, begun: Begun, room: int, backend: AgentBackend, model: str | None
    ) -> Begun:
        """The beginning of a turn whose history is its newest part, and a summary of the rest."""
        covered = begun.summary.upto if begun.summary is not None else 0
        before = begun.history[0].number if begun.history else 0
        lines = await self._summaries.after(run.session, covered, limit=MAX_LINES)
        lines = [line for line in lines if line.run != run.id]
        keep = self._kept_of(lines, room, model or "")
        summary = await self.compact(run.session, lines, begun.summary, keep, backend, model)
        upto = max(before - 1, summary.upto if summary is not None else 0)
        history = tuple(line for line in begun.history if line.number > upto)
        return replace(begun, history=history, summary=summary)

    def _kept_of(self, lines: Sequence[StoredMessage], room: int, model: str) -> int:
        """Tokens that stay word for word, by the server's count: a share of the room, half of the lines."""
        half = _size(lines[-max(1, self._max_lines // 2) :])
        keep = min(int(self._settings.kept * room), half)
        return int(keep * self._calibration.factor(model)) + 1

    async def compact(
        self,
        session: SessionKey,
        lines: Sequence[StoredMessage],
        previous: Summary | None,
        keep_tokens: int,
        backend: AgentBackend,
        model: str | None,
        focus: str = "",
    ) -> Summary | None:
        """Summarise all but the newest lines, and keep the summary.

        Raises:
            CompactionFailed: There is no summary.
        """

        async def keep(summary: Summary) -> None:
            await self._summaries.keep(session, summary)

        return await self._compactor.compact(
            lines,
            previous,
            keep_tokens=keep_tokens,
            max_tokens=room_of(backend.profile),
            complete=Sampler(backend, session, self._settings.model or model),
            model=model or "",
            focus=focus,
            on_progress=keep,
        )


def _size(lines: Sequence[StoredMessage]) -> int:
    """As one text: quicker than line by line, and at most a token a line more."""
    return estimate_tokens("".join([line.text for line in lines])) + (FRAME_TOKENS + 1) * len(lines)


def room_of(profile: ModelProfile) -> int:
    """Tokens that a prompt may take, tools included."""
    return profile.window - profile.max_output
