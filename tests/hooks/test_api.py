"""Commands and bots from plain functions."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Literal, Optional

import pytest

from bot import Bot, Context, ToolContext, command, hook, tool
from bot.commands.call import Answer, Call, Command
from bot.commands.declare import declare_command
from bot.commands.parsing import Misuse, read_arguments
from bot.extension import Extension, parts_of
from bot.hooks import MessageSending
from bot.messages import Button
from bot.settings import Settings
from tests.factories import inbound


async def obey(made: Command, rest: str = "") -> Answer:
    """Carry a command out, as it is typed."""
    given = read_arguments(made.spec, rest)
    assert not isinstance(given, Misuse), given.text
    assert made.handler is not None
    return await made.handler(Call(message=inbound(f"/{made.spec.name} {rest}"), given=given))


async def dice(context: Context, sides: int = 6) -> str:
    """Roll a die.

    Args:
        sides: How many sides it has.
    """
    return f"{context.person} has one of {sides + 0} sides"


# --- commands


async def test_the_signature_is_the_arguments_and_the_docstring_the_help() -> None:
    spec = declare_command(dice).spec

    assert (spec.name, spec.help, spec.native, spec.is_admin) == ("dice", "Roll a die", "dice", False)
    (argument,) = spec.arguments
    assert (argument.name, argument.help, argument.kind, argument.is_required) == (
        "sides",
        "How many sides it has.",
        "number",
        False,
    )


@pytest.mark.parametrize(("rest", "sides"), [("", 6), ("20", 20)])
async def test_a_number_reaches_the_function_as_a_number(rest: str, sides: int) -> None:
    answer = await obey(declare_command(dice), rest)

    assert answer == Answer(text=f"web:ann has one of {sides} sides")


async def test_the_last_text_takes_the_rest_of_the_line() -> None:
    @command
    async def remind(context: Context, who: str, what: str) -> str:
        """Remind somebody."""
        return f"{who}: {what}"

    assert (await obey(remind, "Ann to water the plants")).text == "Ann: to water the plants"


async def test_choices_are_the_words_of_a_literal() -> None:
    @command
    async def light(state: Literal["on", "off"] | None = None) -> str:
        """Switch the light."""
        return f"It is {state}."

    assert light.spec.arguments[0].choices == ("on", "off")
    assert (await obey(light, "OFF")).text == "It is off."
    assert (await obey(light)).text == "It is None."


async def test_what_may_be_missing_can_be_written_in_the_old_way() -> None:
    @command
    async def go(steps: Optional[int] = None) -> str:  # noqa: UP045 - what is tested
        """Go on."""
        return repr(steps)

    assert (await obey(go, "3")).text == "3"


async def test_replies_and_what_is_returned_are_one_answer() -> None:
    @command
    async def status(context: Context) -> Answer:
        """Tell how things are."""
        await context.reply("Well.", buttons=(Button(label="Why?", value="/why"),))
        await context.reply("Very well.")
        return Answer(text="Thanks.", buttons=(Button(label="And you?"),))

    answer = await obey(status)

    assert answer.text == "Well.\n\nVery well.\n\nThanks."
    assert [button.label for button in answer.buttons] == ["Why?", "And you?"]
    assert answer.reason == "done"


async def test_a_command_that_says_nothing_is_silent() -> None:
    @command
    async def quiet(context: Context) -> None:
        """Say nothing."""

    assert await obey(quiet) == Answer(text="", reason="silent")


async def test_a_command_that_returns_something_else_is_a_fault() -> None:
    @command
    async def number(context: Context) -> int:
        """Give a number."""
        return 7

    with pytest.raises(TypeError, match="not int"):
        await obey(number)


async def test_a_function_that_is_not_async_runs_too() -> None:
    @command
    def hello(context: Context, name: str = "you") -> str:
        """Say hello."""
        return f"Hello {name}!"

    assert (await obey(hello, "dear Ann")).text == "Hello dear Ann!"


async def test_a_context_without_a_type_is_known_by_its_name() -> None:
    @command
    async def where(context) -> str:  # type: ignore[no-untyped-def]  # what is tested
        """Tell where this is."""
        return f"{context.session} {context.address.channel} {context.is_admin} {context.is_operator}"

    assert (await obey(where)).text == "web:default:main web False False"


def no_help(context: Context) -> None: ...


def floats(context: Context, ratio: float) -> None:
    """Take a float."""


def untyped(context: Context, ratio) -> None:  # type: ignore[no-untyped-def]  # what is refused
    """Take anything."""


def many(context: Context, *words: str) -> None:
    """Take many."""


def shouted(mode: Literal["ON"]) -> None:
    """Take what nobody can type."""


def numbered(mode: Literal[1]) -> None:
    """Take what is no word."""


def unknown(mode: "NotThere") -> None:  # type: ignore[name-defined]  # noqa: F821 - what is refused
    """Take what can't be read."""


