"""Looks for instructions in a text that it has no right to give: rules and a model, over all its readings."""

from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import cache
from math import exp
from typing import Protocol

import msgspec
import numpy as np

from bot.settings.injection import InjectionSettings
from security.injection.languages import VOCABULARIES
from security.injection.letters import Letters
from security.injection.matching import HIDDEN, Finding, Hit, Matcher
from security.injection.model import NOTHING, Judged, LinearModel, Script, script_of
from security.injection.normalise import codes_of, text_of
from security.injection.quoting import quoted_in
from security.injection.rules import MILD, Rule
from security.injection.views import View, Views, views_of
from security.injection.words import Flags
from security.verdict import HARMLESS, Level, Span, Verdict

MOST_RULES = 6.0  # what all rules together weigh at most
DISGUISE = Rule("disguise", (), 2.0)  # letters written as something else
FEWEST_MENDED = 3
LEAST_OF_MODEL = -2.0  # where a rule holds: the model does not know all languages
FEWEST_HIDDEN = 8  # invisible letters; a flag is written with five
LONG = (
    20_000  # characters; the model's word alone is no HIGH in what is longer, as it is asked so often there
)
SHORT = 40  # bytes: in a few words like "who are you?" the model sees too little to tell
BREVITY = 0.2  # that each byte below takes from the model's odds
MOST_SPANS = 32
LEVELS = tuple(Level)
OUTDONE = Judged(NOTHING - 1, 0, 0)  # a reading that the model does not look at


class _Reading(msgspec.Struct, frozen=True):
    """What was found in one view."""

    view: View
    hits: Sequence[Hit]
    findings: Sequence[Finding]
    judged: Judged


class Opinion(Protocol):
    """A second model, `security/injection/onnx.py`; it may be slow."""

    def odds(self, text: str) -> float:
        """Logarithmic odds that a text is an attack; 0 where MEDIUM begins."""


class Scanner:
    """Scans texts; reading its weights takes some 10 ms, so one is kept. May be shared by threads."""

    def __init__(
        self,
        settings: InjectionSettings,
        model: LinearModel | None = None,
        letters: Letters | None = None,
        second: Opinion | None = None,
    ) -> None:
        self._is_enabled = settings.enabled
        self._limits = (settings.low, settings.medium, settings.high, settings.critical)
        self._matcher = _matcher()
        self._model = model or LinearModel.load()
        self._letters = letters or Letters.load()
        self._second = second

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text, in time linear in its length: up to 100 ms for 100,000 characters.

        Args:
            text: As it came, in any form.
            are_quotes_lenient: Quotations and blocks of code count a level less, as for what people write.
                False for what tools, pages and files bring: there anybody can quote himself.
        """
        if not self._is_enabled or not text.strip():
            return HARMLESS
        views = views_of(text, self._letters)
        found = [self._read(view, at in views.outdone) for at, view in enumerate(views.found)]
        second = self._ask(reading.view.text for reading in found if reading.judged is not OUTDONE)
        whole = self._verdict(found, views, second)
        if not are_quotes_lenient or whole.level is Level.NONE:
            return whole
        quoted = quoted_in(text)
        if not quoted.any():
            return whole
        outside = [
            _Reading(
                reading.view,
                reading.hits,
                [finding for finding in reading.findings if not _is_quoted(finding, reading.view, quoted)],
                reading.judged
                if reading.judged is OUTDONE
                else self._model.judge(reading.view, reading.hits, quoted[reading.view.starts]),
            )
            for reading in found
        ]
        return self._softened(whole, self._verdict(outside, views, self._ask([_without(text, quoted)])))

    def _read(self, view: View, is_outdone: bool) -> _Reading:
        hits = self._matcher.hits(view)
        judged = OUTDONE if is_outdone else self._model.judge(view, hits)
        return _Reading(view, hits, self._matcher.find(view, hits), judged)

    def _verdict(self, readings: Sequence[_Reading], views: Views, second: float | None) -> Verdict:
        """One verdict of all readings: the rules that hold in any of them, and the model's worst."""
        plain = readings[0].view
        script: Script = "latin" if plain.text.isascii() else script_of(plain.codes)
        size = len(plain.text)
        worst = max(readings, key=lambda reading: reading.judged.margin)
        odds = self._model.odds(worst.judged.margin, script)
        if size > LONG:
            odds = min(odds, 1.0)
        elif size < SHORT:
            odds -= BREVITY * max(0, SHORT - len(plain.text.encode(errors="replace")))
        if second is not None:
            odds = max(odds, second)
        weights = {
            finding.rule.name: finding.rule.weight for reading in readings for finding in reading.findings
        }
        if views.hidden >= FEWEST_HIDDEN:
            weights[HIDDEN.name] = HIDDEN.weight
        rules = min(sum(weights.values()), MOST_RULES)
        total = max(odds, LEAST_OF_MODEL) + rules if rules else odds
        if len(views.found) > 1 or views.mended >= FEWEST_MENDED:
            weights[DISGUISE.name] = DISGUISE.weight
            total += DISGUISE.weight
        score = 1 / (1 + exp(-total))
        level = LEVELS[bisect(self._limits, score)]
        if second is None and weights.keys() <= MILD:  # nobody is turned away on the small model's word alone
            level = min(level, Level.MEDIUM)
        if level is Level.NONE:
            return Verdict(level, score)
        reasons = sorted(weights, key=lambda name: (-weights[name], name))
        if odds > 0:
            reasons.append("model")
        return Verdict(level, score, tuple(reasons), _spans(readings, worst if odds > 0 else None))

    def _ask(self, texts: Iterable[str]) -> float | None:
        """The worst that the second model says of these readings."""
        return None if self._second is None else max(map(self._second.odds, texts))

    def _softened(self, whole: Verdict, outside: Verdict) -> Verdict:
        """The verdict of the whole, a level less, unless what is not quoted is as bad."""
        if outside.level >= whole.level:
            return whole
        level = max(whole.level.lowered(), outside.level)
        lower, begin, end = (0.0, *self._limits, 1.0)[whole.level - 1 : whole.level + 2]
        above = min((whole.score - begin) / max(end - begin, 1e-9), 0.99)  # of the way through its level
        within = lower + (begin - lower) * above
        score = max(min(whole.score, within), outside.score)
        if level is Level.NONE:
            return Verdict(level, score)
        return Verdict(level, score, (*whole.reasons, "quoted"), whole.spans)


@cache
def _matcher() -> Matcher:
    """The words of all languages; sorting them takes far longer than all else that a scanner needs."""
    return Matcher(VOCABULARIES)


def _without(text: str, quoted: Flags) -> str:
    """The text with blanks for what is quoted."""
    return text_of(np.where(quoted, np.uint32(32), codes_of(text)))


def _is_quoted(finding: Finding, view: View, quoted: Flags) -> bool:
    return bool(quoted[view.starts[finding.start : finding.end]].all())


def _spans(readings: Sequence[_Reading], worst: _Reading | None) -> tuple[Span, ...]:
    """Where the findings are in the input."""
    found = [
        _span(reading.view, finding.start, finding.end, finding.rule.name)
        for reading in readings
        for finding in reading.findings
    ]
    if worst is not None:
        found.append(_span(worst.view, worst.judged.start, worst.judged.end, "model"))
    unique = sorted(set(found), key=lambda span: (span.start, span.end, span.type))
    return tuple(unique[:MOST_SPANS])


def _span(view: View, start: int, end: int, name: str) -> Span:
    return Span(int(view.starts[start:end].min()), int(view.ends[start:end].max()), name)
