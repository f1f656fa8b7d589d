"""Reading commands: the head of a message, and the arguments behind it."""

import re
from typing import Literal

from bot.commands.spec import Argument, CommandSpec
from bot.messages import Frozen

# bounded, so that no text makes it slow; `/usr/bin/x`, `/ hello` and `/5` are none
_HEAD = re.compile(r"\s*([/!])([a-zA-Z][a-zA-Z0-9_]{0,63})(?:@([^\s@]{1,64}))?(?:\s+|$)")
_WORD = re.compile(r"(\S+)\s*")


class Head(Frozen, frozen=True, kw_only=True):
    """The first word of a message that may be a command.

    Attributes:
        name: In lower case.
        bot: Whose it is, in lower case, where that was said: `/help@bot`.
        rest: What stands behind it, line breaks kept.
    """

    sign: Literal["/", "!"]
    name: str
    bot: str | None
    rest: str


class Misuse(Frozen, frozen=True, kw_only=True):
    """Arguments that a command does not take, and what is wrong with them."""

    text: str


def read_head(text: str) -> Head | None:
    """Read the first word of a message; `None` if it can't be a command."""
    match = _HEAD.match(text) if text[:1] in ("/", "!") or text[:1].isspace() else None
    if match is None:
        return None
    sign, name, bot = match.groups()
    return Head(
        sign="/" if sign == "/" else "!",
        name=name.lower(),
        bot=bot.lower() if bot else None,
        rest=text[match.end() :].rstrip(),
    )


def first_word(rest: str) -> tuple[str, str]:
    """Split off the first word; both parts may be empty."""
    match = _WORD.match(rest)
    return (match[1], rest[match.end() :]) if match else ("", rest)


def usage(spec: CommandSpec) -> str:
    """How a command is typed, like `/rename <title>`."""
    return " ".join((f"/{spec.name}", *(_placeholder(argument) for argument in spec.arguments)))


def _placeholder(argument: Argument) -> str:
    name = "|".join(argument.choices) or argument.name
    return f"<{name}>" if argument.is_required else f"[{name}]"


def read_arguments(spec: CommandSpec, rest: str) -> dict[str, str] | Misuse:
    """Give the words behind a command their names, in order.

    A word that an optional argument can't be goes to the next one, so that `/delete yes` has no number.
    """
    given: dict[str, str] = {}
    for argument in spec.arguments:
        word, behind = (rest, "") if argument.kind == "rest" else first_word(rest)
        value = _fit(argument, word)
        if value is not None:
            given[argument.name] = value
            rest = behind
        elif argument.is_required:
            return Misuse(text=_complaint(argument, word))
    return Misuse(text=f"`{_shown(first_word(rest)[0])}` is too much.") if rest else given


def _fit(argument: Argument, word: str) -> str | None:
    """A word as the value of an argument, or `None` if it can't be that."""
    if not word:
        return None
    if argument.choices:
        return word.lower() if word.lower() in argument.choices else None
    if argument.kind == "number":
        return word if word.isascii() and word.isdigit() and len(word) <= 9 else None
    return word


def _complaint(argument: Argument, word: str) -> str:
    if not word:
        return f"{argument.name} is missing."
    if argument.choices:
        return f"`{_shown(word)}` is none of {', '.join(argument.choices)}."
    return f"`{_shown(word)}` is no number."


def _shown(word: str) -> str:
    return word[:40].replace("`", "'")
