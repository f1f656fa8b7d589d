"""`/api/webhooks`: who is told of events, and what nobody took."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from bot.web.api.access import Admin, Ports
from bot.web.api.bodies import (
    DeadLetterBody,
    DeadLetterList,
    Done,
    WebhookBody,
    WebhookList,
    WebhookMade,
    WebhookRequest,
)

router = APIRouter(tags=["webhooks"])


@router.get("/api/webhooks")
async def list_webhooks(caller: Admin, parts: Ports) -> WebhookList:
    """All webhooks."""
    return WebhookList(webhooks=[WebhookBody.of(one) for one in await parts.webhooks.all()])


@router.post("/api/webhooks", status_code=201)
async def add_webhook(body: WebhookRequest, caller: Admin, parts: Ports) -> WebhookMade:
    """Have events posted somewhere; the secret that signs them is in this answer and nowhere else."""
    try:
        webhook, secret = await parts.webhooks.add(body.url, body.events)
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    await parts.note(caller, "webhook add", webhook.id, [("events", " ".join(webhook.events))])
    return WebhookMade(webhook=WebhookBody.of(webhook), secret=secret)


@router.delete("/api/webhooks/{webhook}")
async def remove_webhook(webhook: str, caller: Admin, parts: Ports) -> Done:
    """Post nothing there any more; what waits is dropped."""
    if not await parts.webhooks.remove(webhook):
        raise HTTPException(404, "there is no such webhook")
    await parts.note(caller, "webhook remove", webhook)
    return Done()


@router.get("/api/webhooks/dead")
async def list_dead_letters(
    caller: Admin, parts: Ports, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> DeadLetterList:
    """What nobody took, however often it was tried; the newest first."""
    letters = await parts.webhooks.dead(limit=limit)
    return DeadLetterList(letters=[DeadLetterBody.of(letter) for letter in letters])


@router.post("/api/webhooks/dead/{letter}/retry")
async def retry_dead_letter(letter: str, caller: Admin, parts: Ports) -> Done:
    """Try a dead letter again from the beginning."""
    if not await parts.webhooks.retry(letter):
        raise HTTPException(404, "there is no such dead letter")
    return Done(status="queued")
