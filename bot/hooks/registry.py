"""The hooks that are registered: asked in order, each within its time; none can break what it watches."""

import asyncio
import inspect
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Coroutine
from types import TracebackType
from typing import Any, TypeVar, Unpack, assert_never, cast, overload

from bot.errors import BotError
from bot.hooks.base import AnyPoint, Point, changes_of, stops_of
from bot.hooks.effects import Effect
from bot.hooks.handler import AnyHandler, Handler, Hook, HookOptions, declare_hook
from bot.hooks.points import ToolResultPersist

log = logging.getLogger(__name__)

TOGETHER = 8  # observing handlers of one event that run at once
MAX_DETACHED = 256  # handlers nobody waits for; past it an event is passed over
MAX_STUCK = 4  # calls of one handler that would not be stopped; past it the handler is passed over
GRACE = 1.0
LAST_SECONDS = 5.0

E = TypeVar("E")
C = TypeVar("C")
S = TypeVar("S")


class HookFault(BotError):
    """A handler did not do as it should."""


class Hooks:
    """Every handler of the bot. Who makes it closes it, after the last event.

    A handler that fails, is late or answers what its point does not know is named in the log and passed over;
    what a security handler was to judge is blocked.

    Args:
        grace: Seconds that a late handler gets to stop.
        last_seconds: For handlers nobody waits for, when the bot stops.
    """

    def __init__(self, *, grace: float = GRACE, last_seconds: float = LAST_SECONDS) -> None:
        self._grace = grace
        self._last_seconds = last_seconds
        self._hooks: dict[type[AnyPoint], tuple[Hook, ...]] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._detached: set[asyncio.Task[None]] = set()
        self._stuck: Counter[Hook] = Counter()
        self._is_closed = False

    @overload
    def on(
        self, point: type[Point[E, C, S]], handler: Handler[E, C, S], **options: Unpack[HookOptions]
    ) -> None: ...

    @overload
    def on(self, point: str, handler: AnyHandler, **options: Unpack[HookOptions]) -> None: ...

    def on(self, point: str | type[AnyPoint], handler: AnyHandler, **options: Unpack[HookOptions]) -> None:
        """Register a handler.

        Raises:
            ValueError: There is no such point, or the handler can't serve there.
        """
        self.add(declare_hook(point, handler, **options))

    def add(self, hook: Hook) -> None:
        """Register what `declare_hook` or `@hook` made."""
        hooks = (*self._hooks.get(hook.point, ()), hook)
        self._hooks[hook.point] = tuple(sorted(hooks, key=lambda one: -one.priority))  # stable: in order

    @property
    def all(self) -> tuple[Hook, ...]:
        """Every handler, point by point, in the order in which they are asked."""
        return tuple(hook for hooks in self._hooks.values() for hook in hooks)

    def wants(self, point: type[AnyPoint]) -> bool:
        """Whether anybody listens; where not, the event need not even be made."""
        return point in self._hooks

    async def fire(self, event: Point[E, C, S]) -> E | S:
        """Ask all handlers of an event; gives it as they left it, or what stopped it."""
        hooks = self._hooks.get(type(event))
        if hooks is None:
            return cast(E, event)
        match event.kind:
            case "modifying":
                return cast(E | S, await self._ask_in_turn(hooks, event))
            case "observing":
                await self._tell(hooks, event)
            case "detached":
                self._detach(hooks, event)
            case "synchronous":
                raise TypeError(f"{event.name} is synchronous: call fire_now")
            case _:
                assert_never(event.kind)
        return cast(E, event)

    def fire_now(self, event: ToolResultPersist) -> ToolResultPersist:
        """The same for the point that can't wait; a slow handler is named in the log."""
        for hook in self._hooks.get(ToolResultPersist, ()):
            event = cast(ToolResultPersist, _ask_now(hook, event))
        return event

    async def aclose(self) -> None:
        """Let handlers that nobody waits for come to their end, within limits; then stop what is left."""
        self._is_closed = True
        if self._detached:
            await asyncio.wait(set(self._detached), timeout=self._last_seconds)
        left = {*self._detached, *self._tasks}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=self._grace)

    # --- the ways to ask

    async def _ask_in_turn(self, hooks: tuple[Hook, ...], event: AnyPoint) -> AnyPoint | Effect:
        for hook in hooks:
            left = await self._ask(hook, event)
            if isinstance(left, Effect):
                return left
            event = left
        return event

    async def _tell(self, hooks: tuple[Hook, ...], event: AnyPoint) -> None:
        if len(hooks) == 1:
            await self._ask(hooks[0], event)
            return
        room = asyncio.Semaphore(TOGETHER)

        async def ask(hook: Hook) -> None:
            async with room:
                await self._ask(hook, event)

        async with asyncio.TaskGroup() as group:
            for hook in hooks:
                group.create_task(ask(hook), name=f"hook {event.name}")

    def _detach(self, hooks: tuple[Hook, ...], event: AnyPoint) -> None:
        for hook in hooks:
            if self._is_closed or len(self._detached) >= MAX_DETACHED:
                log.warning("hook handler passed over", extra=_who(hook))
                continue
            task = asyncio.create_task(self._ask_alone(hook, event), name=f"hook {event.name}")
            self._detached.add(task)
            task.add_done_callback(self._detached.discard)

    async def _ask_alone(self, hook: Hook, event: AnyPoint) -> None:
        await self._ask(hook, event)

    async def _ask(self, hook: Hook, event: AnyPoint) -> AnyPoint | Effect:
        """One handler: the event as it leaves it, or what stops it."""
        with _Watched(hook):
            answer = _call(hook, event)
            if inspect.isawaitable(answer):
                answer = await self._in_time(hook, answer)
            return _apply(hook, event, answer)
        return _after_failure(hook, event)

    async def _in_time(self, hook: Hook, answer: Awaitable[object]) -> object:
        """Wait for a handler in a task of its own, so that one that will not stop holds nobody up."""
        if self._stuck[hook] >= MAX_STUCK:
            _discard(answer)
            raise HookFault(f"{MAX_STUCK} earlier calls still hang")
        task = self._own(_finish(answer), f"hook {hook.point.name}")
        try:
            await asyncio.wait({task}, timeout=hook.seconds)
        finally:
            is_late = not task.done()
            if is_late:
                task.cancel()
        if is_late:
            await asyncio.wait({task}, timeout=self._grace)
            self._note_stuck(hook, task)
            raise HookFault(f"not done after {hook.seconds:g} s")
        if task.cancelled():
            raise HookFault("it cancelled itself")
        return task.result()

    def _own(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[object]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain of one that nobody waits for

    def _note_stuck(self, hook: Hook, task: asyncio.Task[object]) -> None:
        if task.done():
            return
        self._stuck[hook] += 1
        task.add_done_callback(lambda _: self._stuck.subtract([hook]))


def _ask_now(hook: Hook, event: ToolResultPersist) -> AnyPoint | Effect:
    with _Watched(hook):
        answer = _call(hook, event)
        _discard(answer)
        return _apply(hook, event, answer)
    return _after_failure(hook, event)


async def _finish(answer: Awaitable[object]) -> object:
    try:
        return await answer
    except SystemExit as error:  # would end the bot
        raise HookFault("it raised SystemExit") from error


def _call(hook: Hook, event: AnyPoint) -> object:
    """Call a handler; what it does before its first wait happens here, in the event loop."""
    began = time.monotonic()
    try:
        return hook.handler(event)
    except (SystemExit, asyncio.CancelledError) as error:  # would end the bot, or pass for a /kill
        raise HookFault(f"it raised {type(error).__name__}") from error
    finally:
        if (seconds := time.monotonic() - began) > hook.seconds:
            log.warning("hook handler slow", extra={**_who(hook), "seconds": round(seconds, 3)})


def _apply(hook: Hook, event: AnyPoint, answer: object) -> AnyPoint | Effect:
    """What a handler's answer makes of an event."""
    if answer is None:
        return event
    if isinstance(answer, stops_of(hook.point)):
        return answer
    if isinstance(answer, changes_of(hook.point)):
        return cast(AnyPoint, event.changed(answer))
    known = ", ".join(one.__name__ for one in (*changes_of(hook.point), *stops_of(hook.point)))
    raise HookFault(f"it answered {type(answer).__name__}, not {known or 'None'}")


class _Watched:
    """Lets no error of a handler out."""

    __slots__ = ("_hook",)

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __enter__(self) -> None:
        """Nothing is to be prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, HookFault):
            log.error("hook handler failed", extra={**_who(self._hook), "cause": str(error)})
        elif isinstance(error, Exception):  # code of a plugin must not break what it watches
            log.error("hook handler failed", exc_info=error, extra=_who(self._hook))
        return isinstance(error, Exception)


def _after_failure(hook: Hook, event: AnyPoint) -> AnyPoint | Effect:
    """What becomes of an event whose handler failed: it goes on, or is blocked."""
    return _apply(hook, event, event.blocked if hook.is_security else None)


def _discard(answer: object) -> None:
    """Close a coroutine that is not run: it would warn."""
    if inspect.iscoroutine(answer):
        answer.close()


def _who(hook: Hook) -> dict[str, object]:
    return {"point": hook.point.name, "handler": hook.label, "plugin": hook.plugin}
