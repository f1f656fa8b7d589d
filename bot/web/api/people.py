"""`/api/people`: who is one and the same on several channels, and what is known of them."""

import asyncio
from datetime import datetime
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from pydantic import StringConstraints

from bot.commands.habits import read_language, read_zone
from bot.people import MAX_NAME, MAX_NOTES, PeopleError, Person
from bot.web.api.access import Admin, Operator, Ports, Reader
from bot.web.api.bodies import Body, Shown

router = APIRouter(tags=["people"])

Who = Annotated[str, Path(min_length=1, max_length=300, description="A number, or an identity: telegram:42")]
Identity = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+:\S+$", max_length=300)]


class PersonBody(Shown):
    """Somebody, on all channels on which they were found to be the same."""

    id: int
    name: str
    identities: list[str]
    language: str
    zone: str
    notes: str
    created_at: datetime | None


class PersonList(Body):
    """Who has come last is first; `before` asks for those before them."""

    people: list[PersonBody]
    before: int | None = None


class PersonChange(Body):
    """What is to be put down; what is left out stays, an empty text takes it back."""

    name: Annotated[str, StringConstraints(max_length=MAX_NAME)] | None = None
    language: Annotated[str, StringConstraints(max_length=40)] | None = None
    zone: Annotated[str, StringConstraints(max_length=64)] | None = None
    notes: Annotated[str, StringConstraints(max_length=MAX_NOTES)] | None = None


class LinkRequest(Body):
    """An identity, as `channel:id`."""

    identity: Identity


class Parted(Body):
    """Who the identity is now, and who is left."""

    person: PersonBody
    left: PersonBody


async def find_person(person: Who, parts: Ports) -> Person:
    """Whom a path names."""
    found = await parts.linking.people.find(person)
    if found is None:
        raise HTTPException(404, "there is no such person")
    return found


Whom: TypeAlias = Annotated[Person, Depends(find_person)]


@router.get("/api/people")
async def list_people(
    caller: Reader,
    parts: Ports,
    text: Annotated[str, Query(max_length=200, description="Part of a name or of an identity.")] = "",
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> PersonList:
    """Whoever has spoken with the bot."""
    found = await parts.linking.people.search(text, before=before, limit=limit)
    more = found[-1].id if len(found) == limit else None
    return PersonList(people=[PersonBody.of(one) for one in found], before=more)


@router.get("/api/people/{person}")
async def show_person(caller: Reader, person: Whom) -> PersonBody:
    """Somebody, by number or identity."""
    return PersonBody.of(person)


@router.patch("/api/people/{person}")
async def change_person(caller: Operator, body: PersonChange, person: Whom, parts: Ports) -> PersonBody:
    """Put down something else about somebody."""
    language, zone = body.language, body.zone
    if language and (language := read_language(language)) is None:
        raise HTTPException(422, "language: is no tag like de or pt-BR")
    if zone:
        zone, near = await asyncio.to_thread(read_zone, zone)
        if not zone:
            raise HTTPException(422, f"zone: is no time zone; near: {', '.join(near) or 'nothing'}")
    changed = await parts.linking.people.change(
        person.id, name=body.name, language=language, zone=zone, notes=body.notes
    )
    if changed is None:
        raise HTTPException(404, "there is no such person any more")
    fields = " ".join(sorted(body.model_fields_set))
    await parts.note(caller, "person change", f"person {person.id}", [("fields", fields)])
    return PersonBody.of(changed)


@router.post("/api/people/{person}/link")
async def link_person(caller: Admin, body: LinkRequest, person: Whom, parts: Ports) -> PersonBody:
    """Let another identity be the same person; what is remembered of both is put together, roles stay."""
    try:
        linked = await parts.linking.link(person.identities[0], body.identity, by=caller.actor)
    except PeopleError as error:
        raise HTTPException(409, str(error)) from error
    return PersonBody.of(linked)


@router.post("/api/people/{person}/unlink")
async def unlink_person(caller: Admin, body: LinkRequest, person: Whom, parts: Ports) -> Parted:
    """Let an identity be a person of its own again, with what was learned from it."""
    if body.identity not in person.identities:
        raise HTTPException(404, "this person has no such identity")
    try:
        alone = await parts.linking.unlink(body.identity, by=caller.actor)
    except PeopleError as error:
        raise HTTPException(409, str(error)) from error
    left = await parts.linking.people.find(str(person.id))
    if left is None:
        raise HTTPException(404, "there is no such person any more")
    return Parted(person=PersonBody.of(alone), left=PersonBody.of(left))
