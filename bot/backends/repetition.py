"""Notices a model that makes the same calls again and again."""

from collections.abc import Sequence

from bot.backends.base import ToolResultEvent
from bot.models.base import ToolCall

MOST = 3  # times in a row that the same calls are made
TOLD = (
    "Not done again: you have asked for exactly this {count} times in a row. "
    "Use the result you have, try something else, or answer without it."
)


class Repetition:
    """Counts how often the same calls came in a row; one instance a turn."""

    def __init__(self) -> None:
        self._last: tuple[tuple[str, str], ...] = ()
        self._count = 0

    def note(self, calls: Sequence[ToolCall]) -> None:
        """Take note of the calls of a step."""
        these = tuple((call.function.name, call.function.arguments) for call in calls)
        self._count = self._count + 1 if these == self._last else 1
        self._last = these

    @property
    def is_told(self) -> bool:
        """The model is to be told, instead of what it asked for being done."""
        return self._count >= MOST

    @property
    def is_hopeless(self) -> bool:
        """It was told, and did the same again."""
        return self._count > MOST

    def results(self, calls: Sequence[ToolCall]) -> list[ToolResultEvent]:
        """What the model gets instead of results."""
        told = TOLD.format(count=self._count)
        return [ToolResultEvent(call=call, content=told, status="error") for call in calls]
