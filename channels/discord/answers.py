"""Interactions (commands and presses): acknowledged in time, and answered by the token that came along."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from discord.http import Route

from bot.errors import ChannelError, MessageGone
from channels.discord.errors import ANSWERED_ALREADY, Refused
from channels.discord.rest import Rest

# Source: Discord API reference, "Receiving and Responding": 3 seconds to the first answer, 15 minutes in all.
LIFETIME: Final = 14.5 * 60.0
ACKNOWLEDGE_SECONDS: Final = 10.0
DEFERRED_ANSWER, DEFERRED_CHANGE = 5, 6
EPHEMERAL: Final = 1 << 6
OVER: Final = frozenset({10015, 10062, 50027})  # unknown webhook, unknown interaction, invalid token
MOST: Final = 1_000
PRIVATE: Final = "private:"  # how the id of a command begins whose answer only one person sees
COMMAND: Final = "command:"
PRESS: Final = "press:"
BELOW: Final = ""  # in place of a key: nothing is kept for the answer, it is a message of its own


@dataclass(slots=True, kw_only=True)
class Use:
    """A command that somebody used, or a button that only they see.

    Attributes:
        token: Lets us answer, and so is a secret.
        acknowledged: Discord knows that we know: from then on it can be answered.
        original: Under which key the place of the answer was taken, that Discord keeps for it.
        is_only_way: Nothing but the token may carry an answer, or can.
    """

    token: str
    is_private: bool
    is_only_way: bool
    until: float
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    original: str | None = None


class Answers:
    """Knows what may still be answered by a token; tokens are not written down, and end with the process.

    Args:
        lifetime: Seconds for which a token is used.
    """

    def __init__(self, rest: Rest, *, lifetime: float = LIFETIME) -> None:
        self._rest = rest
        self._lifetime = lifetime
        self._uses: OrderedDict[str, Use] = OrderedDict()
        self._by_message: OrderedDict[str, Use] = OrderedDict()
        self.application = 0

    def remember(self, platform_id: str, token: str, *, has_place: bool = True) -> Use:
        """Keep the token of an interaction.

        Args:
            has_place: Discord keeps a place for the answer. Without one, only a private answer needs the
                token; all others are better off as messages, which a nonce keeps from coming twice.
        """
        is_private = platform_id.startswith(PRIVATE)
        use = Use(
            token=token,
            is_private=is_private,
            is_only_way=is_private,
            until=time.monotonic() + self._lifetime,
            original=None if has_place else BELOW,
        )
        if has_place or is_private:
            self._uses[platform_id] = use
            _shorten(self._uses)
        return use

    async def defer(self, interaction: int, use: Use) -> None:
        """Let people see that we think about a command; if that fails, it is answered as a message would be.

        Raises:
            ChannelError: Any of its kinds.
        """
        body: dict[str, object] = {"type": DEFERRED_ANSWER}
        if use.is_private:
            body["data"] = {"flags": EPHEMERAL}
        try:
            await self._acknowledge(interaction, use.token, body)
        except ChannelError:
            use.until = 0.0
            raise
        finally:
            use.acknowledged.set()

    async def accept(self, interaction: int, use: Use) -> None:
        """Let the person who pressed a button see that it went well; its message stays as it is.

        Raises:
            ChannelError: Any of its kinds.
        """
        try:
            await self._acknowledge(interaction, use.token, {"type": DEFERRED_CHANGE})
        except ChannelError:
            use.until = 0.0
            raise
        finally:
            use.acknowledged.set()

    async def _acknowledge(self, interaction: int, token: str, body: dict[str, object]) -> None:
        route = Route(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=interaction,
            webhook_token=token,
        )
        try:
            await self._rest.call("acknowledge", route, json=body)
        except Refused as error:
            if error.code != ANSWERED_ALREADY:
                raise

    def to(self, platform_id: str | None) -> Use | None:
        """The command that is answered, where its token may still be used."""
        return _alive(self._uses.get(platform_id or ""))

    def of(self, message: str) -> Use | None:
        """The command that a message of ours has answered, where its token may still be used."""
        return _alive(self._by_message.get(message))

    async def post(self, use: Use, key: str, body: dict[str, object]) -> str | None:
        """Answer in the place that Discord keeps, where people see that we think.

        Gives `None` where that is taken: what follows is better off as a message, which a nonce keeps from
        coming twice; unless the token is the only way.
        """
        told = await self._fill(use, key, json=body)
        if told is not None or not use.is_only_way:
            return told
        return await self._follow(use, json=_flagged(use, body))

    def flags(self, use: Use) -> int:
        """What makes an answer as private as it has to be."""
        return EPHEMERAL if use.is_private else 0

    async def upload(self, use: Use, key: str, form: list[dict[str, Any]]) -> str | None:
        """Answer with a file; see `post`.

        Raises:
            ChannelError: Among its kinds: the place is gone. The next try goes another way.
        """
        if use.original in (None, key):
            told = await self._fill(use, key, form=form)
            if told is None:  # and the file is read
                raise ChannelError("discord answer: its place is gone")
            return told
        return await self._follow(use, form=form) if use.is_only_way else None

    async def _fill(self, use: Use, key: str, **options: Any) -> str | None:
        """Answer in the place that Discord keeps; `None` where it is taken, or somebody has deleted it."""
        if use.original not in (None, key):
            return None
        use.original = key
        try:
            return self._posted(use, await self._call(use, "PATCH", "/messages/@original", **options))
        except MessageGone:
            use.original = BELOW
            return None

    async def _follow(self, use: Use, **options: Any) -> str:
        return self._posted(use, await self._call(use, "POST", "", params={"wait": "true"}, **options))

    async def edit(self, use: Use, message: str, body: dict[str, object]) -> None:
        """Change an answer."""
        await self._call(use, "PATCH", f"/messages/{message}", json=body)

    async def delete(self, use: Use, message: str) -> None:
        """Take an answer back."""
        await self._call(use, "DELETE", f"/messages/{message}")

    def _posted(self, use: Use, told: dict[str, Any]) -> str:
        message = str(told["id"])
        self._by_message[message] = use
        _shorten(self._by_message)
        return message

    async def _call(self, use: Use, method: str, path: str, **options: Any) -> Any:
        route = Route(
            method,
            "/webhooks/{webhook_id}/{webhook_token}" + path,
            webhook_id=self.application,
            webhook_token=use.token,
        )
        await _acknowledged(use)
        try:
            return await self._rest.call("answer", route, **options)
        except Refused as error:
            if error.code not in OVER:
                raise
            use.until = 0.0  # the next try goes another way
            raise ChannelError(str(error)) from error


async def _acknowledged(use: Use) -> None:
    """Wait until Discord can be answered.

    Raises:
        ChannelError: It can't: the next try goes another way.
    """
    try:
        async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
            await use.acknowledged.wait()
    except TimeoutError:
        use.until = 0.0
    if use.until == 0.0:
        raise ChannelError("discord answer: the command was not acknowledged in time")


def asker(platform_id: str | None) -> str | None:
    """Who alone may see the answer to something, by its id."""
    if platform_id is None or not platform_id.startswith(PRIVATE):
        return None
    return platform_id.removeprefix(PRIVATE).partition(":")[0]


def _flagged(use: Use, body: dict[str, object]) -> dict[str, object]:
    flags = body.get("flags")
    own = flags if isinstance(flags, int) else 0
    return {**body, "flags": own | (EPHEMERAL if use.is_private else 0)}


def _alive(use: Use | None) -> Use | None:
    return use if use is not None and use.until > time.monotonic() else None


def _shorten(kept: "OrderedDict[str, Use]") -> None:
    while len(kept) > MOST:
        kept.popitem(last=False)
