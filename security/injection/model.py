"""The linear model: a weight for each feature, summed over windows of the text."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from io import BytesIO
from math import log, sqrt
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from security.injection.features import (
    BUCKETS,
    SHARE,
    WEIGHTS,
    buckets_of,
    buckets_of_few,
    concepts_of,
    features_of,
)
from security.injection.matching import Hit
from security.injection.normalise import Codes, Offsets
from security.injection.views import View
from security.injection.words import ASIAN, Flags, words_of

Numbers: TypeAlias = npt.NDArray[np.float64]
Script: TypeAlias = Literal["latin", "asian", "other"]

WINDOW = 320  # characters that are judged together
STEP = 160
MOST_READ = 60 * WINDOW  # characters of one view that the model reads
NOTHING = -5.0  # the margin of a window without features
CHANCE = 0.1  # of a margin, for each e-fold of windows: among many, one is bad by chance
FILE = "weights.npy"
CALIBRATION = "calibration.json"
STEEPNESS: dict[Script, float] = {"latin": 4.0, "asian": 20.0, "other": 4.0}  # harmless Chinese varies less


class Threshold(msgspec.Struct, frozen=True):
    """Margins of a script: above `medium` are 1 % of harmless texts, above `high` 0.2 %."""

    medium: float
    high: float

    def odds(self, margin: float, steepness: float) -> float:
        """A margin as logarithmic odds: 0 at `medium`, 2 at `high`, at most 4.5: short of CRITICAL.

        Args:
            margin: What a window weighs.
            steepness: How fast the odds fall below `medium`, for each 1 of the margin.
        """
        if margin < self.medium:
            return steepness * (margin - self.medium)
        return min(2 * (margin - self.medium) / (self.high - self.medium), 4.5)


class Judged(msgspec.Struct, frozen=True):
    """The window of a view that looks worst.

    Attributes:
        margin: What it weighs.
        start: Its first character, in the view.
        end: The character behind its last.
    """

    margin: float
    start: int
    end: int


class LinearModel:
    """Judges views; `load` reads the one of this package."""

    def __init__(
        self, weights: npt.NDArray[np.int8], scale: float, thresholds: Mapping[Script, Threshold]
    ) -> None:
        if weights.shape != (WEIGHTS,):
            raise ValueError(f"the weights have the shape {weights.shape}, not {(WEIGHTS,)}")
        self._weights = weights[:BUCKETS]
        self._scale = scale
        self._thresholds = thresholds
        self._concepts = (weights[BUCKETS:] * (scale * SHARE)).tolist()

    @classmethod
    def load(cls) -> "LinearModel":
        """Read weights and thresholds from the package."""
        room = files("security.injection")
        return cls.read((room / FILE).read_bytes(), (room / CALIBRATION).read_bytes())

    @classmethod
    def read(cls, weights: bytes, calibration: bytes) -> "LinearModel":
        """Make a model of the bytes of its two files."""
        known = json.loads(calibration)
        thresholds: dict[Script, Threshold] = {
            script: Threshold(**values) for script, values in known["thresholds"].items()
        }
        return cls(np.load(BytesIO(weights), allow_pickle=False), known["scale"], thresholds)

    def odds(self, margin: float, script: Script) -> float:
        """What a margin means in a text of this script."""
        return self._thresholds[script].odds(margin, STEEPNESS[script])

    def judge(self, view: View, hits: Sequence[Hit], without: Flags | None = None) -> Judged:
        """Find the worst window of a view, in which these words of attacks stand.

        Of a long view, the blocks with most of them are read. What starts at places in `without` does not
        count.
        """
        size = len(view.text)
        if not size:
            return Judged(NOTHING, 0, 0)
        if size <= WINDOW and without is None:
            return Judged(self._short(view, hits), 0, size)
        return self._long(view, hits, without)

    def _short(self, view: View, hits: Sequence[Hit]) -> float:
        """The margin of a text of one window."""
        few = view.few
        found = (
            buckets_of(view.codes, view.words, False)[0] if few is None else buckets_of_few(view.text, few)
        )
        if not len(found):
            return NOTHING
        found.sort()
        others = found[1:][found[1:] != found[:-1]]  # than the first: each once
        total = int(self._weights[found[0]]) + int(self._weights[others].sum(dtype=np.int64))
        hashed = total * self._scale / sqrt(len(others) + 1)
        meant: float = sum(self._concepts[number] for _, number in concepts_of(hits))
        return hashed + meant

    def _long(self, view: View, hits: Sequence[Hit], without: Flags | None) -> Judged:
        origin = _chosen(len(view.codes), np.array([hit.start for hit in hits], dtype=np.int64))
        codes, words = view.codes, view.words
        if len(origin) < len(codes):
            codes = codes[origin]
            words = words_of(codes)
        features = features_of(codes, words)
        size = len(codes)
        weights = np.bincount(
            features.places, weights=self._weights[features.buckets] * self._scale, minlength=size
        )
        counts = np.bincount(features.places, minlength=size).astype(np.float64)
        meant = np.zeros(len(view.codes))
        for at, number in concepts_of(hits):
            meant[at] += self._concepts[number]
        meant = meant[origin]
        if without is not None:
            left = ~without[origin]
            weights, counts, meant = weights * left, counts * left, meant * left
        starts, ends = windows_of(size)
        weighed, counted, adding = (
            np.concatenate(([0.0], np.cumsum(one))) for one in (weights, counts, meant)
        )
        many = counted[ends] - counted[starts]
        margins = (weighed[ends] - weighed[starts]) / np.sqrt(np.maximum(many, 1.0))
        margins = np.where(many > 0, margins + adding[ends] - adding[starts], NOTHING)
        worst = int(np.argmax(margins))
        begin, end = int(starts[worst]), int(ends[worst])
        margin = float(margins[worst]) - by_chance(len(starts))
        return Judged(margin, int(origin[begin]), int(origin[end - 1]) + 1)


def _chosen(size: int, suspects: Offsets) -> Offsets:
    """The places to read: all, or the blocks with most suspects; where they have the same, evenly spread."""
    if size <= MOST_READ:
        return np.arange(size, dtype=np.int64)
    blocks = -(-size // WINDOW)
    many = np.bincount(suspects // WINDOW, minlength=blocks)
    spread = np.arange(blocks, dtype=np.int64) * 7_919 % blocks  # a prime: neighbours come far apart
    order = np.lexsort((spread, -np.minimum(many, 8)))
    chosen = np.sort(order[: MOST_READ // WINDOW])
    origin = (chosen[:, None] * WINDOW + np.arange(WINDOW)).ravel()
    return origin[origin < size]


def by_chance(windows: int) -> float:
    """How much of the worst margin of so many windows is owed to their number."""
    return CHANCE * log(windows)


def windows_of(size: int) -> tuple[Offsets, Offsets]:
    """Beginnings and ends of the windows of so many characters; there is always one."""
    starts = np.arange(0, max(size - WINDOW, 0) + STEP, STEP, dtype=np.int64)
    starts = starts[starts < max(size, 1)]
    return starts, np.minimum(starts + WINDOW, size)


def script_of(codes: Codes) -> Script:
    """What a text is mostly written in, leaving out what all scripts share."""
    if not len(codes) or int(codes.max()) < 0x370:
        return "latin"
    asian = int(np.count_nonzero(codes >= ASIAN))
    other = int(np.count_nonzero((codes >= 0x370) & (codes < ASIAN)))
    latin = int(np.count_nonzero(((codes | 0x20) >= 0x61) & ((codes | 0x20) <= 0x7A)))
    if 3 * asian > latin and asian >= other:
        return "asian"
    return "other" if other > latin else "latin"
