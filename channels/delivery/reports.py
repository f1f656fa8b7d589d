"""Who is told of what happens to answers on their way to a platform."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from bot.messages import Address, End, RunId

Dead: TypeAlias = Callable[[Address, str], None]
OnText: TypeAlias = Callable[[RunId], None]
Sent: TypeAlias = Callable[[End], Awaitable[None]]


async def note_nothing(end: End) -> None:
    """Nobody wants to know."""


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told.

    Attributes:
        on_dead: A chat takes no more messages, for good.
        on_text: A platform shows something of an answer.
        on_sent: It has all of it.
    """

    on_dead: Dead = lambda address, cause: None
    on_text: OnText = lambda run: None
    on_sent: Sent = note_nothing


NOBODY = Reports()