def Loud() -> None:
    """Be loud."""


def long() -> None:
    """Say what it does in far too many words, so that no menu of any platform could show it in one line of its own."""  # noqa: E501


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (no_help, "needs a docstring"),
        (floats, "'ratio' has to be an int, a str"),
        (untyped, "'ratio' has to be an int, a str"),
        (many, "'words' has no name"),
        (shouted, "'mode' has to be"),
        (numbered, "'mode' has to be"),
        (unknown, "types can't be read"),
        (Loud, "a name is one or two words"),
        (long, "at most 100 characters"),
    ],
)
def test_what_can_not_be_a_command_is_refused_in_words(
    function: Callable[..., object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=f"command '{function.__name__}': .*{re.escape(complaint)}"):
        declare_command(function)


def test_a_command_for_operators_is_for_admins_only() -> None:
    @command(name="shop close", is_operators=True, help="Close the shop", is_listed=False)
    async def close() -> None: ...

    assert close.is_operators
    assert close.spec.is_admin
    assert (close.spec.name, close.spec.help, close.spec.native) == ("shop close", "Close the shop", None)


# --- collecting


def shout(text: str, context: ToolContext) -> str:
    """Say it loudly."""
    return text.upper()


def watch(event: MessageSending) -> None:
    """Look at an answer."""


def test_what_was_marked_in_a_module_is_picked_up_once() -> None:
    module = ModuleType("shop")
    made_tool, made_command, made_hook = tool(shout), command(dice), hook(MessageSending)(watch)
    vars(module).update(a=made_tool, b=made_command, c=made_hook, again=made_tool, other=print)

    parts = parts_of(module)

    assert (parts.tools, parts.commands, parts.hooks) == ((made_tool,), (made_command,), (made_hook,))


def test_decorators_with_and_without_options_register() -> None:
    bot = Bot()

    bot.tool(shout)
    bot.tool(name="whisper", risk="write")(shout)
    bot.command(dice)
    bot.command(name="roll")(dice)
    bot.hook("message_sending")(watch)
    bot.hook(MessageSending, priority=2)(watch)
    bot.hook("message_sending", watch, priority=3)

    assert [one.name for one in bot.parts.tools] == ["shout", "whisper"]
    assert bot.parts.tools[1].risk == "write"
    assert [one.spec.name for one in bot.parts.commands] == ["dice", "roll"]
    assert [one.priority for one in bot.parts.hooks] == [0, 2, 3]


def test_two_tools_or_commands_of_one_name_are_refused() -> None:
    extension = Extension()
    extension.tool(shout)
    extension.command(dice)

    with pytest.raises(ValueError, match="tool 'shout': the name is taken"):
        extension.tool(shout)
    with pytest.raises(ValueError, match="command 'dice': the name is taken"):
        extension.command(dice)


def test_the_same_part_may_be_registered_twice() -> None:
    extension, made = Extension(), tool(shout)
    module = ModuleType("shop")
    vars(module).update(made=made)

    extension.tool(made)
    extension.include(module)

    assert extension.parts.tools == (made,)


def test_hooks_carry_the_name_of_their_plugin() -> None:
    extension = Extension(plugin="shop")

    extension.hook("message_sending", watch)

    assert [one.plugin for one in extension.parts.hooks] == ["shop"]


# --- the bot


def test_a_name_and_settings_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="give one of the two"):
        Bot(name="Dicey", settings=Settings())


def test_a_bot_that_is_not_open_has_no_app() -> None:
    with pytest.raises(RuntimeError, match="async with bot"):
        _ = Bot().app


def test_settings_that_do_not_work_end_the_process_with_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOT_NONSENSE", "1")

    with pytest.raises(SystemExit) as ended:
        Bot(name="Dicey").run()

    assert ended.value.code == 2
    assert "BOT_NONSENSE is not a setting" in capsys.readouterr().err
