"""Holds sources out, to see what margins harmless texts of unknown origin get."""

from collections.abc import Callable, Sequence

import numpy as np

from security.injection.model import Numbers, Script, Threshold
from security.training.corpus import FOLDS, Sample
from security.training.learning import Cutter, Windows, learn_with_made, margin_of

MEDIUM, HIGH = 0.99, 0.998  # quantiles of the margins of harmless texts
FEWEST = 300  # harmless texts that a script needs for a threshold of its own
LEAST_GAP = 0.05  # between both thresholds

Progress = Callable[[str], None]


def hold_out(
    samples: Sequence[Sample], texts: Sequence[Windows], cutter: Cutter, tell: Progress
) -> tuple[Numbers, list[Numbers]]:
    """The margin of each text by weights that have not seen its origin, and these weights, a fold each."""
    folds = np.array([sample.fold for sample in samples])
    found = np.zeros(len(samples))
    learned = []
    for number, groups in enumerate(FOLDS):
        tell(f"holding out {', '.join(groups)}")
        known = np.flatnonzero(folds != number).tolist()
        weights = learn_with_made([samples[at] for at in known], [texts[at] for at in known], cutter)
        learned.append(weights)
        for at in np.flatnonzero(folds == number).tolist():
            found[at] = max((margin_of(weights, one) for one in texts[at].windows), default=-5.0)
    return found, learned


def calibrate(
    samples: Sequence[Sample], texts: Sequence[Windows], margins: Numbers
) -> dict[Script, Threshold]:
    """Thresholds for each script; one that is too rare in the corpus has those of Latin."""
    harmless = np.array([sample.kind == "benign" for sample in samples])
    scripts = np.array([text.script for text in texts])
    latin = _threshold(margins[harmless & (scripts == "latin")])
    found: dict[Script, Threshold] = {"latin": latin}
    names: tuple[Script, ...] = ("asian", "other")
    for script in names:
        known = margins[harmless & (scripts == script)]
        found[script] = _threshold(known) if len(known) >= FEWEST else latin
    return found


def _threshold(margins: Numbers) -> Threshold:
    """Taken at a text's own margin, not between two, and rounded: for the same digits everywhere."""
    ordered = np.sort(margins)
    medium, high = (float(ordered[int(part * (len(ordered) - 1))]) for part in (MEDIUM, HIGH))
    return Threshold(round(medium, 4), round(max(high, medium + LEAST_GAP), 4))
