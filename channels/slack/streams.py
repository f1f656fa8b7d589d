"""Answers that grow natively: `chat.startStream`, `appendStream`, `stopStream`.

What is known of streams beyond the documents, as developers have measured it: one lives for about five
minutes, whatever is appended; while it is open, `chat.update` is refused (`streaming_state_conflict`),
afterwards `appendStream` and `stopStream` are (`message_not_in_streaming_state`); bots must name the
recipient in direct chats, too; white space at the beginning of an appended piece may get lost.
"""

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from bot.errors import ChannelError, OutcomeUnknown, RateLimited, StoreError
from bot.messages import Address
from channels.base import State
from channels.slack.allowance import Allowance
from channels.slack.blocks import Block
from channels.slack.client import Client
from channels.slack.errors import StreamOver
from channels.slack.marker import marker
from channels.slack.parse import TIMESTAMP, Heard, message_id, stamp_of
from channels.slack.wire import Done, Posted

log = logging.getLogger(__name__)

AT_ONCE: Final = 18  # of the 20 a minute that starting and stopping allow
WINDOW: Final = 60.0
APPENDS, APPENDS_AT_ONCE = 95, 20  # of 100 a minute
REST_SECONDS: Final = 600.0  # after a workspace refused a stream as such
LIFETIME: Final = 300.0
STATE: Final = "streams"
ATTEMPTS: Final = 50
MOST_RECIPIENTS: Final = 2_000


@dataclass(slots=True, kw_only=True)
class Stream:
    """An open stream; `is_certain` until the outcome of a call about it was lost.

    Attributes:
        sent: What was sent of its text so far.
        born: By the monotonic clock.
    """

    id: str
    chat: str
    key: str
    sent: str
    born: float
    is_certain: bool = True


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a stream is shown to first: who asked."""

    user: str
    team: str


class Recipients:
    """Remembers who asked what, and who spoke last in a chat."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Recipient] = OrderedDict()

    def remember(self, heard: Heard) -> None:
        """Keep the author of a message."""
        if heard.asker is None or not heard.team:
            return
        recipient = Recipient(user=heard.asker, team=heard.team)
        for name in (heard.message.platform_id, heard.message.session):
            self._known[name] = recipient
            self._known.move_to_end(name)
        while len(self._known) > MOST_RECIPIENTS:
            self._known.popitem(last=False)

    def of(self, address: Address, answers: str | None) -> Recipient | None:
        """Whom an answer is for."""
        return self._known.get(answers or "") or self._known.get(address.session())


