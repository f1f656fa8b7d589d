"""The Guardian of a bot: what grades messages, commands and answers, each at its place."""

from collections.abc import Callable

import msgspec

from bot.agent.audit import Audit
from bot.commands.release import Blocked
from bot.messages import InboundMessage
from bot.settings import Settings
from memory.blocked import BlockedMessages
from security.guardian import AnswerGuard, CommandGuard, Guardian, MessageGuard, SendGuard, open_judge
from security.injection import LazyScanner


class Guards(msgspec.Struct, frozen=True, kw_only=True):
    """The Guardian, and what asks it.

    Attributes:
        guardian: To be closed at the end.
    """

    guardian: Guardian
    messages: MessageGuard
    commands: CommandGuard
    sends: SendGuard
    answers: AnswerGuard


def guards_of(
    settings: Settings,
    shelf: BlockedMessages,
    scanner: LazyScanner,
    *,
    audit: Audit,
    is_admin: Callable[[InboundMessage], bool],
    on_blocked: Callable[[Blocked], None],
) -> Guards:
    """Put them together; nothing is loaded before it is needed."""
    guardian = Guardian(settings.guardian, scanner, open_judge(settings.guardian, settings.openai))
    return Guards(
        guardian=guardian,
        messages=MessageGuard(
            guardian,
            shelf,
            audit=audit,
            is_admin=is_admin,
            is_silent=settings.guardian.silent,
            on_blocked=on_blocked,
        ),
        commands=CommandGuard(guardian, audit),
        sends=SendGuard(guardian, audit),
        answers=AnswerGuard(guardian, audit),
    )
