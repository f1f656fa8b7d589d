"""Learns what letters follow which from the plain texts of the corpus, attacks or not."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from security.injection.letters import KINDS, SIZE, STEPS, triples_of
from security.injection.normalise import codes_of, fold, lower
from security.training.corpus import Sample

MOST_READ = 1_000  # characters of one text
UNSEEN = 0.02  # of a time that a triple counts as seen which was not


def learn_letters(samples: Sequence[Sample]) -> npt.NDArray[np.int8]:
    """The logarithm of each kind of character behind two others, in steps; disguised texts are left out."""
    seen = np.full(SIZE, UNSEEN)
    for sample in samples:
        codes = codes_of("" if sample.obf else lower(fold(sample.text[:MOST_READ]).text))
        if len(codes):
            seen += np.bincount(triples_of(codes), minlength=SIZE)
    behind = seen.reshape(-1, KINDS)
    likely = np.log2(behind / behind.sum(axis=1, keepdims=True))
    found: npt.NDArray[np.int8] = np.clip(np.rint(likely * STEPS), -127, 127).astype(np.int8).ravel()
    return found
