"""Begins a new session where a chat was silent for long, or a new day has begun."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from datetime import time as TimeOfDay
from typing import Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from bot.agent.control import Everybody, People
from bot.messages import BY_ITSELF, InboundMessage, SessionKey
from bot.tools.base import Speaker

MAX_KEPT: Final = 10_000  # sessions whose last message is at hand
TOLD: Final = "{reason}, so a new session begins here. `/resume` goes back to the one before."


class Standing(NamedTuple):
    """Where a chat stands: its current session, with times in seconds since 1970.

    Attributes:
        said_at: When something was last said there, by whomever; `None` for never.
        resumed_at: When it was last taken up again; 0 for never.
    """

    session: SessionKey
    said_at: float | None
    resumed_at: float = 0.0


class Sessions(Protocol):
    """Of the store's sessions, what is needed here."""

    async def standing(self, chat: SessionKey) -> Standing:
        """Where a chat stands."""

    async def begin(self, chat: SessionKey, title: str | None = None) -> SessionKey:
        """Let messages of a chat go to a new session; the old one is kept."""


class Delivered(Protocol):
    """Knows what was accepted before."""

    async def knows(self, message: InboundMessage) -> bool: ...


class Renewal:
    """Looks at messages that are about to be accepted.

    Args:
        goes_on: Whether a message goes on in a session, whatever its age: it is answering something, or an
            operator speaks there.
        speaker: Who tells the chat; asked for when there is something to tell.
        idle: Seconds of silence.
        daily_at: The time of day at which a new day begins, in `zone`.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        sessions: Sessions,
        journal: Delivered,
        *,
        goes_on: Callable[[InboundMessage, SessionKey], bool],
        speaker: Callable[[], Speaker],
        people: People | None = None,
        idle: float | None = None,
        daily_at: tuple[TimeOfDay, ZoneInfo] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sessions = sessions
        self._journal = journal
        self._goes_on = goes_on
        self._speaker = speaker
        self._people = people or Everybody()
        self._idle = idle
        self._daily_at = daily_at
        self._clock = clock
        self._heard: OrderedDict[SessionKey, float] = OrderedDict()
        self._beginning = asyncio.Lock()

    async def before(self, message: InboundMessage) -> None:
        """Begin a new session first where one is due, and tell the chat.

        Raises:
            StoreError: It could not be done.
        """
        chat = message.session
        is_meant_for_one = chat != message.address.session()
        if is_meant_for_one or message.trigger in BY_ITSELF or not self._people.may_speak(message):
            return
        session, said_at, resumed_at = await self._sessions.standing(chat)
        now = self._clock()
        heard = self._heard.get(session, said_at)
        reason = "" if heard is None else self._reason(max(heard, resumed_at), now)
        if not reason or self._goes_on(message, session) or await self._journal.knows(message):
            self._hear(session, now)
        elif (fresh := await self._begin(chat, session)) is not None:
            self._hear(fresh, now)
            await self._speaker().say(message.address, fresh, TOLD.format(reason=reason))

    async def _begin(self, chat: SessionKey, old: SessionKey) -> SessionKey | None:
        """Begin one; of messages that come together the first does, and the others follow it."""
        async with self._beginning:
            if (await self._sessions.standing(chat)).session != old:
                return None
            return await self._sessions.begin(chat)

    def _hear(self, session: SessionKey, now: float) -> None:
        self._heard[session] = now
        self._heard.move_to_end(session)
        if len(self._heard) > MAX_KEPT:
            self._heard.popitem(last=False)

    def _reason(self, heard: float, now: float) -> str:
        """Why a new session is due; empty where none is."""
        if self._idle is not None and now - heard >= self._idle:
            return "It has been quiet for a while"
        if self._daily_at is not None and heard < last_at(now, *self._daily_at):
            return "A new day has begun"
        return ""


def last_at(now: float, at: TimeOfDay, zone: ZoneInfo) -> float:
    """When the clocks of a zone last showed a time of day, in seconds since 1970."""
    here = datetime.fromtimestamp(now, UTC).astimezone(zone)
    last = datetime.combine(here.date(), at, zone)
    if last.timestamp() > now:
        last = datetime.combine(here.date() - timedelta(days=1), at, zone)
    return last.timestamp()
