"""The corpus: labelled texts, and which sources belong together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from bot.errors import ConfigError
from bot.messages import Frozen

VARIABLE = "SECURITY_CORPUS"
GROUPS = (  # the first name that a source contains; what was made from a row stays with it
    ("neuralchemy", "neuralchemy"),
    ("S-Labs", "s-labs"),
    ("yanismiraoui", "yanismiraoui"),
    ("llmail", "mail"),
    ("deepset", "mail"),
    ("BIPIA", "bipia"),
    ("GPTFuzz", "jailbreaks"),
    ("yunwei37", "jailbreaks"),
    ("authored", "authored"),
    ("glaive", "tools"),
    ("alpaca_zh", "alpaca zh"),
    ("alpaca", "alpaca en"),
    ("BELLE", "belle"),
    ("PlexPt", "roles zh"),
    ("C4", "pages"),
    ("PyPI", "docs"),
)
FOLDS = (  # held out together: attacks of one origin with harmless texts of another
    ("neuralchemy", "alpaca zh"),
    ("s-labs", "pages", "tools"),
    ("yanismiraoui", "alpaca en"),
    ("mail", "docs"),
    ("bipia", "jailbreaks", "roles zh"),
    ("authored", "belle"),
)


class Sample(Frozen, frozen=True):
    """A labelled text.

    Attributes:
        label: 1 for an attack, 0 for none.
        kind: `hard_benign` is harmless and looks bad.
        obf: How it was disguised, if it was.
    """

    text: str
    label: Literal[0, 1]
    kind: Literal["direct", "indirect", "jailbreak", "benign", "hard_benign"]
    lang: str
    source: str
    obf: str | None = None

    @property
    def group(self) -> str:
        """The origin that this and others have in common."""
        return next((group for name, group in GROUPS if name in self.source), self.source)

    @property
    def fold(self) -> int:
        """Which fold of the cross-validation holds it out."""
        return next((number for number, groups in enumerate(FOLDS) if self.group in groups), 0)


def read_corpus(path: Path | None) -> Sequence[Sample]:
    """Read a corpus: a JSON object a line.

    Raises:
        ConfigError: It is not named, not there, or not as described.
    """
    if path is None:
        raise ConfigError(f"no corpus: name the file (injection_dev.jsonl) with --corpus or in {VARIABLE}")
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"corpus {str(path)!r} can't be read: {error.strerror}") from error
    try:
        return [msgspec.json.decode(line, type=Sample) for line in lines]
    except msgspec.DecodeError as error:
        raise ConfigError(f"corpus {str(path)!r} is no corpus: {error}") from error
