"""Commands that never wait for the lane: `/kill` and its other names; and who may steer."""

import re
from collections.abc import Collection
from typing import Protocol

from bot.messages import Frozen, InboundMessage, Role, SessionKey

CANCELLED = "Agent run cancelled for this session."
NOTHING_RUNS = "No active agent run for this session."
ADMINS_ONLY = "Only an admin can stop another session."

_KILL = re.compile(r"\s*[/!](?:kill|stop)(?:@\S+)?(?:\s+(?P<rest>.*))?\s*", re.IGNORECASE | re.DOTALL)


class Kill(Frozen, frozen=True, kw_only=True):
    """A person wants a run to stop.

    Attributes:
        waiting: Drop the messages that wait, too.
        session: Another session than the one it was said in.
    """

    waiting: bool = False
    session: SessionKey | None = None


class People(Protocol):
    """Knows whom messages come from; asked for each of them, so it has to be quick."""

    def known_as(self, message: InboundMessage) -> InboundMessage:
        """The message with the role that its sender has here, whatever the platform says."""

    def may_speak(self, message: InboundMessage) -> bool:
        """Whether the sender is answered here at all."""


class Everybody:
    """Takes people for what their platform says; all may speak."""

    def known_as(self, message: InboundMessage) -> InboundMessage:
        """See the protocol."""
        return message

    def may_speak(self, message: InboundMessage) -> bool:
        """See the protocol."""
        return True


def parse_kill(text: str) -> Kill | None:
    """Read `/kill`, `!kill`, `/stop@bot`, `/kill all`, `/kill <session>`; anything else is `None`.

    Other words after the command are passed over, so that `/stop it please` stops.
    """
    if not text or text.lstrip()[:1] not in ("/", "!"):
        return None
    match = _KILL.fullmatch(text)
    if match is None:
        return None
    words = (match["rest"] or "").split()
    if len(words) == 1 and words[0].lower() == "all":
        return Kill(waiting=True)
    if len(words) == 1 and words[0].count(":") >= 2:
        return Kill(session=SessionKey(words[0]))
    return Kill()


def is_admin(message: InboundMessage, admins: Collection[str]) -> bool:
    """Whether the sender may steer what is not theirs."""
    return message.sender.role in (Role.OWNER, Role.ADMIN) or _is_among(message, admins)


def is_operator(message: InboundMessage, admins: Collection[str]) -> bool:
    """Whether the sender may steer the bot as a whole; an admin of one group on a platform may not."""
    return message.sender.role is Role.OWNER or _is_among(message, admins)


def _is_among(message: InboundMessage, admins: Collection[str]) -> bool:
    """Whether they are named as `channel:id`, or known as a person on one account: (channel, account, id)."""
    address, id_ = message.address, message.sender.id
    if f"{address.channel}:{id_}" in admins:
        return True
    person: object = (address.channel, address.account, id_)
    return person in admins
