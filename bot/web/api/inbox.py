"""`/api/inbox`: the conversations of all channels, looked at."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, HTTPException, Path, Query

from bot.inbox.base import MAX_NAME, Conversation, Filter, Operator, Place, State
from bot.messages import RunId, SessionKey, encoder
from bot.tools.recall import words_in
from bot.web.api.access import Ports, Reader
from bot.web.api.base import Caller
from bot.web.api.bodies import MessageBody, MessageList
from bot.web.api.inbox_bodies import (
    BroadcastBody,
    BroadcastList,
    CannedBody,
    CannedList,
    ConversationBody,
    ConversationList,
    CountsBody,
    HitBody,
    HitList,
    LabelList,
    NoteBody,
    NoteList,
    QuestionBody,
    QuestionList,
    ToolBody,
    ToolList,
)

router = APIRouter(prefix="/api/inbox", tags=["inbox"])

_decode_place = msgspec.json.Decoder(Place).decode

Key = Annotated[str, Path(min_length=1, max_length=500, description="The chat's key, percent-encoded.")]
Names = Annotated[tuple[Annotated[str, Query(max_length=100)], ...], Query(max_length=20)]
Number = Annotated[int | None, Query(ge=1, le=2**53)]
Most = Annotated[int, Query(ge=1, le=200)]


async def find_conversation(chat: Key, parts: Ports) -> Conversation:
    """Which one a path names."""
    found = await parts.desk.book.get(SessionKey(chat))
    if found is None:
        raise HTTPException(404, "there is no such conversation")
    return found


Known = Annotated[Conversation, Depends(find_conversation)]


def operator_of(caller: Caller) -> Operator:
    """Who acts: the key, under its name."""
    return Operator(name=caller.name[:MAX_NAME], actor=caller.actor, role=caller.sender().role)


def filter_of(
    state: Annotated[tuple[State, ...], Query(max_length=4, description="Default: all but muted.")] = (),
    channel: Names = (),
    label: Names = (),
    assignee: Annotated[str | None, Query(max_length=MAX_NAME, description="Empty: nobody's.")] = None,
    unread: bool = False,
    taken: bool = False,
    direct: bool | None = None,
    text: Annotated[str, Query(max_length=200, description="Part of a name, a title, or a chat's key.")] = "",
) -> Filter:
    """Which conversations a query asks for."""
    return Filter(
        states=state,
        channels=channel,
        labels=label,
        assignee=assignee,
        is_unread=unread,
        is_taken=taken,
        is_direct=direct,
        text=text,
    )


def place_of(
    cursor: Annotated[str | None, Query(max_length=1_000, description="`next` of the page before.")] = None,
) -> Place | None:
    """Where a page begins."""
    if cursor is None:
        return None
    try:
        return _decode_place(urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, msgspec.DecodeError, UnicodeEncodeError) as error:
        raise HTTPException(400, "this cursor is none that a page has given") from error


@router.get("")
async def list_conversations(
    caller: Reader,
    parts: Ports,
    wanted: Annotated[Filter, Depends(filter_of)],
    after: Annotated[Place | None, Depends(place_of)],
    limit: Most = 50,
) -> ConversationList:
    """The conversations that match all that is asked for, the newest first."""
    found = await parts.desk.conversations(wanted, after=after, limit=limit)
    more = _cursor(found[-1]) if len(found) == limit else None
    return ConversationList(conversations=[ConversationBody.of(one) for one in found], next=more)


@router.get("/counts")
async def count_conversations(caller: Reader, parts: Ports) -> CountsBody:
    """How many there are."""
    return CountsBody.of(await parts.desk.book.counts())


@router.get("/search")
async def search_conversations(
    q: Annotated[str, Query(min_length=1, max_length=500)], caller: Reader, parts: Ports, limit: Most = 50
) -> HitList:
    """What was said with these words, in all conversations."""
    hits = await parts.desk.book.search(words_in(q), limit)
    return HitList(hits=[HitBody.of(hit) for hit in hits])


@router.get("/labels")
async def list_labels(caller: Reader, parts: Ports) -> LabelList:
    """All labels that are in use."""
    return LabelList(labels=await parts.desk.book.labels())


@router.get("/questions")
async def list_questions(
    caller: Reader, parts: Ports, chat: Annotated[str | None, Query(max_length=500)] = None
) -> QuestionList:
    """Questions and approvals that wait, in one conversation or in all."""
    waiting = parts.desk.questions(None if chat is None else SessionKey(chat))
    return QuestionList(questions=[QuestionBody.of(one) for one in waiting])


@router.get("/canned")
async def list_canned(caller: Reader, parts: Ports) -> CannedList:
    """The replies that are written once."""
    return CannedList(replies=[CannedBody.of(one) for one in await parts.desk.book.canned()])


@router.get("/broadcasts")
async def list_broadcasts(caller: Reader, parts: Ports) -> BroadcastList:
    """Broadcasts that go on, and those of the last hour."""
    return BroadcastList(broadcasts=[BroadcastBody.of(one) for one in parts.desk.broadcasts()])


@router.get("/{chat}")
async def show_conversation(caller: Reader, known: Known, parts: Ports) -> ConversationBody:
    """One of them."""
    return ConversationBody.of(await parts.desk.conversation(known.chat))


@router.get("/{chat}/lines")
async def show_lines(
    caller: Reader,
    known: Known,
    parts: Ports,
    before: Number = None,
    after: Number = None,
    limit: Most = 50,
) -> MessageList:
    """What was said in its session, the oldest first: the newest, those before a line, or those after one."""
    lines = await parts.desk.book.lines(known.session, before=before, after=after, limit=limit)
    more = lines[0].number if lines and lines[0].number > 1 else None
    return MessageList(messages=[MessageBody.of(line) for line in lines], before=more)


@router.get("/{chat}/tools")
async def show_tools(
    run: Annotated[list[Annotated[str, Query(max_length=100)]], Query(min_length=1, max_length=200)],
    caller: Reader,
    known: Known,
    parts: Ports,
) -> ToolList:
    """The tool calls of some turns."""
    calls = await parts.desk.book.tools([RunId(one) for one in run])
    return ToolList(calls=[ToolBody.of(call) for call in calls])


@router.get("/{chat}/notes")
async def show_notes(caller: Reader, known: Known, parts: Ports) -> NoteList:
    """What operators have written about it."""
    return NoteList(notes=[NoteBody.of(note) for note in await parts.desk.book.notes(known.chat)])


def _cursor(last: Conversation) -> str:
    place = Place(updated_at=last.updated_at, chat=last.chat)
    return urlsafe_b64encode(encoder.encode(place)).decode()
