"""Cuts Markdown into messages that a platform takes."""

from collections.abc import Callable

from bot.messages import Frozen


class Piece(Frozen, frozen=True, kw_only=True):
    """One message of a long text.

    Attributes:
        text: As it is to be sent: the piece of the source, with a code fence that was cut closed and reopened.
        end: Where the piece ends in the source; the next one begins there.
        fence: The opening line of the fence that is open there, with its line break; empty outside of code.
    """

    text: str
    end: int
    fence: str = ""


def split_markdown(
    text: str, limit: int, measure: Callable[[str], int] = len, *, start: int = 0, fence: str = ""
) -> list[Piece]:
    """Cut a text from `start` on into pieces whose `measure` is at most `limit`."""
    raise NotImplementedError
