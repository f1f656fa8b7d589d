"""Vectors of memories at hand, a matrix a scope; used in one thread."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.long_term.blas import use_one_thread

MB: Final = 1_000_000
HALF: Final = np.dtype("<f2")


class _Matrix(NamedTuple):
    """Row `n` of the values belongs to the memory with the `n`th id."""

    version: int
    ids: NDArray[np.int64]
    values: NDArray[np.float32]


class Matrices:
    """Keeps those that were used last, up to a number of MB; one that is larger is used once."""

    def __init__(self, max_mb: int) -> None:
        use_one_thread()
        self._most = max_mb * MB
        self._kept: OrderedDict[str, _Matrix] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def has(self, scope: str, version: int) -> bool:
        """Whether those of a scope are at hand as they are now."""
        kept = self._kept.get(scope)
        return kept is not None and kept.version == version

    def nearest(
        self, scope: str, version: int, vector: bytes, limit: int, rows: Sequence[tuple[int, bytes]] = ()
    ) -> list[tuple[int, float]]:
        """The ids of the memories that are nearest to a vector, with their likeness from -1 to 1.

        Args:
            rows: All vectors of the scope, where it is not at hand; those of another length are left out.
        """
        matrix = self._kept.get(scope)
        if matrix is None or matrix.version != version:
            matrix = self._make(scope, version, rows, len(vector))
        else:
            self._kept.move_to_end(scope)
        return _nearest(matrix, vector, limit)

    def among(self, rows: Sequence[tuple[int, bytes]], vector: bytes, limit: int) -> list[tuple[int, float]]:
        """The same of rows that belong to no scope and are not kept."""
        return _nearest(_matrix(0, rows, len(vector)), vector, limit)

    def drop(self, scope: str) -> None:
        """Let go of those of a scope."""
        if (matrix := self._kept.pop(scope, None)) is not None:
            self._size -= matrix.values.nbytes

    def _make(self, scope: str, version: int, rows: Sequence[tuple[int, bytes]], length: int) -> _Matrix:
        matrix = _matrix(version, rows, length)
        self.drop(scope)
        if matrix.values.nbytes <= self._most:
            self._kept[scope] = matrix
            self._size += matrix.values.nbytes
            while self._size > self._most:
                self.drop(next(iter(self._kept)))
        return matrix


def _matrix(version: int, rows: Sequence[tuple[int, bytes]], length: int) -> _Matrix:
    fitting = [(id_, data) for id_, data in rows if len(data) == length]
    halves = np.frombuffer(b"".join(data for _, data in fitting), HALF)
    values = halves.reshape(len(fitting), length // HALF.itemsize).astype(np.float32)
    return _Matrix(version, np.array([id_ for id_, _ in fitting], np.int64), values)


def _nearest(matrix: _Matrix, vector: bytes, limit: int) -> list[tuple[int, float]]:
    if not matrix.ids.size:
        return []
    asked = np.frombuffer(vector, HALF).astype(np.float32)
    if asked.size != matrix.values.shape[1]:
        return []
    likeness = matrix.values @ asked
    return [(int(matrix.ids[at]), float(likeness[at])) for at in _best(likeness, limit)]


def _best(likeness: NDArray[np.float32], limit: int) -> list[int]:
    """Where the highest values are, the highest first."""
    count = likeness.size
    top = np.argpartition(likeness, -limit)[-limit:] if count > limit else np.arange(count)
    return [int(at) for at in top[np.argsort(-likeness[top], kind="stable")]]
