"""One message made of several that wait: what they say together."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from bot.agent.history import label
from bot.agent.store import Pending
from bot.messages import InboundMessage

OVERFLOW = "[{count} messages came while you were busy, too many to answer one by one; answer them together]"
OVERFLOW_HEAD = re.compile(re.escape(OVERFLOW).replace(re.escape("{count}"), r"\d+"))


def merge(burst: Sequence[Pending], *, is_overflow: bool) -> Pending:
    """The last message with the words and files of all.

    Args:
        is_overflow: They are too many to be answered one by one, and become a list.
    """
    message = replace(
        burst[-1].message,
        text=_joined([pending.message for pending in burst], is_overflow=is_overflow),
        attachments=tuple(file for pending in burst for file in pending.message.attachments),
        may_be_silent=all(pending.message.may_be_silent for pending in burst),
    )
    return replace(burst[-1], message=message)


def _joined(messages: Sequence[InboundMessage], *, is_overflow: bool) -> str:
    """The text of several messages: as it was written, with its speakers, or as a list of what was said."""
    said = [message for message in messages if message.text]
    if is_overflow:
        lines = [line for message in said for line in _overflow_lines(message)]
        return "\n".join((OVERFLOW.format(count=len(lines)), *lines))
    if len({message.sender.id for message in messages}) == 1:
        return "\n".join(message.text for message in said)
    return "\n".join(label(message.text, _speaker(message), message.received_at) for message in said)


def _overflow_lines(message: InboundMessage) -> list[str]:
    """A message as a part of a list; what was made a list before a restart gives its lines."""
    head, _, rest = message.text.partition("\n")
    if OVERFLOW_HEAD.fullmatch(head):
        return rest.split("\n- ")[:1] + [f"- {line}" for line in rest.split("\n- ")[1:]]
    return [f"- {_speaker(message)}: {message.text}"]


def _speaker(message: InboundMessage) -> str:
    return message.sender.name or message.sender.id
