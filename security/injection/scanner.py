"""Looks for instructions in a text that it has no right to give: rules and a model, over all its readings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp

import numpy as np

from bot.settings.injection import InjectionSettings
from security.injection.languages import VOCABULARIES
from security.injection.matching import HIDDEN, Finding, Hit, Matcher
from security.injection.model import Judged, LinearModel, script_of
from security.injection.normalise import Offsets
from security.injection.quoting import quoted_in
from security.injection.views import View, views_of
from security.injection.words import Flags
from security.verdict import HARMLESS, Level, Span, Verdict

MOST_RULES = 6.0  # what all rules together weigh at most
DISGUISED = 1.0  # a rule that holds only in a decoded reading weighs so much more
LEAST_OF_MODEL = -2.0  # where a rule holds: the model does not know all languages
FEWEST_HIDDEN = 8  # invisible letters; a flag is written with five
LONG = (
    20_000  # characters; the model's word alone is no HIGH in what is longer, as it is asked so often there
)
MOST_SPANS = 32


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was found in one view."""

    view: View
    findings: Sequence[Finding]
    judged: Judged


class Scanner:
    """Scans texts; reading its weights takes some 10 ms, so one is kept. May be shared by threads."""

    def __init__(self, settings: InjectionSettings, model: LinearModel | None = None) -> None:
        self._settings = settings
        self._matcher = Matcher(VOCABULARIES)
        self._model = model or LinearModel.load()

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text, in time linear in its length: up to 100 ms for 100,000 characters.

        Args:
            text: As it came, in any form.
            are_quotes_lenient: Quotations and blocks of code count a level less, as for what people write.
                False for what tools, pages and files bring: there anybody can quote himself.
        """
        if not self._settings.enabled or not text.strip():
            return HARMLESS
        views, hidden = views_of(text)
        hits = [self._matcher.hits(view) for view in views]
        summed = [self._model.sum_up(view, _places(found)) for view, found in zip(views, hits, strict=True)]
        found = [
            _Reading(view, self._matcher.find(view, words), self._model.judge(sums))
            for view, words, sums in zip(views, hits, summed, strict=True)
        ]
        whole = self._verdict(found, hidden)
        if not are_quotes_lenient or whole.level is Level.NONE:
            return whole
        quoted = quoted_in(text)
        if not quoted.any():
            return whole
        outside = [
            _Reading(
                reading.view,
                [finding for finding in reading.findings if not _is_quoted(finding, reading.view, quoted)],
                self._model.judge(sums, quoted[reading.view.starts]),
            )
            for reading, sums in zip(found, summed, strict=True)
        ]
        return self._softened(whole, self._verdict(outside, hidden))

    def _verdict(self, readings: Sequence[_Reading], hidden: int) -> Verdict:
        """One verdict of all readings: the rules that hold in any of them, and the model's worst."""
        script = script_of(readings[0].view.codes)
        worst = max(readings, key=lambda reading: reading.judged.margin)
        odds = self._model.odds(worst.judged.margin, script)
        if len(readings[0].view.codes) > LONG:
            odds = min(odds, 1.0)
        weights = _weights(readings, hidden)
        rules = min(sum(weights.values()), MOST_RULES)
        total = max(odds, LEAST_OF_MODEL) + rules if rules else odds
        score = 1 / (1 + exp(-total))
        level = self._level(score)
        if level is Level.NONE:
            return Verdict(level, score)
        reasons = sorted(weights, key=lambda name: (-weights[name], name))
        if odds > 0:
            reasons.append("model")
        return Verdict(level, score, tuple(reasons), _spans(readings, worst if odds > 0 else None))

    def _level(self, score: float) -> Level:
        limits = (self._settings.low, self._settings.medium, self._settings.high, self._settings.critical)
        return Level(sum(score >= limit for limit in limits))

    def _softened(self, whole: Verdict, outside: Verdict) -> Verdict:
        """The verdict of the whole, a level less, unless what is not quoted is as bad."""
        if outside.level >= whole.level:
            return whole
        settings = self._settings
        floor = (0.0, settings.low, settings.medium, settings.high, settings.critical)
        level = max(whole.level.lowered(), outside.level)
        within = floor[whole.level - 1] + (floor[whole.level] - floor[whole.level - 1]) * 0.5
        score = max(min(whole.score, within), outside.score)
        if level is Level.NONE:
            return Verdict(level, score)
        return Verdict(level, score, (*whole.reasons, "quoted"), whole.spans)


def _places(hits: Sequence[Hit]) -> Offsets:
    return np.array([hit.start for hit in hits], dtype=np.int64)


def _weights(readings: Sequence[_Reading], hidden: int) -> dict[str, float]:
    """What each rule weighs that holds somewhere, and more where the plain text hides it."""
    plain = {finding.rule.name for finding in readings[0].findings}
    found: dict[str, float] = {}
    for finding in chain.from_iterable(reading.findings for reading in readings):
        more = 0.0 if finding.rule.name in plain else DISGUISED
        found[finding.rule.name] = finding.rule.weight + more
    if hidden >= FEWEST_HIDDEN:
        found[HIDDEN.name] = HIDDEN.weight
    return found


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
