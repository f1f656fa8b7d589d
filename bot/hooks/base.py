"""What all hook points have in common.

A point names its own class, what may be changed, and what may stop it: `Point["Self", Changes, Stops]`. Its
handlers return one of these, or `None`.
"""

from functools import cache
from typing import Any, ClassVar, Generic, Literal, Never, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from bot.hooks.effects import Effect
from bot.hooks.state import State, current_state
from bot.messages import Frozen

E = TypeVar("E")
C = TypeVar("C")
S = TypeVar("S")
Kind: TypeAlias = Literal["modifying", "observing", "synchronous", "detached"]


class Point(Frozen, Generic[E, C, S], frozen=True, kw_only=True):
    """What the events of all points have.

    Attributes:
        name: Of the point, as documents and plugins write it.
        kind: Modifying handlers run one after another, observing ones together, synchronous ones at once, and
            nobody waits for detached ones.
        limit: Seconds of a handler that names no limit of its own.
        blocked: The effect of a security handler that fails; without it, a point takes none.
        context: What handlers keep, the same mapping at all points of a turn.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Kind] = "observing"
    limit: ClassVar[float] = 5.0
    blocked: ClassVar[Effect | None] = None

    context: State = msgspec.field(default_factory=current_state)

    def changed(self, effect: C) -> E:
        """The event as it goes on to the next handler."""
        raise NotImplementedError(type(self).__name__)


AnyPoint: TypeAlias = Point[Any, Any, Any]  # `Any`: a handler is called with the event of its own point


@cache
def changes_of(point: type[AnyPoint]) -> tuple[type[Effect], ...]:
    """The effects after which the next handler is asked."""
    return _members(_parameters(point)[1])


@cache
def stops_of(point: type[AnyPoint]) -> tuple[type[Effect], ...]:
    """The effects after which nobody is asked any more."""
    return _members(_parameters(point)[2])


def _parameters(point: type[AnyPoint]) -> tuple[Any, Any, Any]:  # `Any`: what `get_args` gives
    bases = point.__orig_bases__  # type: ignore[attr-defined]  # of every class with a generic base
    own, changes, stops = next(get_args(base) for base in bases if get_origin(base) is Point)
    return own, changes, stops


def _members(union: Any) -> tuple[type[Effect], ...]:
    return () if union is Never else get_args(union) or (union,)
