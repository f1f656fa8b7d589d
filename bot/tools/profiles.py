"""Sets of tools by name, and the rules that decide whether somebody has a tool."""

from fnmatch import fnmatchcase

import msgspec

from bot.settings.tools import ProfileName
from bot.tools.base import Risk, Tool

MINIMAL = ("ask_question", "summary", "read_result")
CHAT = (
    *MINIMAL,
    *(
        "web_fetch",
        "web_search",
        "memory_search",
        "memory_remember",
        "notes_*",
        "manage_schedule",
        "alarm_clock",
    ),
    *("read", "list", "search", "send_file", "group:other"),  # other: tools of one's own
)
CODING = (*CHAT, "memory_forget", "write", "edit", "exec", "process", "script", "delegate_*")
PROFILES: dict[ProfileName, tuple[str, ...]] = {
    "minimal": MINIMAL,
    "chat": CHAT,
    "coding": CODING,
    "full": ("*",),
}
RISKS_OF_STRANGERS: frozenset[Risk] = frozenset({"exec", "write", "send"})


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools somebody has: what is denied, then what is allowed, then the profile.

    Attributes:
        allow, deny: Names, which may be globs, and `group:<name>`.
        is_trusted: Not a stranger, who has what can harm only where its full name is in `allow`.
    """

    profile: ProfileName
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    is_trusted: bool = False

    def permits(self, tool: Tool) -> bool:
        """Whether they have a tool."""
        if _is_named(tool, self.deny):
            return False
        if tool.name in self.allow:
            return True
        if not self.is_trusted and tool.risk in RISKS_OF_STRANGERS:
            return False
        return _is_named(tool, (*self.allow, *PROFILES[self.profile]))


def _is_named(tool: Tool, names: tuple[str, ...]) -> bool:
    group = f"group:{tool.group}"
    return any(name == group or fnmatchcase(tool.name, name) for name in names)
