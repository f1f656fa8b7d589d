"""What a turn begins with of what others have said, and what it leaves of what the model wants pressed."""

from msgspec.structs import replace

from bot.agent.seams import Outward
from bot.agent.store import Begun
from bot.agent.taint import Taint, person_of, source_of, taint
from bot.messages import Button, InboundMessage, Trigger


def opened_by(message: InboundMessage, *, is_operator: bool) -> Taint:
    """Begin to keep count of what a turn reads: first of all the words of whoever asks.

    Args:
        is_operator: The sender's words are as good as the owner's.
    """
    own = "owner" if is_operator else source_of(message)
    is_told = message.trigger is not Trigger.HEARTBEAT
    return Taint([(own, person_of(message))] if is_told else (), own=own)


def take_over(message: InboundMessage, begun: Begun) -> None:
    """Note what stands in the window since earlier turns; who was overheard may be anybody."""
    turn = taint()
    turn.recall(begun.carried, person_of(message))
    for line in begun.overheard:
        turn.add("stranger", line.speaker)


def disarmed(button: Button, outward: Outward | None) -> Button:
    """A button of the model's that is no command, and no link that could carry something out.

    Whoever pressed it would give that command.
    """
    url = button.url
    if url is not None and outward is not None and outward.redact(url) != url:
        url = None
    return replace(button, value=button.value.lstrip("/! "), url=url)
