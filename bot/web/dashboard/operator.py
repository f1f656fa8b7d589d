"""Who sits before a page."""

from typing import Final
from urllib.parse import unquote

from starlette.requests import HTTPConnection

from bot.inbox.base import MAX_NAME, Operator
from bot.web.access import Entry
from bot.web.api.base import CHANNEL, Keys
from bot.web.dashboard.base import NAME_COOKIE, role_of
from bot.web.guard import ENTRY, may_operate

OWNER: Final = Entry()  # whom the guard lets in without a cookie: at this machine, or with the token itself


class Badge:
    """The operator of one page, asked for anew before each act: a key may be revoked meanwhile."""

    def __init__(self, request: HTTPConnection, keys: Keys) -> None:
        entry: Entry = request.scope.get(ENTRY, OWNER)
        self._keys = keys
        self._key = entry.key
        name = clean_name(entry.name if entry.key else unquote(request.cookies.get(NAME_COOKIE, "")))
        actor = f"{CHANNEL}:{entry.key}" if entry.key else f"web:{name or 'owner'}"
        self.operator = Operator(name=name or "Owner", actor=actor, role=role_of(entry))
        self.is_named = bool(name)

    @property
    def has_own_key(self) -> bool:
        """Whether the name is that of a key, and so not one's own to choose."""
        return self._key is not None

    async def holds(self) -> bool:
        """Whether the operator may still act."""
        return self._key is None or may_operate(await self._keys.find(self._key))


def clean_name(text: str) -> str:
    """A name as it is shown: without what can't be printed, not too long."""
    return "".join(sign for sign in text if sign.isprintable()).strip()[:MAX_NAME]
