"""Commands from plain functions: the signature is the arguments, the docstring the help."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypedDict,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from bot.commands.call import Answer, Call, Command
from bot.commands.registry import find_fault
from bot.commands.spec import Argument, CommandSpec
from bot.messages import Address, Button, InboundMessage, SessionKey
from bot.tools.declare import read_docstring

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
