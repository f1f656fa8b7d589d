"""A bot of one's own: tools, commands and hooks from plain functions.

bot = Bot(name="Dicey")

@bot.command
async def dice(context: Context, sides: int = 6) -> str:
    \"\"\"Roll a die.\"\"\"
    return str(randint(1, sides))

bot.run()
"""

import asyncio
import inspect
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType, NoneType, TracebackType, UnionType
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from bot.backends.base import AgentBackend
from bot.bus import Bus
from bot.commands.call import Answer, Call, Command
from bot.commands.registry import find_fault
from bot.commands.spec import Argument, CommandSpec
from bot.errors import BotError, ConfigError
from bot.hooks.base import AnyPoint, Point
from bot.hooks.handler import AnyHandler, Handler, Hook, HookOptions, declare_hook, hook
from bot.hooks.registry import Hooks
from bot.messages import Address, Button, InboundMessage, SessionKey
from bot.operations.terminal import run_loop, say
from bot.settings import Settings, load_settings
from bot.telemetry import set_up_logging
from bot.tools.base import Tool, ToolContext
from bot.tools.declare import Options, declare, read_docstring, tool

__all__ = [
    "Bot",
    "Context",
    "Extension",
    "Parts",
    "ToolContext",
    "command",
    "declare_command",
    "hook",
    "parts_of",
    "tool",
]

LAST_SECONDS = 40.0  # after the grace, until the process goes whatever still hangs

E = TypeVar("E")
C = TypeVar("C")
S = TypeVar("S")
Function: TypeAlias = Callable[..., Any]  # `Any`: the signature is looked at when it is registered


class CommandOptions(TypedDict, total=False):
    """How a command differs from what its function says.

    Attributes:
        name: As it is typed; without it, the function's.
        help: One line; without it, the first one of the docstring.
        is_admin: Only for admins.
        is_operators: Only for those who may steer the bot as a whole.
        is_listed: It stands in the menus of platforms that have one; it does if nothing is said.
    """

    name: str
    help: str
    is_admin: bool
    is_operators: bool
    is_listed: bool


class Context:
    """What a command's function gets: who said what, where, and a way to answer.

    Attributes:
        message: The command as it came; `session` and `address` are its own.
        is_admin: The person may use admin commands here.
        is_operator: The person may steer the bot as a whole, too.
        person: Who gave it, as admins are named in the settings.
    """

    def __init__(self, call: Call) -> None:
        self.message: InboundMessage = call.message
        self.session: SessionKey = call.message.session
        self.address: Address = call.message.address
        self.is_admin = call.is_admin
        self.is_operator = call.is_operator
        self.person = call.actor
        self._texts: list[str] = []
        self._buttons: list[Button] = []

    async def reply(self, text: str, *, buttons: tuple[Button, ...] = ()) -> None:
        """Add to the answer, which is sent when the function ends; what it returns comes last."""
        self._texts.append(text)
        self._buttons += buttons

    def answer(self, returned: object) -> Answer:
        """The whole answer; silent where nothing was said.

        Raises:
            TypeError: The function has returned something else than text, an `Answer` or nothing.
        """
        if not isinstance(returned, str | Answer | None):
            raise TypeError(f"a command returns text, an Answer or None, not {type(returned).__name__}")
        last = returned if isinstance(returned, Answer) else Answer(text=returned or "")
        text = "\n\n".join(part for part in (*self._texts, last.text) if part)
        return Answer(
            text=text,
            buttons=(*self._buttons, *last.buttons),
            reason=last.reason if text else "silent",
            target=last.target,
        )


def declare_command(function: Function, **options: Unpack[CommandOptions]) -> Command:
    """Make a command of a function: its signature is the arguments, its docstring the help.

    A function that is not async runs in a thread.

    Raises:
        ValueError: Its signature, its name or its help can't be a command's.
    """
    name = options.get("name", getattr(function, "__name__", ""))
    text, helps = read_docstring(inspect.getdoc(function) or "")
    context_name, arguments = _read_signature(name, function, helps)
    numbers = {one.name for one in arguments if one.kind == "number"}
    is_operators = options.get("is_operators", False)
    made = Command(
        CommandSpec(
            name=name,
            help=options.get("help", text.split("\n")[0].rstrip(".")),
            arguments=tuple(arguments),
            is_admin=is_operators or options.get("is_admin", False),
            native=name.replace(" ", "_") if options.get("is_listed", True) else None,
        ),
        _as_handler(function, context_name, numbers),
        is_operators,
    )
    if not made.spec.help:
        raise ValueError(f"command {name!r}: it needs a docstring, for the help")
    if (fault := find_fault(made)) is not None:
        raise ValueError(f"command {name!r}: {fault}")
    return made


def _read_signature(
    name: str, function: Function, helps: dict[str, str]
) -> tuple[str | None, list[Argument]]:
    """The parameter that takes the context, and the arguments; the last one, if text, takes the rest."""
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise ValueError(f"command {name!r}: its types can't be read: {error}") from error
    context_name = None
    found: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"command {name!r}: parameter {parameter.name!r} has no name to call it by")
        if hint is Context or (hint is None and parameter.name == "context"):
            context_name = parameter.name
        else:
            found.append(parameter)
    return context_name, [
        Argument(
            name=parameter.name,
            help=helps.get(parameter.name, parameter.name),
            kind=_kind(name, parameter, hints.get(parameter.name), is_last=parameter is found[-1]),
            choices=_choices(hints.get(parameter.name)),
            is_required=parameter.default is parameter.empty,
        )
        for parameter in found
    ]


