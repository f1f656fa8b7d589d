"""What a bot can be extended with, and where it is registered: tools, commands, hooks."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, Unpack, overload

import msgspec
from msgspec.structs import replace

from bot.commands.call import Command
from bot.commands.declare import CommandOptions, Function, declare_command
from bot.hooks.base import AnyPoint, Point
from bot.hooks.handler import AnyHandler, Handler, Hook, HookOptions, declare_hook
from bot.tools.base import Tool
from bot.tools.declare import Options, tool

E = TypeVar("E")
C = TypeVar("C")
S = TypeVar("S")


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What `@tool`, `@command` and `@hook` have made."""

    tools: tuple[Tool, ...] = ()
    commands: tuple[Command, ...] = ()
    hooks: tuple[Hook, ...] = ()


def parts_of(module: ModuleType) -> Parts:
    """The parts that stand in a module, in its order; one under two names counts once."""
    values = list({id(value): value for value in vars(module).values()}.values())
    return Parts(
        tools=tuple(value for value in values if isinstance(value, Tool)),
        commands=tuple(value for value in values if isinstance(value, Command)),
        hooks=tuple(value for value in values if isinstance(value, Hook)),
    )


class Extension:
    """Collects parts of a bot; what can't be one is a `ValueError` where it is registered.

    Args:
        plugin: Whose they are.
    """

    def __init__(self, *, plugin: str = "") -> None:
        self._plugin = plugin
        self._parts = Parts()

    @property
    def parts(self) -> Parts:
        """All that was registered so far."""
        return self._parts

    @overload
    def tool(self, function: Function | Tool) -> Tool: ...

    @overload
    def tool(self, **options: Unpack[Options]) -> Callable[[Function], Tool]: ...

    def tool(
        self, function: Function | Tool | None = None, **options: Unpack[Options]
    ) -> Tool | Callable[[Function], Tool]:
        """Let the model call a function; a decorator, with or without options."""
        if function is None:
            return lambda decorated: self._add_tool(tool(**options)(decorated))
        return self._add_tool(function if isinstance(function, Tool) else tool(**options)(function))

    @overload
    def command(self, function: Function | Command) -> Command: ...

    @overload
    def command(self, **options: Unpack[CommandOptions]) -> Callable[[Function], Command]: ...

    def command(
        self, function: Function | Command | None = None, **options: Unpack[CommandOptions]
    ) -> Command | Callable[[Function], Command]:
        """Let people call a function, with `/name`; a decorator, with or without options."""
        if function is None:
            return lambda decorated: self._add_command(declare_command(decorated, **options))
        if isinstance(function, Command):
            return self._add_command(function)
        return self._add_command(declare_command(function, **options))

    @overload
    def hook(
        self, point: type[Point[E, C, S]], handler: None = None, **options: Unpack[HookOptions]
    ) -> Callable[[Handler[E, C, S]], Hook]: ...

    @overload
    def hook(
        self, point: str, handler: None = None, **options: Unpack[HookOptions]
    ) -> Callable[[AnyHandler], Hook]: ...

    @overload
    def hook(
        self, point: str | type[AnyPoint], handler: AnyHandler, **options: Unpack[HookOptions]
    ) -> Hook: ...

    def hook(
        self,
        point: str | type[AnyPoint],
        handler: AnyHandler | None = None,
        **options: Unpack[HookOptions],
    ) -> Hook | Callable[[Any], Hook]:
        """Have a function called at a point of docs/hooks.md; a decorator, where no handler is given."""
        if handler is None:
            return lambda decorated: self._add_hook(declare_hook(point, decorated, **options))
        return self._add_hook(declare_hook(point, handler, **options))

    def include(self, module: ModuleType) -> None:
        """Take over all that `@tool`, `@command` and `@hook` have made in a module."""
        found = parts_of(module)
        for one in found.tools:
            self._add_tool(one)
        for each in found.commands:
            self._add_command(each)
        for every in found.hooks:
            self._add_hook(every)

    def _add_tool(self, made: Tool) -> Tool:
        if any(one is made for one in self._parts.tools):  # marked, and registered once more
            return made
        if made.name in {one.name for one in self._parts.tools}:
            raise ValueError(f"tool {made.name!r}: the name is taken")
        self._parts = replace(self._parts, tools=(*self._parts.tools, made))
        return made

    def _add_command(self, made: Command) -> Command:
        if any(one is made for one in self._parts.commands):
            return made
        if made.spec.name in {one.spec.name for one in self._parts.commands}:
            raise ValueError(f"command {made.spec.name!r}: the name is taken")
        self._parts = replace(self._parts, commands=(*self._parts.commands, made))
        return made

    def _add_hook(self, made: Hook) -> Hook:
        made = replace(made, plugin=self._plugin or made.plugin)
        self._parts = replace(self._parts, hooks=(*self._parts.hooks, made))
        return made
