"""The help, written from what the commands say of themselves."""

from collections.abc import Sequence

from bot.commands.parsing import usage
from bot.commands.spec import CommandSpec

MORE = "`/help <command>` tells more about one. `!` works in place of `/`."


def overview(specs: Sequence[CommandSpec], *, is_admin: bool) -> str:
    """All commands that a person may use."""
    lines = ["**Commands**", *(_line(spec) for spec in specs if not spec.is_admin)]
    if is_admin:
        lines += ["", "**For admins**", *(_line(spec) for spec in specs if spec.is_admin)]
    return "\n".join([*lines, "", MORE])


def details(specs: Sequence[CommandSpec]) -> str:
    """One command, or all of one group, with what they take."""
    return "\n".join(line for spec in specs for line in _explain(spec))


def _explain(spec: CommandSpec) -> list[str]:
    lines = [_line(spec)]
    for argument in spec.arguments:
        words = f" ({', '.join(argument.choices)})" if argument.choices else ""
        lines.append(f"  - `{argument.name}`: {argument.help}{words}")
    return lines


def _line(spec: CommandSpec) -> str:
    return f"- `{usage(spec)}`: {spec.help}"
