"""Learns the weights: a squared hinge and AdaGrad, in operations that every machine rounds alike.

No logarithm or exponential, whose last bit depends on the processor, and sums in a fixed order: the same
corpus gives the same bytes.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from security.injection.features import BUCKETS, SHARE, WEIGHTS, concepts_of, features_of
from security.injection.languages import VOCABULARIES
from security.injection.letters import Letters
from security.injection.matching import Matcher
from security.injection.model import Numbers, Script, by_chance, script_of, windows_of
from security.injection.views import View, views_of
from security.training.corpus import Sample
from security.training.making import make

EPOCHS = 4
BATCH = 256
RATE = 1.0
DECAY = 2e-5
MOST_WINDOWS = 6  # of one reading of a text; evenly spread
SEED = 20_250_101
DROPPED = 0.3  # of the features of a window, at random each time: none may be relied on alone
FEWEST = 3  # windows that have a feature, for it to count

Indices = npt.NDArray[np.int32]


class Window(msgspec.Struct, frozen=True):
    """The features of one window.

    Attributes:
        buckets: The hashed ones.
        concepts: The places of the weights of its concepts, some more than once.
        among: How many windows its reading has.
    """

    buckets: Indices
    concepts: Indices
    among: int


class Windows(msgspec.Struct, frozen=True):
    """The windows of one text, those of the readings that count.

    Attributes:
        windows: Evenly spread.
        script: What the text is written in.
    """

    windows: tuple[Window, ...]
    script: Script


class Cutter:
    """Cuts texts into windows."""

    def __init__(self, letters: Letters) -> None:
        self._letters = letters
        self._matcher = Matcher(VOCABULARIES)

    def cut(self, text: str) -> Windows:
        """Cut the readings of a text that the scanner's model looks at."""
        views = views_of(text, self._letters)
        found = tuple(
            window
            for at, view in enumerate(views.found)
            if at not in views.outdone
            for window in self._windows(view)
        )
        return Windows(found, script_of(views.found[0].codes))

    def _windows(self, view: View) -> Iterator[Window]:
        features = features_of(view.codes, view.words)
        concepts = list(concepts_of(self._matcher.hits(view)))
        starts, ends = windows_of(len(view.codes))
        for at in range(0, len(starts), -(-len(starts) // MOST_WINDOWS)):
            begin, end = int(starts[at]), int(ends[at])
            buckets = features.buckets[(features.places >= begin) & (features.places < end)]
            if len(buckets):
                meant = [BUCKETS + number for place, number in concepts if begin <= place < end]
                yield Window(buckets.astype(np.int32), np.array(meant, dtype=np.int32), len(starts))


def weigh(samples: Sequence[Sample]) -> Numbers:
    """How much each text counts: attacks together as much as all others."""
    labels = np.array([sample.label for sample in samples])
    sizes = np.bincount(labels, minlength=2)
    found: Numbers = len(samples) / 2 / sizes[labels]
    return found


def learn(samples: Sequence[Sample], texts: Sequence[Windows]) -> Numbers:
    """Learn the weights of the features; of an attack's windows the one that looks worst counts."""
    importance = weigh(samples)
    weights = np.zeros(WEIGHTS)
    for _ in range(2):
        windows: list[Window] = []
        signs, counts = [], []
        for sample, text, much in zip(samples, texts, importance.tolist(), strict=True):
            chosen = text.windows
            if sample.label and len(chosen) > 1:
                chosen = (max(chosen, key=lambda one: margin_of(weights, one)),)
            windows += chosen
            signs += [1.0 if sample.label else -1.0] * len(chosen)
            counts += [much / np.sqrt(max(len(chosen), 1))] * len(chosen)
        weights = _descend(_table(windows), np.array(signs), np.array(counts))
    return weights


def learn_with_made(samples: Sequence[Sample], texts: Sequence[Windows], cutter: Cutter) -> Numbers:
    """Learn from samples, and from what is made beside them and of them."""
    made = make(samples)
    return learn([*samples, *made], [*texts, *(cutter.cut(one.text) for one in made)])


def margin_of(weights: Numbers, window: Window) -> float:
    """What a window weighs, as the model of the package reckons it."""
    hashed = _sum(weights[window.buckets]) / np.sqrt(len(window.buckets))
    return float(hashed + _sum(weights[window.concepts]) * SHARE) - by_chance(window.among)


def _sum(values: Numbers) -> float:
    """A sum in the order of the values, on every machine."""
    return float(np.bincount(np.zeros(len(values), dtype=np.int64), weights=values, minlength=1)[0])


class _Table(msgspec.Struct, frozen=True):
    """Windows as rows, one behind the other.

    Attributes:
        ends: Where each row begins, and the end of the last.
        columns: Of all rows, without those that are too rare.
        values: Of all columns in their row.
        weights: For each column the place of its weight.
    """

    ends: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: Numbers
    weights: npt.NDArray[np.int64]


def _table(windows: Sequence[Window]) -> _Table:
    """Leave out what fewer than `FEWEST` windows have: that says where a text comes from, no more."""
    parts = [part for window in windows for part in (window.buckets, window.concepts)]
    values = [
        np.full(len(part), share)
        for window in windows
        for part, share in ((window.buckets, 1 / np.sqrt(len(window.buckets))), (window.concepts, SHARE))
    ]
    places = np.concatenate(parts)
    sizes = np.array([len(window.buckets) + len(window.concepts) for window in windows])
    often = np.bincount(places, minlength=WEIGHTS) >= FEWEST
    kept = often[places]
    rows = np.repeat(np.arange(len(windows)), sizes)[kept]
    column_of = np.cumsum(often) - 1
    ends = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(windows)))))
    return _Table(ends, column_of[places[kept]], np.concatenate(values)[kept], np.flatnonzero(often))


def _descend(table: _Table, signs: Numbers, importance: Numbers) -> Numbers:
    size = len(table.weights)
    weights, seen = np.zeros(size), np.full(size, 1e-2)
    random = np.random.Generator(np.random.PCG64(SEED))
    for epoch in range(EPOCHS):
        order = random.permutation(len(signs))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            lengths = table.ends[batch + 1] - table.ends[batch]
            rows = np.repeat(np.arange(len(batch)), lengths)
            places = np.arange(len(rows)) + np.repeat(
                table.ends[batch] - np.cumsum(lengths) + lengths, lengths
            )
            kept = random.random(len(places)) >= DROPPED
            rows, places = rows[kept], places[kept]
            columns, values = table.columns[places], table.values[places] / (1 - DROPPED)
            margins = np.bincount(rows, weights=weights[columns] * values, minlength=len(batch))
            short = np.maximum(1 - signs[batch] * margins, 0)
            slope = -2 * short * signs[batch] * importance[batch]
            step = np.bincount(columns, weights=slope[rows] * values, minlength=size) / len(batch)
            step += DECAY * weights
            seen += step * step
            weights -= RATE / (1 + epoch) * step / np.sqrt(seen)
    found = np.zeros(WEIGHTS)
    found[table.weights] = weights
    return found
