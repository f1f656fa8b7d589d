"""Answers that are being written, as far as they were read."""

from collections import OrderedDict
from typing import Final

from bot.messages import AgentEnd, Chunk, End, RunId, SessionKey, Thinking, ToolResult, ToolStart
from bot.web.api.feed import Item

MAX_RUNS: Final = 500  # that are kept at once; the oldest go first
MAX_TEXT: Final = 200_000  # characters of one answer


class Draft:
    """One answer.

    Attributes:
        tool: The tool that runs now.
        is_thinking: The model thinks, and has said nothing yet.
    """

    __slots__ = ("_length", "_pieces", "attempt", "is_thinking", "session", "tool")

    def __init__(self, session: SessionKey, attempt: int) -> None:
        self.session = session
        self.attempt = attempt
        self.tool: str | None = None
        self.is_thinking = False
        self._pieces: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """What was written so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, chunk: Chunk) -> None:
        """Go on with it."""
        if chunk.replaces:
            self._pieces, self._length = [], 0
        text = chunk.text[: MAX_TEXT - self._length]
        self._pieces.append(text)
        self._length += len(text)
        self.is_thinking = False


class Growing:
    """The answers of all sessions that are being written."""

    def __init__(self) -> None:
        self._drafts: OrderedDict[RunId, Draft] = OrderedDict()

    def get(self, run: RunId) -> Draft | None:
        """One of them."""
        return self._drafts.get(run)

    def of(self, session: SessionKey) -> dict[RunId, Draft]:
        """Those of one session."""
        return {run: draft for run, draft in self._drafts.items() if draft.session == session}

    def take(self, item: Item) -> bool:
        """Read on; whether it only lets an answer grow, and changes nothing that is kept."""
        match item:
            case Chunk(run=run, attempt=attempt, session=session):
                draft = self._open(run, session, attempt)
                if attempt >= draft.attempt:
                    draft.add(item)
                return True
            case End(run=run) | AgentEnd(run=run):
                self._close(run)
                return False
            case Thinking(run=str(run), session=session):
                self._open(RunId(run), session, 0).is_thinking = True
                return True
            case ToolStart(run=str(run), session=session, name=name):
                self._open(RunId(run), session, 0).tool = name
                return False
            case ToolResult(run=str(run), session=session):
                self._open(RunId(run), session, 0).tool = None
                return False
            case _:
                return False

    def _close(self, run: RunId | None) -> None:
        if run is not None:
            self._drafts.pop(run, None)

    def _open(self, run: RunId, session: SessionKey, attempt: int) -> Draft:
        draft = self._drafts.get(run)
        if draft is None or attempt > draft.attempt > 0:
            draft = self._drafts[run] = Draft(session, attempt)
            if len(self._drafts) > MAX_RUNS:
                self._drafts.popitem(last=False)
        draft.attempt = max(draft.attempt, attempt)
        return draft
