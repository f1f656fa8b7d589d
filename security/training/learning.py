"""Learns the weights: a squared hinge and AdaGrad, in operations that every machine rounds alike.

No logarithm or exponential, whose last bit depends on the processor, and sums in a fixed order: the same
corpus gives the same bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from security.injection.features import BITS, features_of
from security.injection.model import Numbers, Script, script_of, windows_of
from security.injection.views import View, views_of
from security.training.corpus import Sample

EPOCHS = 6
BATCH = 256
RATE = 1.0
DECAY = 2e-5
MOST_WINDOWS = 4  # of one reading of a text; evenly spread
SEED = 20_250_101
BUCKETS = 1 << BITS

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one text, those of the reading that counts.

    Attributes:
        buckets: The features of each window.
        script: What the text is written in.
    """

    buckets: tuple[Indices, ...]
    script: Script


def cut(sample: Sample) -> Windows:
    """Cut a text into windows: of an attack its last decoded reading, else all readings."""
    views, _ = views_of(sample.text)
    read = views[-1:] if sample.label and sample.obf else views[:1] if sample.label else views[:3]
    found = tuple(window for view in read for window in _windows(view))
    return Windows(found, script_of(views[0].codes))


def _windows(view: View) -> Iterator[Indices]:
    features = features_of(view.codes, view.words)
    starts, ends = windows_of(len(view.codes))
    chosen = range(len(starts))
    if len(starts) > MOST_WINDOWS:
        chosen = range(0, len(starts), -(-len(starts) // MOST_WINDOWS))
    for at in chosen:
        inside = (features.places >= starts[at]) & (features.places < ends[at])
        buckets = features.buckets[inside].astype(np.int32)
        if len(buckets):
            yield buckets


def weigh(samples: Sequence[Sample]) -> Numbers:
    """How much each text counts: attacks together as much as all others."""
    labels = np.array([sample.label for sample in samples])
    sizes = np.bincount(labels, minlength=2)
    found: Numbers = len(samples) / 2 / sizes[labels]
    return found


def learn(samples: Sequence[Sample], texts: Sequence[Windows]) -> Numbers:
    """Learn the weights of the features; of an attack's windows the one that looks worst counts."""
    importance = weigh(samples)
    weights = np.zeros(BUCKETS)
    for _ in range(2):
        windows: list[Indices] = []
        signs, counts = [], []
        for sample, text, much in zip(samples, texts, importance.tolist(), strict=True):
            chosen = text.buckets
            if sample.label and len(chosen) > 1:
                chosen = (max(chosen, key=lambda one: margin_of(weights, one)),)
            windows += chosen
            signs += [1.0 if sample.label else -1.0] * len(chosen)
            counts += [much / np.sqrt(max(len(chosen), 1))] * len(chosen)
        weights = _descend(windows, np.array(signs), np.array(counts))
    return weights


def margin_of(weights: Numbers, buckets: Indices) -> float:
    """What a window weighs, as the model of the package reckons it."""
    total = np.bincount(np.zeros(len(buckets), dtype=np.int64), weights=weights[buckets])[0]
    return float(total / np.sqrt(len(buckets)))


def _descend(windows: Sequence[Indices], signs: Numbers, importance: Numbers) -> Numbers:
    weights, seen = np.zeros(BUCKETS), np.full(BUCKETS, 1e-2)
    random = np.random.Generator(np.random.PCG64(SEED))
    for epoch in range(EPOCHS):
        order = random.permutation(len(windows))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            lengths = np.array([len(windows[at]) for at in batch])
            buckets = np.concatenate([windows[at] for at in batch])
            rows = np.repeat(np.arange(len(batch)), lengths)
            roots = np.sqrt(lengths)
            margins = np.bincount(rows, weights=weights[buckets], minlength=len(batch)) / roots
            short = np.maximum(1 - signs[batch] * margins, 0)
            slope = -2 * short * signs[batch] * importance[batch] / roots
            step = np.bincount(buckets, weights=slope[rows], minlength=BUCKETS) / len(batch) + DECAY * weights
            seen += step * step
            weights -= RATE / (1 + epoch) * step / np.sqrt(seen)
    return weights
