"""`/api/inbox`: what operators do with conversations; each act is audited under the key that asks for it."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path

from bot.inbox.base import MAX_NAME, Canned
from bot.messages import SessionKey
from bot.web.api.access import Admin, Operator, Ports
from bot.web.api.bodies import Cancelled, Done
from bot.web.api.inbox import Known, operator_of
from bot.web.api.inbox_bodies import BroadcastBody, DraftBody, NoteBody, PreviewBody, RunStarted
from bot.web.api.inbox_requests import (
    AnswerRequest,
    AssigneeRequest,
    CannedText,
    DockRequest,
    LabelsRequest,
    NoteRequest,
    PreviewRequest,
    ReadRequest,
    ReplyRequest,
    StateRequest,
    TicketRequest,
)

router = APIRouter(prefix="/api/inbox", tags=["inbox"])

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME)]
Id = Annotated[str, Path(min_length=1, max_length=200)]


# What is no chat's comes first: a canned reply may have the name of what is done with a chat.


@router.post("/questions/{question}")
async def answer_question(question: Id, body: AnswerRequest, caller: Operator, parts: Ports) -> Done:
    """Answer a question in the person's stead, or decide an approval: `once`, `always`, `deny`."""
    await parts.desk.answer(question, body.text, operator_of(caller))
    return Done()


@router.put("/canned/{name}")
async def put_canned(name: Name, body: CannedText, caller: Operator, parts: Ports) -> Done:
    """Keep a reply for later, in the place of another of the same name."""
    await parts.desk.put_canned(Canned(name=name, text=body.text), operator_of(caller))
    return Done()


@router.delete("/canned/{name}")
async def delete_canned(name: Name, caller: Operator, parts: Ports) -> Done:
    """Take a canned reply away."""
    if not await parts.desk.delete_canned(name, operator_of(caller)):
        raise HTTPException(404, f"there is no canned reply {name!r}")
    return Done()


@router.post("/broadcasts/preview")
async def preview_broadcast(body: PreviewRequest, caller: Admin, parts: Ports) -> PreviewBody:
    """See whom a text would reach; nothing is sent yet."""
    seen = await parts.desk.preview(
        body.text, operator_of(caller), channels=body.channels, per_minute=body.per_minute
    )
    return PreviewBody.of(seen)


@router.post("/broadcasts", status_code=202)
async def broadcast(body: TicketRequest, caller: Admin, parts: Ports) -> BroadcastBody:
    """Send what was looked at, at its rate; goes on by itself."""
    return BroadcastBody.of(await parts.desk.broadcast(body.ticket, operator_of(caller)))


@router.delete("/broadcasts/{ticket}")
async def stop_broadcast(ticket: Id, caller: Admin, parts: Ports) -> Cancelled:
    """Send no more of it."""
    return Cancelled(cancelled=await parts.desk.stop_broadcast(ticket, operator_of(caller)))


@router.post("/{chat}/reply")
async def reply(body: ReplyRequest, caller: Operator, known: Known, parts: Ports) -> RunStarted:
    """Say something there, as the bot or under the key's name; the agent's history has it."""
    by = operator_of(caller)
    run = await parts.desk.reply(known.chat, body.text, by, as_operator=body.as_operator)
    return RunStarted(run_id=run)


@router.put("/{chat}/taken")
async def take_over(caller: Operator, known: Known, parts: Ports) -> Done:
    """Answer in the agent's stead: its running turn is stopped, and what people say begins none."""
    await parts.desk.take_over(known.chat, operator_of(caller))
    return Done()


@router.delete("/{chat}/taken")
async def hand_back(caller: Operator, known: Known, parts: Ports) -> Done:
    """Let the agent answer again."""
    await parts.desk.hand_back(known.chat, operator_of(caller))
    return Done()


@router.post("/{chat}/draft")
async def draft(caller: Operator, known: Known, parts: Ports) -> DraftBody:
    """What the agent would say now; takes up to a minute."""
    return DraftBody(text=await parts.desk.draft(known.chat, operator_of(caller)))


@router.post("/{chat}/stop")
async def stop(caller: Operator, known: Known, parts: Ports) -> Cancelled:
    """Stop the turn that is being done."""
    return Cancelled(cancelled=await parts.desk.stop(known.chat, operator_of(caller)))


@router.post("/{chat}/retry")
async def retry_message(caller: Operator, known: Known, parts: Ports) -> RunStarted:
    """Have the newest message of a person answered again."""
    return RunStarted(run_id=await parts.desk.retry(known.chat, operator_of(caller)))


@router.put("/{chat}/state")
async def mark(body: StateRequest, caller: Operator, known: Known, parts: Ports) -> Done:
    """Put it into a state; `handled` ends with the next word of a person."""
    await parts.desk.mark(known.chat, body.state, operator_of(caller))
    return Done()


@router.put("/{chat}/read")
async def mark_read(body: ReadRequest, caller: Operator, known: Known, parts: Ports) -> Done:
    """Say up to which line operators have seen it."""
    await parts.desk.mark_read(known.chat, body.upto)
    return Done()


@router.put("/{chat}/assignee")
async def assign(body: AssigneeRequest, caller: Operator, known: Known, parts: Ports) -> Done:
    """Let somebody look after it, or nobody."""
    await parts.desk.assign(known.chat, body.assignee, operator_of(caller))
    return Done()


@router.put("/{chat}/labels")
async def label(body: LabelsRequest, caller: Operator, known: Known, parts: Ports) -> Done:
    """Let it have these labels, and no others."""
    await parts.desk.label(known.chat, body.labels, operator_of(caller))
    return Done()


@router.post("/{chat}/notes", status_code=201)
async def add_note(body: NoteRequest, caller: Operator, known: Known, parts: Ports) -> NoteBody:
    """Write something for the other operators."""
    return NoteBody.of(await parts.desk.add_note(known.chat, body.text, operator_of(caller)))


@router.delete("/{chat}/notes/{note}")
async def delete_note(
    note: Annotated[int, Path(ge=1, le=2**53)],
    caller: Operator,
    known: Known,
    parts: Ports,
) -> Done:
    """Take a note away."""
    if not await parts.desk.delete_note(known.chat, note, operator_of(caller)):
        raise HTTPException(404, f"this conversation has no note {note}")
    return Done()


@router.put("/{chat}/block")
async def block(caller: Admin, known: Known, parts: Ports) -> Done:
    """Hear nothing more of the person of a direct chat, or of a whole group."""
    await parts.desk.block(known.chat, operator_of(caller))
    return Done()


@router.delete("/{chat}/block")
async def unblock(caller: Admin, known: Known, parts: Ports) -> Done:
    """Hear them again."""
    await parts.desk.block(known.chat, operator_of(caller), is_blocked=False)
    return Done()


@router.put("/{chat}/dock")
async def dock(body: DockRequest, caller: Admin, known: Known, parts: Ports) -> Done:
    """Let its answers go to another chat."""
    await parts.desk.dock(known.chat, SessionKey(body.target), operator_of(caller))
    return Done()


@router.delete("/{chat}/dock")
async def undock(caller: Admin, known: Known, parts: Ports) -> Done:
    """Let its answers go where they belong again."""
    await parts.desk.dock(known.chat, None, operator_of(caller))
    return Done()
