"""Who people are: names and roles, asked once in a while."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from bot.errors import ChannelError
from bot.messages import Frozen
from channels.slack.client import Client
from channels.slack.wire import UserInfo

KEPT_SECONDS: Final = 600.0
FAILED_SECONDS: Final = 60.0
MOST: Final = 5_000


class Known(Frozen, frozen=True, kw_only=True):
    """What is known of somebody; `until` by the monotonic clock."""

    name: str = ""
    is_admin: bool = False
    until: float


class People:
    """Looks people up, but lets no message wait long for it.

    Args:
        timeout: Seconds after which a message goes on without a name.
    """

    def __init__(self, client: Client, *, timeout: float = 1.0) -> None:
        self._client = client
        self._timeout = timeout
        self._known: OrderedDict[str, Known] = OrderedDict()

    async def look_up(self, user: str, *, team: str) -> Known:
        """Find out about somebody; nothing is known of who can't be looked up in time.

        Args:
            team: Our workspace: who is an admin of another one is none here.
        """
        known = self._known.get(user)
        if known is not None and known.until > time.monotonic():
            return known
        known = self._known[user] = await self._ask(user, team)
        self._known.move_to_end(user)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return known

    def names(self, users: Iterable[str]) -> Mapping[str, str]:
        """What people are called, of those who were looked up."""
        return {user: self._known[user].name for user in users if user in self._known}

    async def _ask(self, user: str, team: str) -> Known:
        try:
            async with asyncio.timeout(self._timeout):
                found = (await self._client.call("users.info", UserInfo, {"user": user})).user
        except (ChannelError, TimeoutError):
            before = self._known.get(user)
            return Known(name=before.name if before else "", until=time.monotonic() + FAILED_SECONDS)
        return Known(
            name=found.profile.display_name or found.real_name or found.name or "",
            is_admin=bool(found.is_admin or found.is_owner) and found.team_id in (None, team),
            until=time.monotonic() + KEPT_SECONDS,
        )
