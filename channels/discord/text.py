"""A message's content, as plain text."""

import re
from collections.abc import Mapping
from typing import Final

MENTION: Final = re.compile(r"<(@!?|@&|#)(\d+)>")
COMMAND: Final = re.compile(r"<(/[^:>]+):\d+>")
EMOJI: Final = re.compile(r"<a?(:\w+:)\d+>")


def plain_text(content: str, *, own: frozenset[str], names: Mapping[str, str]) -> str:
    """Write names for mentions, and leave out those of the bot.

    Args:
        own: Ids of the bot and of its role.
        names: What people and roles (`@name`) and channels (`#name`) are called, by id.
    """

    def named(match: re.Match[str]) -> str:
        if match[2] in own:
            return ""
        return names.get(match[2], "#unknown" if match[1] == "#" else "@unknown")

    text = MENTION.sub(named, content)
    return EMOJI.sub(r"\1", COMMAND.sub(r"\1", text)).strip()