class Streams:
    """Keeps the open streams, and stays inside their rates.

    A stream is only begun while fewer than `AT_ONCE` are open or were stopped in the last minute. So neither
    starts nor stops ever come to more than that in a minute.
    """

    def __init__(self, client: Client, state: State) -> None:
        self._client = client
        self._state = state
        self._open: dict[str, Stream] = {}
        self._stopped: deque[float] = deque()
        self._attempts: OrderedDict[str, str] = OrderedDict()
        self._appends = Allowance(APPENDS, APPENDS_AT_ONCE)
        self._rests_until = 0.0

    async def load(self) -> None:
        """Read which posts were tried as streams before a restart."""
        text = await self._state.get(STATE)
        if text is not None:
            self._attempts = OrderedDict(msgspec.json.decode(text, type=dict[str, str]))

    def get(self, platform_id: str) -> Stream | None:
        """The open stream that a message is."""
        return self._open.get(platform_id)

    def has_room(self) -> bool:
        """Whether one more may be begun."""
        now = time.monotonic()
        for stream in [one for one in self._open.values() if one.born < now - LIFETIME]:
            del self._open[stream.id]  # Slack has closed it
        while self._stopped and self._stopped[0] < now - WINDOW:
            self._stopped.popleft()
        return now >= self._rests_until and len(self._open) + len(self._stopped) < AT_ONCE

    async def start(
        self, address: Address, text: str, *, key: str, to: Recipient, after: str | None
    ) -> str | None:
        """Begin a stream; `None` where it was refused, and a post may do.

        A stream can't carry our marker before it is stopped. So that `find` recognises one whose answer got
        lost, it is written down first that this key was tried as a stream, and after which message.

        Args:
            after: The message that is answered.
        """
        try:
            await self._note(key, _stamp(after) or address.thread or "")
        except StoreError as error:
            log.warning("stream not written down, posting instead", extra={"cause": str(error)})
            return None
        sent = stable_part(text)
        arguments = {
            "channel": address.chat,
            "thread_ts": address.thread,
            "recipient_team_id": to.team,
            "recipient_user_id": to.user,
            "markdown_text": sent or None,
        }
        try:
            posted = await self._client.call("chat.startStream", Posted, arguments)
        except OutcomeUnknown:
            raise
        except ChannelError as error:
            if not isinstance(error, RateLimited):
                self._rests_until = time.monotonic() + REST_SECONDS
            log.info("stream refused, posting instead", extra={"cause": str(error)})
            return None
        platform_id = message_id(address.chat, posted.ts)
        self._open[platform_id] = Stream(
            id=platform_id, chat=address.chat, key=key, sent=sent, born=time.monotonic()
        )
        return platform_id

    async def grow(self, stream: Stream, text: str) -> bool:
        """Append what is new, as far as calls are left; a text that begins in another way waits for the end.

        Returns:
            False where the stream is over, and the message has to be changed in the common way.
        """
        part = stable_part(text)
        if not stream.is_certain or not part.startswith(stream.sent) or len(part) == len(stream.sent):
            return True
        if not self._appends.take():
            return True
        arguments = {
            "channel": stream.chat,
            "ts": stamp_of(stream.id),
            "markdown_text": part[len(stream.sent) :],
        }
        if not await self._call("chat.appendStream", stream, arguments):
            return False
        stream.sent = part
        return True

    async def finish(self, stream: Stream, text: str | None, blocks: list[Block]) -> bool:
        """Stop a stream with the rest of its text and what stands under it.

        Args:
            text: `None` where what was shown has to be replaced anyway.

        Returns:
            False where the message does not look as wanted yet, and has to be changed in the common way.
        """
        whole = text if text is not None and stream.is_certain and text.startswith(stream.sent) else None
        rest = whole[len(stream.sent) :] if whole is not None else ""
        arguments = {
            "channel": stream.chat,
            "ts": stamp_of(stream.id),
            "markdown_text": rest or None,
            "blocks": blocks if whole is not None and blocks else None,
            "metadata": marker(stream.key),
        }
        if not await self._call("chat.stopStream", stream, arguments):
            return False
        self._forget(stream)
        return whole is not None

    async def stop_unknown(self, chat: str, platform_id: str) -> None:
        """Stop a stream that was begun before a restart; nobody knows what it shows or its key."""
        arguments = {"channel": chat, "ts": stamp_of(platform_id), "metadata": marker("")}
        try:
            await self._client.call("chat.stopStream", Done, arguments)
        except StreamOver:
            log.debug("stream was over already")
        self._stopped.append(time.monotonic())

    def tried(self, key: str) -> str | None:
        """After which time stamp a key was tried as a stream, if it was."""
        return self._attempts.get(key)

    def is_known(self, platform_id: str) -> bool:
        """Whether a message is a stream of this process, and so nobody's lost one."""
        return platform_id in self._open

    async def _call(self, method: str, stream: Stream, arguments: Mapping[str, object]) -> bool:
        """Call a method about a stream; False where it is over. Cut short, its outcome is not known."""
        was_certain, stream.is_certain = stream.is_certain, False
        try:
            await self._client.call(method, Done, arguments)
        except StreamOver:
            self._forget(stream)
            return False
        except OutcomeUnknown:
            raise
        except ChannelError:  # it was not obeyed
            stream.is_certain = was_certain
            raise
        stream.is_certain = was_certain
        return True

    def _forget(self, stream: Stream) -> None:
        if self._open.pop(stream.id, None) is not None:
            self._stopped.append(time.monotonic())

    async def _note(self, key: str, after: str) -> None:
        self._attempts[key] = after
        while len(self._attempts) > ATTEMPTS:
            self._attempts.popitem(last=False)
        await self._state.put(STATE, msgspec.json.encode(dict(self._attempts)).decode())


def stable_part(text: str) -> str:
    """What of a growing text can be appended for good.

    Its last visible character waits for the next piece, which so never begins with white space; a fence at
    the very end may only close for now what goes on.
    """
    return text.rstrip().removesuffix("```").rstrip()[:-1]


def _stamp(answers: str | None) -> str | None:
    """When what is answered was said; presses and commands have no time stamp of their own."""
    found = stamp_of(answers or "")
    return found if TIMESTAMP.fullmatch(found) else None
