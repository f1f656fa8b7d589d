"""`/api/keys`: who may use the API."""

from fastapi import APIRouter, HTTPException

from bot.web.api.access import Admin, Ports
from bot.web.api.bodies import Done, KeyBody, KeyList, KeyMade, KeyRequest

router = APIRouter(tags=["keys"])


@router.get("/api/keys")
async def list_keys(caller: Admin, parts: Ports) -> KeyList:
    """Every key, the newest first; never what makes it work."""
    return KeyList(keys=[KeyBody.of(key) for key in await parts.keys.all()])


@router.post("/api/keys", status_code=201)
async def make_key(body: KeyRequest, caller: Admin, parts: Ports) -> KeyMade:
    """Make a key; its text is in this answer and nowhere else."""
    key, text = await parts.keys.create(body.name, body.scopes)
    await parts.note(caller, "key create", key.id, [("scopes", " ".join(key.scopes))])
    return KeyMade(key=KeyBody.of(key), text=text)


@router.delete("/api/keys/{key}")
async def revoke_key(key: str, caller: Admin, parts: Ports) -> Done:
    """Let a key work no more, from the next request on."""
    if not await parts.keys.revoke(key):
        raise HTTPException(404, "there is no such key in force")
    await parts.note(caller, "key revoke", key)
    return Done()
