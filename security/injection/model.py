"""The linear model: a weight for each feature, summed over windows of the text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from security.injection.features import BITS, features_of
from security.injection.normalise import Codes, Offsets
from security.injection.views import View
from security.injection.words import ASIAN, Flags, words_of

Numbers: TypeAlias = npt.NDArray[np.float64]
Script: TypeAlias = Literal["latin", "asian", "other"]

WINDOW = 320  # characters that are judged together
STEP = 160
MOST_READ = 60 * WINDOW  # characters of one view that the model reads
NOTHING = -5.0  # the margin of a window without features
WEIGHTS = "weights.npy"
CALIBRATION = "calibration.json"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Margins of a script: above `medium` are 1 % of harmless texts, above `high` 0.2 %."""

    medium: float
    high: float

    def odds(self, margin: float) -> float:
        """A margin as logarithmic odds: 0 at `medium`, 2 at `high`, at most 4.5: short of CRITICAL."""
        return min(max(2 * (margin - self.medium) / (self.high - self.medium), -30.0), 4.5)


@dataclass(frozen=True, slots=True)
class Summed:
    """What the features of a view weigh, by the place where they start.

    Attributes:
        weights: Their sum at each place that was read.
        counts: How many there are.
        origin: For each place that was read, which one in the view it is.
    """

    weights: Numbers
    counts: Numbers
    origin: Offsets


@dataclass(frozen=True, slots=True)
class Judged:
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
        if weights.shape != (1 << BITS,):
            raise ValueError(f"the weights have the shape {weights.shape}, not {(1 << BITS,)}")
        self._weights = weights
        self._scale = scale
        self._thresholds = thresholds

    @classmethod
    def load(cls) -> "LinearModel":
        """Read weights and thresholds from the package."""
        room = files("security.injection")
        return cls.read((room / WEIGHTS).read_bytes(), (room / CALIBRATION).read_bytes())

    @classmethod
    def read(cls, weights: bytes, calibration: bytes) -> "LinearModel":
        """Make a model of the bytes of its two files."""
        known = json.loads(calibration)
        thresholds: dict[Script, Threshold] = {
            script: Threshold(**values) for script, values in known["thresholds"].items()
        }
        return cls(np.load(BytesIO(weights), allow_pickle=False), known["scale"], thresholds)

    def sum_up(self, view: View, suspects: Offsets) -> Summed:
        """Weigh the features of a view; of a long one, of the blocks with most suspects.

        Args:
            view: What to read.
            suspects: Places of words that attacks have.
        """
        origin = _chosen(len(view.codes), suspects)
        codes, words = view.codes, view.words
        if len(origin) < len(codes):
            codes = codes[origin]
            words = words_of(codes)
        features = features_of(codes, words)
        size = len(codes)
        weights: Numbers = np.bincount(
            features.places, weights=self._weights[features.buckets] * self._scale, minlength=size
        ).astype(np.float64)
        counts = np.bincount(features.places, minlength=size).astype(np.float64)
        return Summed(weights, counts, origin)

    def judge(self, summed: Summed, without: Flags | None = None) -> Judged:
        """Find the worst window; what starts at places in `without` does not count."""
        weights, counts = summed.weights, summed.counts
        if without is not None:
            left = ~without[summed.origin]
            weights, counts = weights * left, counts * left
        starts, ends = windows_of(len(weights))
        weighed = np.concatenate(([0.0], np.cumsum(weights)))
        counted = np.concatenate(([0.0], np.cumsum(counts)))
        many = counted[ends] - counted[starts]
        margins = np.where(
            many > 0, (weighed[ends] - weighed[starts]) / np.sqrt(np.maximum(many, 1.0)), NOTHING
        )
        worst = int(np.argmax(margins))
        begin, end = int(starts[worst]), int(ends[worst])
        if begin == end:
            return Judged(NOTHING, 0, 0)
        return Judged(float(margins[worst]), int(summed.origin[begin]), int(summed.origin[end - 1]) + 1)

    def odds(self, margin: float, script: Script) -> float:
        """What a margin means in a text of this script."""
        return self._thresholds[script].odds(margin)


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


def windows_of(size: int) -> tuple[Offsets, Offsets]:
    """Beginnings and ends of the windows of so many characters; there is always one."""
    starts = np.arange(0, max(size - WINDOW, 0) + STEP, STEP, dtype=np.int64)
    starts = starts[starts < max(size, 1)]
    return starts, np.minimum(starts + WINDOW, size)


def script_of(codes: Codes) -> Script:
    """What a text is mostly written in, leaving out what all scripts share."""
    asian = int(np.count_nonzero(codes >= ASIAN))
    other = int(np.count_nonzero((codes >= 0x370) & (codes < ASIAN)))
    latin = int(np.count_nonzero(((codes | 0x20) >= 0x61) & ((codes | 0x20) <= 0x7A)))
    if 3 * asian > latin and asian >= other:
        return "asian"
    return "other" if other > latin else "latin"
