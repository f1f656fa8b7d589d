"""Decides what of all that is heard on a platform is for the bot, and hands it to the bus."""

import logging
import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from bot.bus import Bus
from bot.messages import Address, InboundMessage, Kind, Trigger
from bot.settings import ChannelSettings

log = logging.getLogger(__name__)

LOOP_EVENTS: Final = 20  # messages of one bot in one chat, in `LOOP_SECONDS`: a loop
LOOP_SECONDS: Final = 60.0
LOOP_SILENCE: Final = 60.0
MAX_PAIRS: Final = 1_000
MAX_CHATS: Final = 1_000
LAST: Final = 6  # messages of a chat that are remembered for who said them
FIRST_UNSPACED: Final = 0x2E80  # the scripts of East Asia begin here; they put no spaces between words
Clock: TypeAlias = Callable[[], float]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided elsewhere.

    Attributes:
        is_conversing: Whether the bot reads along in a chat and decides itself when to speak.
        is_command: Whether a text is a command of ours.
    """

    is_conversing: Callable[[Address], bool]
    is_command: Callable[[str], bool]


class LoopGuard:
    """Ends conversations between bots: 20 messages in 60 s, and a bot is not heard for 60 s."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._heard: OrderedDict[tuple[Address, str], deque[float]] = OrderedDict()
        self._silent_until: dict[tuple[Address, str], float] = {}

    def allows(self, address: Address, bot: str) -> bool:
        """Whether a message of another bot may be answered; counts it."""
        now, pair = self._clock(), (address, bot)
        if self._silent_until.get(pair, 0.0) > now:
            return False
        heard = self._heard.setdefault(pair, deque(maxlen=LOOP_EVENTS))
        self._heard.move_to_end(pair)
        while len(self._heard) > MAX_PAIRS:
            old, _ = self._heard.popitem(last=False)
            self._silent_until.pop(old, None)
        heard.append(now)
        if len(heard) == LOOP_EVENTS and heard[0] > now - LOOP_SECONDS:
            log.warning("loop between bots, not listening", extra={"chat": address.chat})
            self._silent_until[pair] = now + LOOP_SILENCE
            heard.clear()
            return False
        return True


class Engagement:
    """Who spoke last in the chats where the bot reads along."""

    def __init__(self) -> None:
        self._by_bot: OrderedDict[Address, deque[bool]] = OrderedDict()

    def note(self, address: Address, *, by_bot: bool) -> None:
        """Remember that somebody spoke."""
        spoken = self._by_bot.setdefault(address, deque(maxlen=LAST))
        spoken.append(by_bot)
        self._by_bot.move_to_end(address)
        while len(self._by_bot) > MAX_CHATS:
            self._by_bot.popitem(last=False)

    def is_engaged(self, address: Address, text: str) -> bool:
        """Whether the bot is part of the conversation that a text goes on with.

        It is when it spoke before it, or among the last three, or, where the text asks, among the last six.
        """
        last = list(self._by_bot.get(address, ()))
        return any(last[-3:]) or ("?" in text and any(last))


class Intake:
    """Takes what one account hears; see `channels.base.Intake`.

    Args:
        names: What people may call the bot.
    """

    def __init__(
        self,
        settings: ChannelSettings,
        *,
        bus: Bus,
        rules: Rules,
        names: Callable[[], tuple[str, ...]],
        engagement: Engagement,
        clock: Clock = time.monotonic,
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._rules = rules
        self._names = names
        self._engagement = engagement
        self._guard = LoopGuard(clock)

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        """See the protocol."""
        if message.kind in (Kind.EDIT, Kind.DELETE):
            if self._settings.allow_bots or not message.sender.is_bot:  # nothing is kept of other bots
                await self._bus.publish(message)
            return
        if message.sender.is_bot and not self._hears_bot(message):
            return
        if (taken := self._judge(message, is_addressed=is_addressed)) is not None:
            await self._bus.publish(taken)
        if not message.is_direct:
            self._engagement.note(message.address, by_bot=False)

    def _hears_bot(self, message: InboundMessage) -> bool:
        return self._settings.allow_bots and self._guard.allows(message.address, message.sender.id)

    def _judge(self, message: InboundMessage, *, is_addressed: bool) -> InboundMessage | None:
        """What the message is to the bot: to be answered, perhaps to be answered, overheard or nothing."""
        is_meant = message.is_direct or is_addressed or message.trigger is not Trigger.MESSAGE
        if is_meant or self._rules.is_command(message.text) or self._is_called(message.text):
            return message
        if not self._settings.require_mention:
            return replace(message, may_be_silent=True)
        if self._rules.is_conversing(message.address):
            if self._engagement.is_engaged(message.address, message.text):
                return replace(message, may_be_silent=True)
        elif self._settings.group_context == 0:
            return None
        return replace(message, kind=Kind.OVERHEARD)

    def _is_called(self, text: str) -> bool:
        """Whether a text calls the bot by its name, at its beginning or its end."""
        for name in self._names():
            begin, word, end = _border(name[0]), re.escape(name), _border(name[-1])
            if re.search(rf"^\W*{word}{end}|{begin}{word}\W*$", text, re.IGNORECASE):
                return True
        return False


def _border(sign: str) -> str:
    """What matches where a name begins or ends; scripts without spaces, and signs, have no such border."""
    is_spaced = sign.isalnum() and ord(sign) < FIRST_UNSPACED
    return r"\b" if is_spaced else ""