def _kind(
    name: str, parameter: inspect.Parameter, hint: object, *, is_last: bool
) -> Literal["word", "number", "rest"]:
    hint = _without_none(hint)
    if hint is int:
        return "number"
    if hint is str:
        return "rest" if is_last else "word"
    choices = _choices(hint)
    if choices and all(one == one.lower() and len(one.split()) == 1 for one in choices):
        return "word"
    what = "an int, a str, or a Literal of words in lower case"
    raise ValueError(f"command {name!r}: parameter {parameter.name!r} has to be {what}")


def _choices(hint: object) -> tuple[str, ...]:
    hint = _without_none(hint)
    words = get_args(hint) if get_origin(hint) is Literal else ()
    return words if all(isinstance(one, str) for one in words) else ()


def _without_none(hint: object) -> object:
    """`int` of `int | None`."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [one for one in get_args(hint) if one is not NoneType]
    return kinds[0] if len(kinds) == 1 else hint


def _as_handler(
    function: Function, context_name: str | None, numbers: set[str]
) -> Callable[[Call], Awaitable[Answer]]:
    is_async = inspect.iscoroutinefunction(function)

    async def obey(call: Call) -> Answer:
        context = Context(call)
        given: dict[str, object] = {
            name: int(value) if name in numbers else value for name, value in call.given.items()
        }
        if context_name is not None:
            given[context_name] = context
        returned = await function(**given) if is_async else await asyncio.to_thread(function, **given)
        return context.answer(returned)

    return obey


@overload
def command(function: Function) -> Command: ...


@overload
def command(**options: Unpack[CommandOptions]) -> Callable[[Function], Command]: ...


def command(
    function: Function | None = None, **options: Unpack[CommandOptions]
) -> Command | Callable[[Function], Command]:
    """`declare_command` as a decorator, with or without options."""
    if function is not None:
        return declare_command(function, **options)
    return lambda decorated: declare_command(decorated, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
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
            return lambda decorated: self._add_tool(declare(decorated, **options))
        return self._add_tool(function if isinstance(function, Tool) else declare(function, **options))

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


class Running(Protocol):
    """The open bot: `bot.app.App`."""

    bus: Bus
    url: str | None
    restart_asked: asyncio.Event


class Bot(Extension):
    """A bot: what is registered, and the settings it runs with.

    Args:
        name: What it is called; without it, the settings say so.
        settings: Without them, they are read when it starts: environment, `.env`, `bot.toml`.
        backend: An agent of one's own, instead of the one the settings name.

    Raises:
        ValueError: Both a name and settings are given: which of them counts?
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        settings: Settings | None = None,
        backend: AgentBackend | None = None,
    ) -> None:
        super().__init__()
        if name is not None and settings is not None:
            raise ValueError("name stands in the settings: give one of the two")
        self._name = name
        self._settings = settings
        self._backend = backend
        self._stack = AsyncExitStack()
        self._app: Running | None = None

    @property
    def app(self) -> Running:
        """The open bot.

        Raises:
            RuntimeError: It is not open.
        """
        if self._app is None:
            raise RuntimeError("the bot is not open: use `async with bot`, or bot.run()")
        return self._app

    async def __aenter__(self) -> Self:
        """Start everything; see `bot.app.App`."""
        await self._open(self._read_settings())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._app = None
        await self._stack.aclose()

    def run(self) -> None:
        """Start the bot and keep it running until Ctrl-C, a signal or an admin ends it; ends the process.

        Exit codes are those of `python -m bot`.
        """
        try:
            settings = self._read_settings()
            set_up_logging(settings.log.level, settings.log.format)
            is_to_restart = run_loop(self._serve(settings))
        except BotError as error:
            sys.stderr.write(f"{error}\n")
            raise SystemExit(2 if isinstance(error, ConfigError) else 1) from error
        if is_to_restart:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        raise SystemExit(0)

    def _read_settings(self) -> Settings:
        if self._settings is not None:
            return self._settings
        return load_settings() if self._name is None else load_settings(name=self._name)

    async def _open(self, settings: Settings) -> Running:
        if self._app is not None:
            raise RuntimeError("the bot is open already")
        hooks = Hooks()
        for one in self.parts.hooks:
            hooks.add(one)
        app = import_module("bot.app").App(  # late: it imports the channels, which import this package
            settings,
            backend=self._backend,
            commands=self.parts.commands,
            tools=self.parts.tools,
            hooks=hooks,
        )
        self._app = await self._stack.enter_async_context(app)
        return self.app

    async def _serve(self, settings: Settings) -> bool:
        """Run until somebody ends it; gives whether it is to be started again."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            app = await self._open(settings)
            if app.url is not None:
                say(f"Chat with {settings.name} at {app.url}/chat  (Ctrl-C stops)")
            import_module("bot.app").calm_collector()
            waits = {asyncio.ensure_future(event.wait()) for event in (stop, app.restart_asked)}
            _, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in others:
                wait.cancel()
            last = threading.Timer(settings.shutdown_grace + LAST_SECONDS, os._exit, (1,))
            last.daemon = True
            last.start()  # a turn that does not let itself be cancelled must not keep the process alive
            return not stop.is_set()
        finally:
            await self.__aexit__(None, None, None)
