"""What the browser is given to draw: plain data, as it is sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from bot.inbox.base import Conversation, Hit, Question, State, ToolLine
from bot.messages import EndReason, Frozen, RunId, SessionKey, StoredMessage
from bot.web.dashboard.growing import Draft
from bot.web.dashboard.rendering import growing_to_html, to_html

MAX_ARGUMENTS: Final = 4_000  # characters of a tool's arguments, and of its result, that are sent
MAX_LINE: Final = 100_000  # characters of a message


class Row(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """A conversation in the list; `at` in seconds since 1970."""

    chat: SessionKey
    name: str
    channel: str
    last: str
    at: float
    unread: int
    state: State
    assignee: str | None
    taken: str | None
    labels: tuple[str, ...]
    running: bool


class HitRow(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """A message that was found."""

    chat: SessionKey
    session: SessionKey
    number: int
    name: str
    text: str
    at: float


class Line(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """A message; `html` is safe."""

    number: int
    run: RunId
    role: str
    speaker: str
    html: str
    at: float
    reason: EndReason | None
    in_context: bool


class Grown(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """An answer that is being written."""

    run: RunId
    html: str
    tool: str | None
    is_thinking: bool


class Part(Frozen, frozen=True, kw_only=True):
    """What is new in a transcript; what is left out stays as it is.

    Attributes:
        place: Where the lines belong: `end` are those that were said meanwhile.
        older, newer: Whether there are more before and behind.
    """

    chat: SessionKey
    place: str = "end"
    lines: tuple[Line, ...] = ()
    tools: dict[RunId, tuple[ToolLine, ...]] | None = None
    older: bool | None = None
    newer: bool | None = None
    growing: tuple[Grown, ...] | None = None
    questions: tuple[Question, ...] | None = None


def sent(value: object) -> object:
    """As it goes to the browser."""
    return msgspec.to_builtins(value)


def row_of(conversation: Conversation) -> Row:
    """A conversation as the list shows it."""
    last = conversation.last
    return Row(
        chat=conversation.chat,
        name=name_of(conversation),
        channel=conversation.address.channel,
        last=" ".join(last.text.split()) if last is not None else "",
        at=conversation.updated_at,
        unread=conversation.unread,
        state=conversation.state,
        assignee=conversation.assignee,
        taken=conversation.taken_by,
        labels=conversation.labels,
        running=conversation.running is not None,
    )


def name_of(conversation: Conversation) -> str:
    """What a conversation is called: its person where it is with one alone."""
    names = (conversation.person, conversation.title or "")
    first, second = names if conversation.address.is_direct else reversed(names)
    return first or second or conversation.chat


def hit_row(hit: Hit) -> HitRow:
    """A message that was found, as the list shows it."""
    return HitRow(
        chat=hit.chat,
        session=hit.session,
        number=hit.line.number,
        name=hit.title or hit.line.speaker,
        text=" ".join(hit.line.text[:300].split()),
        at=hit.line.at.timestamp(),
    )


def line_of(message: StoredMessage) -> Line:
    """A message as the transcript shows it."""
    return Line(
        number=message.number,
        run=message.run,
        role=message.role,
        speaker=message.speaker,
        html=to_html(message.text[:MAX_LINE]) if message.text else "",
        at=message.at.timestamp(),
        reason=message.reason,
        in_context=message.in_context,
    )


def tools_by_run(calls: Iterable[ToolLine]) -> dict[RunId, tuple[ToolLine, ...]]:
    """Tool calls by their turn, cut to what a page shows."""
    found: dict[RunId, tuple[ToolLine, ...]] = {}
    for call in calls:
        cut = msgspec.structs.replace(
            call,
            arguments=call.arguments[:MAX_ARGUMENTS],
            result=None if call.result is None else call.result[:MAX_ARGUMENTS],
        )
        found[call.run] = (*found.get(call.run, ()), cut)
    return found


def grown_of(drafts: Mapping[RunId, Draft]) -> tuple[Grown, ...]:
    """Answers that are being written, as the transcript shows them."""
    return tuple(
        Grown(run=run, html=growing_to_html(draft.text), tool=draft.tool, is_thinking=draft.is_thinking)
        for run, draft in drafts.items()
    )


def asked(questions: Sequence[Question], chat: SessionKey) -> tuple[Question, ...]:
    """The open questions of one conversation."""
    return tuple(question for question in questions if question.chat == chat)
