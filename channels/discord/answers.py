"""Interactions (commands and presses): acknowledged in time, and answered by the token that came along."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from discord.http import Route

from bot.errors import ChannelError
from channels.discord.errors import ANSWERED_ALREADY, UNKNOWN_INTERACTION, Refused
from channels.discord.rest import Rest

# Source: Discord API reference, "Receiving and Responding": 3 seconds to the first answer, 15 minutes in all.
LIFETIME: Final = 14.5 * 60.0
DEFERRED_ANSWER, DEFERRED_CHANGE = 5, 6
EPHEMERAL: Final = 1 << 6
INVALID_TOKEN: Final = 50027
MOST: Final = 1_000
PRIVATE: Final = "private:"  # how the id of a command begins whose answer only one person sees
COMMAND: Final = "command:"
PRESS: Final = "press:"


@dataclass(slots=True, kw_only=True)
class Use:
    """A command that somebody used.

    Attributes:
        token: Lets us answer, and so is a secret.
        original: Under which key the place of the answer was taken, that Discord keeps for it.
    """

    token: str
    is_private: bool
    until: float
    original: str | None = None


class Answers:
    """Knows what may still be answered by a token; after a restart nothing is, as tokens are not written down.

    Args:
        lifetime: Seconds for which a token is used.
    """

    def __init__(self, rest: Rest, *, lifetime: float = LIFETIME) -> None:
        self._rest = rest
        self._lifetime = lifetime
        self._uses: OrderedDict[str, Use] = OrderedDict()
        self._by_message: OrderedDict[str, Use] = OrderedDict()
        self.application = 0

    def remember(self, platform_id: str, token: str) -> None:
        """Keep the token of a command."""
        until = time.monotonic() + self._lifetime
        self._uses[platform_id] = Use(token=token, is_private=platform_id.startswith(PRIVATE), until=until)
        _shorten(self._uses)

    async def acknowledge(self, interaction: int, token: str, kind: int, *, is_private: bool = False) -> None:
        """Tell Discord that an interaction has arrived; one that is too old, or answered, is let be.

        Raises:
            ChannelError: Any of its kinds.
        """
        route = Route(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=interaction,
            webhook_token=token,
        )
        body: dict[str, object] = {"type": kind}
        if is_private:
            body["data"] = {"flags": EPHEMERAL}
        try:
            await self._rest.call("acknowledge", route, json=body)
        except Refused as error:
            if error.code not in (UNKNOWN_INTERACTION, ANSWERED_ALREADY):
                raise

    def to(self, platform_id: str | None) -> Use | None:
        """The command that is answered, where its token may still be used."""
        return _alive(self._uses.get(platform_id or ""))

    def of(self, message: str) -> Use | None:
        """The command that a message of ours has answered, where its token may still be used."""
        return _alive(self._by_message.get(message))

    async def post(self, use: Use, key: str, body: dict[str, object]) -> str:
        """Answer; the first time in the place that Discord keeps, where people see that we think."""
        if use.original is None:
            use.original = key
        if use.original == key:
            told = await self._call(use, "PATCH", "/messages/@original", json=body)
        else:
            told = await self._call(use, "POST", "", json=_flagged(use, body), params={"wait": "true"})
        return self._posted(use, told)

    async def upload(self, use: Use, form: list[dict[str, Any]]) -> str:
        """Answer with a file."""
        told = await self._call(use, "POST", "", form=form, params={"wait": "true"})
        return self._posted(use, told)

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
        try:
            return await self._rest.call("answer", route, **options)
        except Refused as error:
            if error.code not in (INVALID_TOKEN, UNKNOWN_INTERACTION):
                raise
            use.until = 0.0  # the next try goes another way
            raise ChannelError(str(error)) from error


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
