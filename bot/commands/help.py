"""The help, written from what the commands say of themselves."""

from collections.abc import Sequence

from bot.commands.parsing import usage
from bot.commands.spec import CommandSpec

INTRODUCTION = """\
# Commands

A command works as `/x`, `!x` and `/x@bot` on every channel, and from the menu of those that have one.
It never waits for an answer that is being written. What destroys asks first. An unknown command is
answered with the nearest one.
"""
ADMINS = """\
Admins are those in `BOT_ADMINS` (`telegram:42,discord:7`), the owner at the page and the terminal, whoever
was made owner or admin (`/pair <code> admin`, `/admin role`), Discord's administrators in their guild, and
with `BOT_SLACK__TRUST_ADMINS=true` those of the workspace. What concerns the whole bot (`reload`, `restart`,
`broadcast`, `journal`, `pair`, `unpair`, `access`, `role`) is not for administrators of a guild or workspace.
A direct message makes nobody an admin. Changes last over a restart, are shown by `python -m bot doctor`,
and are audited.
"""
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


def document(specs: Sequence[CommandSpec]) -> str:
    """`docs/commands.md`."""
    everybody = [spec for spec in specs if not spec.is_admin]
    admins = [spec for spec in specs if spec.is_admin]
    parts = [INTRODUCTION, _table(everybody), "## For admins\n", ADMINS, _table(admins)]
    return "\n".join(parts)


def _table(specs: Sequence[CommandSpec]) -> str:
    lines = ["| command | does | in menus |", "|---|---|---|"]
    for spec in specs:
        typed = usage(spec).replace("|", "\\|")
        lines.append(f"| `{typed}` | {spec.help} | {f'`/{spec.native}`' if spec.native else ''} |")
    return "\n".join(lines) + "\n"
