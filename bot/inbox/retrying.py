"""Has the newest message of a person answered after all."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from bot.bus import Receipt
from bot.commands.engine import Unfinished
from bot.inbox.base import Conversation, InboxBook, InboxError
from bot.messages import InboundMessage, MessageId, RunId, Sender, StoredMessage, new_id, utc_now

LOOKED_AT: Final = 100  # lines
NOTHING: Final = "There is no message of a person among the newest lines."
ANSWERED: Final = "The newest message is answered already."
RUNNING: Final = "It is being answered now."
NO_TEXT: Final = "The newest message had only files, which are not kept: ask the person to send them again."
NOBODY: Final = "Who said it is not known any more, so that nobody can be answered."
FULL: Final = "Too much is waiting in that chat; try again later."


class Journal(Protocol):
    """Knows what is not done."""

    async def unfinished(self) -> Sequence[Unfinished]: ...

    async def retry(self, run: RunId) -> None:
        """Run a parked message again."""


class Retries:
    """Takes up what was parked, or asks anew what has got no answer.

    Args:
        publish: Takes a message as one that has just come.
    """

    def __init__(
        self, book: InboxBook, journal: Journal, publish: Callable[[InboundMessage], Awaitable[Receipt]]
    ) -> None:
        self._book = book
        self._journal = journal
        self._publish = publish

    async def retry(self, conversation: Conversation) -> RunId:
        """The run that answers.

        Raises:
            InboxError: Nothing can be answered; the text says why.
        """
        # Lines first: a run that has begun since is then among those that are not done.
        lines = await self._book.lines(conversation.session, limit=LOOKED_AT)
        waiting = [one for one in await self._journal.unfinished() if one.session == conversation.session]
        parked = [one.run for one in waiting if one.state == "parked"]
        if parked:
            await self._journal.retry(parked[-1])
            return parked[-1]
        line = _unanswered(lines)
        if any(one.run == line.run for one in waiting):
            raise InboxError(RUNNING)
        message = _again(line, conversation, key=f"retry:{line.run}:{lines[-1].number}")
        match await self._publish(message):
            case Receipt.REFUSED:
                raise InboxError(FULL)
            case Receipt.DUPLICATE:  # another operator has asked for the same
                raise InboxError(RUNNING)
        return message.run


def _unanswered(lines: Sequence[StoredMessage]) -> StoredMessage:
    """The newest line of a person, commands aside, if it got no answer."""
    line = next((one for one in reversed(lines) if one.role == "user" and one.in_context), None)
    if line is None:
        raise InboxError(NOTHING)
    answers = (one for one in lines if one.role == "assistant" and one.run == line.run)
    if any(answer.reason == "done" for answer in answers):
        raise InboxError(ANSWERED)
    if not line.text.strip():
        raise InboxError(NO_TEXT)
    return line


def _again(line: StoredMessage, conversation: Conversation, *, key: str) -> InboundMessage:
    """The same words as a message of their own: what it was journaled as is not kept.

    Args:
        key: With the same one, it is accepted once, however many operators ask.
    """
    _, _, id_ = conversation.subject.partition(":")
    if not id_ or line.speaker not in (conversation.person, id_):
        raise InboxError(NOBODY)
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=key,
        address=conversation.address,
        session=conversation.session,
        sender=Sender(id=id_, name=line.speaker),
        text=line.text,
        received_at=utc_now(),
    )
