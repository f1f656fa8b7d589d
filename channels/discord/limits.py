"""What Discord said about its rate limits, so that a call it would refuse is not made."""

import time
from collections.abc import Mapping
from typing import Final, Literal

from discord.http import Route

from bot.errors import RateLimited

MOST: Final = 500  # buckets that are remembered
DEFAULT_WAIT: Final = 30.0  # seconds, where a refusal does not say when to come again


class Limits:
    """Knows the buckets that are empty.

    The SDK's own book-keeping sleeps until a bucket is full again, and holds back the answer to the call that
    emptied it; delivery has to know at once.

    Source: Discord API reference, "Rate limits".
    """

    def __init__(self) -> None:
        self._buckets: dict[str, str] = {}  # by route
        self._empty_until: dict[str, float] = {}  # by bucket and what it is about
        self._closed_until = 0.0

    def check(self, route: Route) -> None:
        """Let a call through.

        Raises:
            RateLimited: It would be refused.
        """
        now = time.monotonic()
        if self._closed_until > now:
            raise _limited(route, self._closed_until - now, "account")
        if (wait := self._empty_until.get(self._place(route), 0.0) - now) > 0:
            raise _limited(route, wait, "chat")

    def note(self, route: Route, headers: Mapping[str, str]) -> None:
        """Read what an answer says about its bucket."""
        bucket, remaining = headers.get("X-RateLimit-Bucket"), headers.get("X-RateLimit-Remaining")
        if bucket is None or remaining is None:
            return
        self._buckets[route.key] = bucket
        place = self._place(route)
        if remaining == "0":
            self._forget_old()
            wait = _seconds(headers.get("X-RateLimit-Reset-After"), 0.0)
            self._empty_until[place] = time.monotonic() + wait
        else:
            self._empty_until.pop(place, None)

    def refused(self, route: Route, headers: Mapping[str, str], answer: object) -> RateLimited:
        """Read a refusal; one that is no JSON is of the front end, and concerns every call."""
        told = answer if isinstance(answer, dict) else {}
        given = told.get("retry_after", headers.get("Retry-After"))
        wait = _seconds(given, DEFAULT_WAIT)
        is_global = not told or bool(told.get("global")) or headers.get("X-RateLimit-Scope") == "global"
        until = time.monotonic() + wait
        if is_global:
            self._closed_until = until
        return _limited(route, wait, "account" if is_global else "chat")

    def _place(self, route: Route) -> str:
        return f"{self._buckets.get(route.key, route.key)}:{route.major_parameters}"

    def _forget_old(self) -> None:
        if len(self._empty_until) < MOST:
            return
        now = time.monotonic()
        self._empty_until = {place: until for place, until in self._empty_until.items() if until > now}


def _limited(route: Route, wait: float, scope: Literal["chat", "account"]) -> RateLimited:
    return RateLimited(f"discord {route.key}: asked too often", retry_after=wait, scope=scope)


def _seconds(given: object, default: float) -> float:
    try:
        return float(str(given)) if given is not None else default
    except ValueError:
        return default
