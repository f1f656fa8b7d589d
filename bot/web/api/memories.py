"""`/api/people/…/memories` and `/api/chats/…/memories`: what is remembered of somebody, or of a group."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from pydantic import AliasPath, Field, StringConstraints

from bot.long_term import MAX_TEXT, Fact, How, LongTerm, Memory, Origin, Scope, tidy
from bot.web.api.access import Operator, Ports, Reader
from bot.web.api.base import Caller, Parts
from bot.web.api.bodies import Body, Done, Shown
from bot.web.api.people import Whom

router = APIRouter(tags=["memories"])

OFF = "nothing is remembered for long here: BOT_MEMORY__BACKEND is off"
FULL_KEY = r"^[^:\s]+:[^:\s]+:\S+$"  # channel:account:chat

Number = Annotated[int, Path(ge=1, le=2**53)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
Key = Annotated[str, Path(pattern=FULL_KEY, max_length=500)]


class MemoryBody(Shown):
    """Something that is remembered.

    Attributes:
        by: Who has said it, as `channel:id`.
        foreign: What the turn had read by then that is not to be relied on.
    """

    number: int
    text: str
    how: How = Field(validation_alias=AliasPath("origin", "how"))
    by: str = Field(validation_alias=AliasPath("origin", "by"))
    session: str | None = Field(validation_alias=AliasPath("origin", "session"))
    foreign: list[str] = Field(validation_alias=AliasPath("origin", "foreign"))
    previous: str | None
    created_at: datetime
    updated_at: datetime


class MemoryList(Body):
    """The newest first, or the best; `before` asks for those before them."""

    memories: list[MemoryBody]
    before: int | None = None


class MemoryRequest(Body):
    """What is to be remembered."""

    text: Text


class Forgotten(Body):
    """How many memories there were."""

    forgotten: int = Field(ge=0)


async def _of_person(person: Whom) -> Scope:
    return person.scope


async def _of_chat(chat: Key) -> Scope:
    return Scope(kind="chat", key=chat)


def _kept(parts: Ports) -> LongTerm:
    if parts.memories is None:
        raise HTTPException(409, OFF)
    return parts.memories


OfPerson: TypeAlias = Annotated[Scope, Depends(_of_person)]
OfChat: TypeAlias = Annotated[Scope, Depends(_of_chat)]
Memories: TypeAlias = Annotated[LongTerm, Depends(_kept)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]
Most = Annotated[int, Query(ge=1, le=500)]
Words = Annotated[str, Query(max_length=1_000, description="Those that are near to it, the best first.")]


@router.get("/api/people/{person}/memories")
async def list_of_person(
    caller: Reader, scope: OfPerson, kept: Memories, text: Words = "", before: Before = None, limit: Most = 50
) -> MemoryList:
    """What is remembered of somebody, on all channels that they have linked."""
    return await _listed(kept, scope, text, before, limit)


@router.get("/api/chats/{chat}/memories")
async def list_of_chat(
    caller: Reader, scope: OfChat, kept: Memories, text: Words = "", before: Before = None, limit: Most = 50
) -> MemoryList:
    """What is remembered of a group, by `channel:account:chat`."""
    return await _listed(kept, scope, text, before, limit)


@router.post("/api/people/{person}/memories", status_code=201)
async def add_to_person(
    caller: Operator, body: MemoryRequest, scope: OfPerson, parts: Ports, kept: Memories
) -> MemoryBody:
    """Remember something of somebody."""
    return await _add(kept, parts, caller, scope, body.text)


@router.post("/api/chats/{chat}/memories", status_code=201)
async def add_to_chat(
    caller: Operator, body: MemoryRequest, scope: OfChat, parts: Ports, kept: Memories
) -> MemoryBody:
    """Remember something of a group."""
    return await _add(kept, parts, caller, scope, body.text)


@router.patch("/api/people/{person}/memories/{number}")
async def change_of_person(
    caller: Operator, number: Number, body: MemoryRequest, scope: OfPerson, parts: Ports, kept: Memories
) -> MemoryBody:
    """Let a memory of somebody say something else."""
    return await _change(kept, parts, caller, scope, number, body.text)


@router.patch("/api/chats/{chat}/memories/{number}")
async def change_of_chat(
    caller: Operator, number: Number, body: MemoryRequest, scope: OfChat, parts: Ports, kept: Memories
) -> MemoryBody:
    """Let a memory of a group say something else."""
    return await _change(kept, parts, caller, scope, number, body.text)


@router.delete("/api/people/{person}/memories/{number}")
async def forget_of_person(
    caller: Operator, number: Number, scope: OfPerson, parts: Ports, kept: Memories
) -> Done:
    """Forget a memory of somebody for good."""
    return await _forget(kept, parts, caller, scope, number)


@router.delete("/api/chats/{chat}/memories/{number}")
async def forget_of_chat(
    caller: Operator, number: Number, scope: OfChat, parts: Ports, kept: Memories
) -> Done:
    """Forget a memory of a group for good."""
    return await _forget(kept, parts, caller, scope, number)


@router.delete("/api/people/{person}/memories")
async def forget_person(caller: Operator, scope: OfPerson, parts: Ports, kept: Memories) -> Forgotten:
    """Forget for good all that is remembered of somebody; what was said stays in the history."""
    return await _forget_all(kept, parts, caller, scope)


@router.delete("/api/chats/{chat}/memories")
async def forget_chat(caller: Operator, scope: OfChat, parts: Ports, kept: Memories) -> Forgotten:
    """Forget for good all that is remembered of a group."""
    return await _forget_all(kept, parts, caller, scope)


async def _listed(kept: LongTerm, scope: Scope, text: str, before: int | None, limit: int) -> MemoryList:
    if text.strip():
        found = await kept.search([scope], text, limit=limit)
        return MemoryList(memories=[MemoryBody.of(one.memory) for one in found])
    page: Sequence[Memory] = await kept.list(scope, limit=limit, before=before)
    more = page[-1].number if len(page) == limit and page[-1].number > 1 else None
    return MemoryList(memories=[MemoryBody.of(one) for one in page], before=more)


async def _add(kept: LongTerm, parts: Parts, caller: Caller, scope: Scope, text: str) -> MemoryBody:
    fact = Fact(text=_readable(parts, text))
    made = await kept.learn(scope, [fact], Origin(how="command", by=caller.actor))
    if not made:
        raise HTTPException(409, "that is known already")
    await parts.note(caller, "memory add", str(scope), [("number", made[0].number)])
    return MemoryBody.of(made[0])


async def _change(
    kept: LongTerm, parts: Parts, caller: Caller, scope: Scope, number: int, text: str
) -> MemoryBody:
    origin = Origin(how="command", by=caller.actor)
    changed = await kept.update(scope, number, _readable(parts, text), origin)
    if changed is None:
        raise HTTPException(404, f"there is no memory {number}, or another one says the same")
    await parts.note(caller, "memory change", str(scope), [("number", number)])
    return MemoryBody.of(changed)


async def _forget(kept: LongTerm, parts: Parts, caller: Caller, scope: Scope, number: int) -> Done:
    if not await kept.forget(scope, number):
        raise HTTPException(404, f"there is no memory {number}")
    await parts.note(caller, "memory forget", str(scope), [("number", number)])
    return Done()


async def _forget_all(kept: LongTerm, parts: Parts, caller: Caller, scope: Scope) -> Forgotten:
    count = await kept.forget(scope)
    await parts.note(caller, "memory forget all", str(scope), [("memories", count)])
    return Forgotten(forgotten=count)


def _readable(parts: Parts, text: str) -> str:
    """A text as it is kept: what the policy wants masked is."""
    fact = tidy(parts.redact(text))
    if not any(sign.isalnum() for sign in fact):
        raise HTTPException(422, "text: says nothing")
    return fact
