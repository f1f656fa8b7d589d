"""What requests to `/api/inbox` look like."""

from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints

from bot.inbox.base import MAX_CANNED, MAX_LABEL, MAX_LABELS, MAX_NAME, MAX_NOTE, State
from bot.web.api.bodies import Body, Text, Word

ChatKey: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Label: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MAX_LABEL)]
Said: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]


class CannedText(Body):
    """What a canned reply says."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CANNED)]


class ReplyRequest(Body):
    """What is to be said: as the bot, or under the name of the key."""

    text: Text
    as_operator: bool = False


class StateRequest(Body):
    """The state that it is to be in."""

    state: State


class ReadRequest(Body):
    """Up to which line it was seen: all without a number, none with 0."""

    upto: Annotated[int, Field(ge=0, le=2**53)] | None = None


class AssigneeRequest(Body):
    """Who is to look after it; nobody without a name."""

    assignee: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)] | None


class LabelsRequest(Body):
    """The labels that it is to have, and no others."""

    labels: Annotated[list[Label], Field(max_length=MAX_LABELS)]


class NoteRequest(Body):
    """What the others should know."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NOTE)]


class DockRequest(Body):
    """The chat that is to get its answers."""

    target: ChatKey


class AnswerRequest(Body):
    """What is said in the person's stead."""

    text: Said


class PreviewRequest(Body):
    """What is to be said to whom, and how fast."""

    text: Said
    channels: Annotated[tuple[Word, ...], Field(max_length=20)] = ()
    per_minute: Annotated[int, Field(ge=1, le=600)] = 60


class TicketRequest(Body):
    """The preview that is to be sent."""

    ticket: Word
