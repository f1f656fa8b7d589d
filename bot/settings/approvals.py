"""Section: which tool calls need a permission, and who is asked."""

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from bot.settings.base import Section


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


Pattern: TypeAlias = Annotated[str, AfterValidator(_compiles)]


class ApprovalRule(Section):
    """What holds for one tool: what matches `deny` never runs, what matches `allow` does, else `mode` says.

    The patterns are looked for in the tool's name and its arguments as compact JSON, in upper or lower case.
    One that allows should have the quotes on both sides of what it means: a command may go on behind it.
    """

    mode: Literal["auto", "confirm", "deny"] | None = Field(
        default=None, description="auto runs, confirm asks an admin, deny refuses; default: by its risk."
    )
    deny: tuple[Pattern, ...] = Field(default=(), description='What never runs: ["rm -rf"]')
    allow: tuple[Pattern, ...] = Field(
        default=(), description="What runs unasked; docs/tools.md has an example."
    )


class ApprovalSettings(Section):
    """Permissions for tool calls."""

    timeout: float = Field(
        default=60, gt=0, le=3_600, description="Seconds to wait for a permission; then the call is denied."
    )
    chat: str | None = Field(
        default=None,
        pattern=r"^[^:]+:[^:]+:.+$",
        description="Ask in this chat instead of where the person is: telegram:default:42",
    )
    rules: dict[str, ApprovalRule] = Field(
        default={},
        description="Rules by tool, in bot.toml: [approvals.rules.exec]; exec@member holds for members only.",
    )
