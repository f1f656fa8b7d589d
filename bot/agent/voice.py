"""The stream of one answer on its way out: redacted, and held back while it may turn out to be silence."""

from bot.agent.run import Run
from bot.agent.seams import Redactor
from bot.agent.silence import is_all_well, is_silence, may_become_silence

PARAGRAPH = "\n\n"


class Voice:
    """Publishes what a backend says, as far as it may be shown by now.

    Args:
        goes_on: What was said before stays, and this stands below it.
        holds: Nothing is shown before the end: it answers a heartbeat, and may turn out to say nothing.
    """

    def __init__(
        self, run: Run, redactor: Redactor | None, *, goes_on: bool = False, holds: bool = False
    ) -> None:
        self._run = run
        self._before = f"{run.text}{PARAGRAPH}" if goes_on and run.text else ""
        self._gap = PARAGRAPH if self._before else ""
        self._holds = holds
        self._redactor = redactor
        self._redaction = redactor.open() if redactor else None
        self._held: str | None = ""  # the answer so far, while it may be silence; then `None`
        self._replaces = False

    def say(self, text: str, *, replaces: bool = False) -> None:
        """Publish more of the answer, or begin it anew."""
        if replaces:
            self._held = ""
            self._replaces = self._run.seq > 0
            if self._redactor is not None:
                self._redaction = self._redactor.open()
        if self._redaction is not None:
            text = self._redaction.feed(text)
        self._show(text)

    def _show(self, text: str) -> None:
        if self._held is not None:
            self._held += text
            if self._holds or may_become_silence(self._held):
                return
            text, self._held = self._held, None
        if text:
            before = self._before if self._replaces else self._gap
            self._run.chunk(before + text, replaces=self._replaces)
            self._replaces, self._gap = False, ""

    def end(self) -> bool:
        """Publish what was held back; False where the whole answer is silence."""
        if self._redaction is not None:
            self._show(self._redaction.flush())
        held, self._held = self._held, None
        if held is not None and (is_silence(held) or (self._holds and is_all_well(held))):
            return False
        if held:
            self._show(held)
        return True
