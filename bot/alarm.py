"""Tells the admins, in their own chats, what an operator would want to know at once."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from types import TracebackType
from typing import Protocol, Self

from bot.bus import Bus
from bot.errors import StoreError
from bot.messages import Address, End, InboundMessage, SessionKey
from bot.settings.notices import NoticeSettings

log = logging.getLogger(__name__)

MAX_TOLD = 1_000  # chats that are remembered as told of

LOST = (
    "I can write to the chat `{chat}` on {channel} no more: {cause}. What waits for it stays in the outbox."
)

AUDIT_FAILED = "The audit log can't be written: {cause}. What is decided now is not on record."

BLOCKED = (
    "I have blocked a message on {channel} ({level}): `/blocked` shows it, `/release {reference}` runs it."
)
BLOCKED_EVERY = 600.0  # seconds between two such notes about one chat
NEW = "{what} has written to me on {channel} for the first time: `{chat}`."
SPENT = "A budget leaves no room for an answer in `{chat}`. Told there: {text}"


class Outbox(Protocol):
    """Takes announcements."""

    async def announce(self, addresses: list[Address], text: str) -> list[End]: ...


async def never_muted(chat: SessionKey) -> bool:
    """Where there is no inbox, no conversation is muted."""
    return False


class Alarm:
    """Speaks to the admins from `__aenter__` to `__aexit__`; of each chat, or budget, once.

    Args:
        admin_chats: Where they are.
        notices: What they want to be told of.
        is_muted: Whether a conversation raises no notice.
        redact: Hides what must not leave the bot.

    Attributes:
        notices: Looked at for each notice, so that others can be put in place while the bot runs.
    """

    def __init__(
        self,
        bus: Bus,
        outbox: Outbox,
        *,
        admin_chats: Callable[[], Awaitable[list[Address]]],
        notices: NoticeSettings | None = None,
        is_muted: Callable[[SessionKey], Awaitable[bool]] = never_muted,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.notices = notices or NoticeSettings()
        self._is_muted = is_muted
        self._redact = redact
        self._bus = bus
        self._outbox = outbox
        self._admin_chats = admin_chats
        self._told: OrderedDict[Hashable, None] = OrderedDict()
        self._blocked: OrderedDict[Address, float] = OrderedDict()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._group.__aexit__(None, None, None)

    def chat_lost(self, address: Address, cause: str) -> None:
        """A platform will take nothing more for a chat."""
        if not self._is_first(address):
            return
        log.error("chat is lost", extra={"channel": address.channel, "chat": address.chat, "cause": cause})
        if self.notices.failed_delivery:
            text = LOST.format(chat=address.chat, channel=address.channel, cause=cause)
            self._group.create_task(self._tell(text, lost=address, about=address), name="alarm")

    def chat_begun(self, address: Address) -> None:
        """The first turn of a session begins."""
        chat = address.session()
        if self.notices.new_person and self._is_first(("new", chat)):
            what = "Somebody" if address.is_direct else "A group"
            text = NEW.format(what=what, channel=address.channel, chat=chat)
            self._group.create_task(self._tell(text, about=address), name="alarm")

    def budget_spent(self, message: InboundMessage, budget: Hashable, text: str) -> None:
        """A budget leaves no room for an answer.

        Args:
            budget: Which, and of which day: of the same they are told once.
            text: What the person is told.
        """
        if self.notices.budget and self._is_first(("budget", budget)):
            told = SPENT.format(chat=message.address.session(), text=text)
            self._group.create_task(self._tell(told, about=message.address), name="alarm")

    def tell(self, text: str) -> None:
        """Something that whoever calls has seen to be worth it."""
        self._group.create_task(self._tell(text), name="alarm")

    def _is_first(self, thing: Hashable) -> bool:
        """Whether they were not told of it yet, as far back as is remembered."""
        if thing in self._told:
            return False
        self._told[thing] = None
        if len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        return True

    def message_blocked(self, address: Address, level: str, reference: str) -> None:
        """The safety check holds a message back."""
        if not self.notices.blocked:
            return
        now = asyncio.get_running_loop().time()
        if now - self._blocked.get(address, float("-inf")) < BLOCKED_EVERY:
            return
        self._blocked[address] = now
        self._blocked.move_to_end(address)
        if len(self._blocked) > MAX_TOLD:
            self._blocked.popitem(last=False)
        text = BLOCKED.format(channel=address.channel, level=level, reference=reference)
        self._group.create_task(self._tell(text, lost=address, about=address), name="alarm")

    def audit_failed(self, cause: str) -> None:
        """Nothing can be written to the audit log."""
        self._group.create_task(self._tell(AUDIT_FAILED.format(cause=cause)), name="alarm")

    async def _tell(self, text: str, *, lost: Address | None = None, about: Address | None = None) -> None:
        try:
            if about is not None and await self._is_muted(about.session()):
                return
            chats = [address for address in await self._admin_chats() if address != lost]
            for end in await self._outbox.announce(chats, self._redact(text)):
                self._bus.send(end)
        except StoreError as error:
            log.error("admins not told", extra={"cause": str(error)})
        except Exception:  # where this task ends: what could not be told must not end the bot
            log.exception("admins not told")
