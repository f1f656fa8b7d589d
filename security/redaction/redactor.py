"""Redacts streams and whole texts for one place; fulfils `bot.agent.seams.Redactor`."""

import logging
from collections import Counter
from collections.abc import Iterable

from bot.messages import Frozen
from security.redaction.detect import Detector
from security.redaction.edits import Edit, Writer, trace
from security.redaction.literals import Literals, LiteralStage
from security.redaction.matches import Match
from security.redaction.patterns import PatternStage
from security.redaction.pem import PemStage
from security.redaction.policy import Policy

log = logging.getLogger(__name__)


class Redacted(Frozen, frozen=True, kw_only=True):
    """A text as it may be shown.

    Attributes:
        matches: What was hidden; offsets in the text that came in.
    """

    text: str
    matches: tuple[Match, ...]


class Redactor:
    """Hides secrets and personal data as a policy says.

    Args:
        values: Secrets known by value; those under eight characters are left alone.
    """

    def __init__(self, policy: Policy, values: Iterable[str] = ()) -> None:
        self._policy = policy
        self._literals = Literals(values)
        self._detector = Detector(policy.groups)

    def open(self) -> "RedactionStream":
        """A stream of its own for one text that comes in pieces."""
        return self._open(is_recording=False)

    def redact(self, text: str) -> str:
        """A whole text, with what has to be hidden hidden."""
        stream = self.open()
        return stream.feed(text) + stream.flush()

    def inspect(self, text: str) -> Redacted:
        """The same, with what was hidden where."""
        stream = self._open(is_recording=True)
        shown = stream.feed(text) + stream.flush()
        return Redacted(text=shown, matches=stream.matches())

    def _open(self, *, is_recording: bool) -> "RedactionStream":
        return RedactionStream(self._policy, self._detector, self._literals, is_recording=is_recording)


class RedactionStream:
    """One text in any pieces: what comes out, joined, depends on the whole text only.

    Nothing is given out before it is sure that it may be shown; of that, less than 512 characters wait.
    """

    def __init__(
        self, policy: Policy, detector: Detector, literals: Literals, *, is_recording: bool = False
    ) -> None:
        self._noted: Counter[str] = Counter()
        self._policy = policy
        self._writers = tuple(Writer(is_recording=is_recording) for _ in range(3))
        pem, values, patterns = self._writers
        self._stages = (
            *((PemStage(pem, self._replacement),) if "secrets" in policy.groups else ()),
            *((LiteralStage(literals, values, self._replacement),) if literals else ()),
            PatternStage(detector, patterns, self._replacement),
        )

    def feed(self, text: str) -> str:
        """Take more of the text; gives what may be shown by now."""
        for stage in self._stages:
            text = stage.feed(text)
        return text

    def flush(self) -> str:
        """The rest, at the end of the text or where it breaks off."""
        text = ""
        for stage in self._stages:
            text = (stage.feed(text) if text else "") + stage.flush()
        if self._noted:
            log.info("sensitive data let through", extra={"kinds": dict(self._noted)})
        return text

    def matches(self) -> tuple[Match, ...]:
        """What was hidden; for a stream that records."""
        found: list[Match] = []
        for index, writer in enumerate(self._writers):
            before = [self._writers[stage].edits for stage in reversed(range(index))]
            found += [_traced(edit, before) for edit in writer.edits]
        return tuple(sorted(found, key=lambda match: match.start))

    def _replacement(self, kind: str, value: str) -> str | None:
        replacement = self._policy.replacement(kind, value)
        if replacement is None and value:
            self._noted[kind] += 1
        return replacement


def _traced(edit: Edit, before: list[list[Edit]]) -> Match:
    """A match in the text that came in at first; `before` holds the edits of earlier stages, latest first."""
    start, end = edit.start, edit.end
    for edits in before:
        start, end = trace(edits, start), trace(edits, end, is_end=True)
    return Match(edit.kind, start, end)
