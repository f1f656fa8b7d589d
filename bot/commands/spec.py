"""What a command is called, takes and needs, as every channel shows it."""

from typing import Literal

from bot.messages import Frozen


class Argument(Frozen, frozen=True, kw_only=True):
    """A word that goes behind a command.

    Attributes:
        kind: `rest` takes all that is left of the line; only the last one can be it.
        choices: The words it may be; empty for any.
    """

    name: str
    help: str
    kind: Literal["word", "number", "rest"] = "word"
    choices: tuple[str, ...] = ()
    is_required: bool = False


class CommandSpec(Frozen, frozen=True, kw_only=True):
    """A command as people see it.

    Attributes:
        name: As it is typed behind `/`: `[a-z0-9_]{1,32}`; a command of a group has two words (`admin info`).
        help: One line, at most 100 characters.
        is_admin: Only for admins; where a platform can, its answer is shown to nobody else.
        native: Under which name platforms with commands of their own list it; `None` to list it nowhere.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...] = ()
    is_admin: bool = False
    native: str | None = None
