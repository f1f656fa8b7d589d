"""A hook handler as it is registered: looked at once, here, and never while it serves."""

import inspect
import math
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, get_type_hints, overload

import msgspec

from bot.hooks.base import AnyPoint, Point
from bot.hooks.names import FOREIGN
from bot.hooks.points import POINTS

MAX_SECONDS = 600.0

E = TypeVar("E")
C = TypeVar("C")
S = TypeVar("S")
Handler: TypeAlias = Callable[[E], C | S | Awaitable[C | S | None] | None]
AnyHandler: TypeAlias = Callable[[Any], object]  # `Any`: the event of the point it was registered for


class Hook(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A handler at its point; made by `declare_hook` or `@hook`.

    Attributes:
        handler: Async, or quick: one that is not async runs in the event loop, and holds everybody up.
        priority: Higher ones come first; the same ones in the order of registration.
        seconds: The most that one call takes.
        is_security: Where it fails or is late, what it was to judge does not happen.
        plugin: Who brought it.
    """

    point: type[AnyPoint]
    handler: AnyHandler
    priority: int
    seconds: float
    is_security: bool = False
    plugin: str = ""

    @property
    def label(self) -> str:
        """What it is called in the log."""
        name = getattr(self.handler, "__qualname__", type(self.handler).__qualname__)
        return f"{getattr(self.handler, '__module__', '')}.{name}"


class HookOptions(TypedDict, total=False):
    """See the fields of the same names in `Hook`; without `seconds`, the limit of the point holds."""

    priority: int
    seconds: float
    is_security: bool
    plugin: str


@overload
def declare_hook(
    point: type[Point[E, C, S]], handler: Handler[E, C, S], **options: Unpack[HookOptions]
) -> Hook: ...


@overload
def declare_hook(
    point: str | type[AnyPoint], handler: AnyHandler, **options: Unpack[HookOptions]
) -> Hook: ...


def declare_hook(point: str | type[AnyPoint], handler: AnyHandler, **options: Unpack[HookOptions]) -> Hook:
    """Put a handler to a point, by its class or its name.

    Raises:
        ValueError: There is no such point, or the handler can't serve there.
    """
    found = find_point(point) if isinstance(point, str) else point
    made = Hook(
        point=found,
        handler=handler,
        priority=options.get("priority", 0),
        seconds=options.get("seconds", found.limit),
        is_security=options.get("is_security", False),
        plugin=options.get("plugin", ""),
    )
    if (fault := _find_fault(made)) is not None:
        raise ValueError(f"hook {found.name}, handler {made.label}: {fault}")
    return made


@overload
def hook(
    point: type[Point[E, C, S]], **options: Unpack[HookOptions]
) -> Callable[[Handler[E, C, S]], Hook]: ...


@overload
def hook(point: str, **options: Unpack[HookOptions]) -> Callable[[AnyHandler], Hook]: ...


def hook(point: str | type[AnyPoint], **options: Unpack[HookOptions]) -> Callable[[AnyHandler], Hook]:
    """`declare_hook` as a decorator."""
    return lambda handler: declare_hook(point, handler, **options)


def find_point(name: str) -> type[AnyPoint]:
    """The point of a name.

    Raises:
        ValueError: There is none; names the nearest.
    """
    if name in POINTS:
        return POINTS[name]
    ours = [alias.ours for alias in FOREIGN if alias.theirs == name and alias.ours]
    near = ours or get_close_matches(name, POINTS, n=1)
    raise ValueError(f"there is no hook point {name!r}{f': is it {near[0]}?' if near else ''}")


def _find_fault(hook: Hook) -> str | None:
    """What is wrong with a handler."""
    if not callable(hook.handler):
        return "it can't be called"
    if not (math.isfinite(hook.seconds) and 0 < hook.seconds <= MAX_SECONDS):
        return f"seconds is more than 0 and at most {MAX_SECONDS:.0f}"
    if hook.is_security and hook.point.blocked is None:
        return "nothing can be blocked at this point: is_security has no meaning"
    if hook.point.kind == "synchronous" and _is_async(hook.handler):
        return "this point is synchronous: its handlers are not async"
    return _signature_fault(hook)


def _signature_fault(hook: Hook) -> str | None:
    try:
        signature = inspect.signature(hook.handler)
    except (TypeError, ValueError):  # written in C: it has no signature to look at
        return None
    try:
        bound = signature.bind(hook.point)
    except TypeError:
        return "it is called with one argument, the event"
    name = next(iter(bound.arguments))
    expected = _hints(hook.handler).get(name)
    if isinstance(expected, type) and expected in POINTS.values() and expected is not hook.point:
        return f"it takes a {expected.__name__}, and gets a {hook.point.__name__}"
    return None


def _hints(handler: AnyHandler) -> dict[str, Any]:
    """The types of the parameters, as far as they can be read."""
    function = handler if inspect.isroutine(handler) else type(handler).__call__
    try:
        return get_type_hints(function)
    except (NameError, TypeError, AttributeError):  # names that only a type checker imports; partial objects
        return {}


def _is_async(handler: AnyHandler) -> bool:
    inner = getattr(handler, "func", handler)  # of a `functools.partial`
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)
