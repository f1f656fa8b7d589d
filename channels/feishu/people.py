"""Whom one knows: the names of people, and which messages are ours."""

import asyncio
import logging
import time
from collections import OrderedDict
from typing import Final, TypeVar

from bot.errors import ChannelError
from channels.feishu.api import Api
from channels.feishu.wire import FoundMessages, FoundPerson

Known = TypeVar("Known")

log = logging.getLogger(__name__)

MAX_KNOWN: Final = 5_000  # people, and as many messages
LOOK_UP_SECONDS: Final = 0.8  # an event, for which two may be needed, must be confirmed in 3
PAUSE: Final = 600.0  # seconds without look-ups after one was refused: the app may lack the scope


class People:
    """The names of people; who can't be looked up has none."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._names: OrderedDict[str, str] = OrderedDict()
        self._refused_until = 0.0

    async def name(self, person: str) -> str:
        """What somebody is called; empty where that can't be found out."""
        if person in self._names or not person.startswith("ou_") or time.monotonic() < self._refused_until:
            return self._names.get(person, "")
        path, query = f"/contact/v3/users/{person}", {"user_id_type": "open_id"}
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                found = await self._api.call("GET", path, FoundPerson, query=query)
        except (ChannelError, TimeoutError) as error:
            log.debug("name not found", extra={"cause": str(error)})
            self._refused_until = time.monotonic() + PAUSE
            return ""
        _remember(self._names, person, found.user.name)
        return found.user.name


class Ours:
    """Tells our messages from others': those of this process are remembered, others looked up."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: OrderedDict[str, bool] = OrderedDict()

    def note(self, message_id: str) -> None:
        """Remember a message that we have posted."""
        _remember(self._known, message_id, True)

    def is_known(self, message_id: str) -> bool:
        """Whether it is ours, as far as it is remembered."""
        return self._known.get(message_id, False)

    async def is_ours(self, message_id: str) -> bool:
        """Whether we wrote a message; where that can't be found out in time, no."""
        if message_id in self._known:
            return self._known[message_id]
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                found = await self._api.call("GET", f"/im/v1/messages/{message_id}", FoundMessages)
        except (ChannelError, TimeoutError) as error:
            log.debug("message not found", extra={"cause": str(error)})
            return False
        is_ours = any(one.sender.id == self._api.app_id for one in found.items)
        _remember(self._known, message_id, is_ours)
        return is_ours


def _remember(known: OrderedDict[str, Known], key: str, value: Known) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > MAX_KNOWN:
        known.popitem(last=False)
