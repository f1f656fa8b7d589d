"""What a look at a text has found; the scanners and the Guardian share it."""

from enum import IntEnum

from bot.messages import Frozen


class Level(IntEnum):
    """How bad it is; levels can be compared."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    def lowered(self) -> "Level":
        """One less, down to NONE."""
        return Level(max(self - 1, 0))


class Span(Frozen, frozen=True):
    """A place in the text that was looked at.

    Attributes:
        start: Its first character, counted from 0.
        end: The character behind its last.
        type: The name of what was found there: `override`, `model`.
    """

    start: int
    end: int
    type: str


class Verdict(Frozen, frozen=True):
    """What was found.

    Attributes:
        level: What follows from it is the caller's affair.
        score: 0 to 1; grows with the level.
        reasons: Names, the weightiest first; never a piece of the text.
        spans: Where, in characters of the input.
    """

    level: Level
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()


HARMLESS = Verdict(Level.NONE)
