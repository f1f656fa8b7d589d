"""The stream of one answer on its way out: redacted, and held back while it may turn out to be silence."""

from bot.agent.run import Run
from bot.agent.seams import Outward
from bot.agent.silence import is_all_well, is_silence, may_become_silence

PARAGRAPH = "\n\n"
TELLING = 8  # characters of a secret that say something of it


class Voice:
    """Publishes what a backend says, as far as it may be shown by now.

    Args:
        outward: Every piece passes through it on its way out.
        goes_on: What was said before stays, and this stands below it.
        holds: Nothing is shown before the end: it answers a heartbeat, and may turn out to say nothing.
    """

    def __init__(
        self,
        run: Run,
        outward: Outward | None,
        *,
        goes_on: bool = False,
        holds: bool = False,
    ) -> None:
        self._run = run
        self._before = f"{run.text}{PARAGRAPH}" if goes_on and run.text else ""
        self._gap = PARAGRAPH if self._before else ""
        self._holds = holds
        self._outward = outward
        self._stream = outward.open() if outward is not None else None
        self._held: str | None = ""  # the answer so far, while it may be silence; then `None`
        self._replaces = False
        self._is_over = False

    def say(self, text: str, *, replaces: bool = False) -> None:
        """Publish more of the answer, or begin it anew; nothing once it is over."""
        if self._is_over:
            return
        if replaces:
            self._held = ""
            self._replaces = self._run.seq > 0
            self._stream = self._outward.open() if self._outward is not None else None
        self._show(text if self._stream is None else self._stream.feed(text))

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

    def _flush(self) -> str:
        """What the stream has held back, the first time."""
        is_over, self._is_over = self._is_over, True
        return "" if is_over or self._stream is None else self._stream.flush()

    def end(self) -> bool:
        """Publish what was held back; False where the whole answer is silence."""
        self._show(self._flush())
        held, self._held = self._held, None
        if held is not None and (is_silence(held) or (self._holds and is_all_well(held))):
            return False
        if held:
            self._show(held)
        return True

    def break_off(self) -> None:
        """End an answer that is cut here, in the middle of whatever it was about to say.

        Of what was held back only so much is published as gives nothing away: it may be the beginning of a
        key, which nobody can tell any more.
        """
        rest = self._flush()
        if self._held is None and len(rest) < TELLING:
            self._show(rest)
