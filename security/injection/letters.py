"""How much a text reads like one: what letters follow which, learned from plain texts."""

from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt

from security.injection.normalise import Codes, Offsets

FILE = "letters.npy"
BLANK, DIGIT, SIGN, BEYOND = 26, 27, 28, 29  # the letters of the alphabet come before, 0 to 25
KINDS = 30
SIZE = KINDS**3
STEPS = 8  # of the table, a bit
MOST_READ = 20_000  # characters


def _kinds() -> Offsets:
    """The kind of each code point below 256; what is beyond has that of the last."""
    found = np.full(256, BEYOND, dtype=np.int64)
    found[:128] = SIGN
    found[:33] = BLANK
    found[0x30:0x3A] = DIGIT
    found[0x61:0x7B] = np.arange(26)
    return found


KIND = _kinds()


class Letters:
    """Knows how likely a letter is behind two others; made once, then only read."""

    def __init__(self, table: npt.NDArray[np.int8]) -> None:
        if table.shape != (SIZE,):
            raise ValueError(f"the table has the shape {table.shape}, not {(SIZE,)}")
        self._table = table

    @classmethod
    def load(cls) -> "Letters":
        """Read the table from the package."""
        return cls.read((files("security.injection") / FILE).read_bytes())

    @classmethod
    def read(cls, body: bytes) -> "Letters":
        """Make it of the bytes of its file."""
        return cls(np.load(BytesIO(body), allow_pickle=False))

    def likelihood(self, codes: Codes) -> float:
        """The mean logarithm, in bits a character, of a folded text in lower case: -3 is prose, -6 none."""
        if not len(codes):
            return -99.0
        return float(self._table[triples_of(codes[:MOST_READ])].mean()) / STEPS

    def each(self, codes: Codes) -> npt.NDArray[np.int8]:
        """The logarithm for each character and its neighbours."""
        return self._table[_triples(KIND[np.minimum(codes, 255)])]


def triples_of(codes: Codes) -> Offsets:
    """A number for each three kinds in a row; blanks in a row are one."""
    kinds = KIND[np.minimum(codes, 255)]
    blank = kinds == BLANK
    again = blank[1:] & blank[:-1]
    if again.any():
        kinds = kinds[np.concatenate(([True], ~again))]
    return _triples(kinds)


def _triples(kinds: Offsets) -> Offsets:
    found = np.empty(len(kinds), dtype=np.int64)
    found[0] = BLANK
    found[1:] = kinds[:-1]
    found *= KINDS
    found += kinds
    found *= KINDS
    found[:-1] += kinds[1:]
    found[-1] += BLANK
    return found
