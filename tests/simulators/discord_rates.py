"""Discord's rates: a bucket of calls under each route and channel, told in the headers of every answer.

Rules, from Discord's developer documentation (Rate Limits): `X-RateLimit-Limit`, `-Remaining`, `-Reset`,
`-Reset-After` and `-Bucket` come with each answer of a route that has a bucket; a call too many is
answered with 429, `Retry-After`, and the seconds in `retry_after`; 50 calls a second in all, those for
interactions not counted. The sizes of buckets are nowhere promised; here they are as developers observe
them.
"""

import json
import time
from dataclasses import dataclass

from aiohttp import web

from tests.simulators.platform import Budget

RATES: dict[str, tuple[int, float]] = {
    "create_message": (5, 5.0),
    "edit_message": (5, 5.0),
    "delete_message": (5, 1.0),
    "typing": (5, 5.0),
    "react": (1, 0.25),
    "unreact": (1, 0.25),
    "history": (5, 5.0),
    "start_thread": (50, 300.0),
    "followup": (5, 2.0),
    "edit_followup": (5, 2.0),
}
OLD_EDITS = (3, 20.0)  # a channel, for messages older than an hour


@dataclass(slots=True)
class Window:
    """The calls of a bucket until it is full again."""

    left: int
    ends: float


class Rates:
    """Counts calls.

    Args:
        is_on: Refuse what goes over; off for tests that are about something else.
    """

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._windows: dict[tuple[str, str], Window] = {}
        self._all = Budget(50, 1.0)

    def spend(
        self, route: str, place: str, *, is_counted: bool
    ) -> tuple[dict[str, str], web.Response | None]:
        """Count a call of a route; gives the headers of its answer, or a refusal.

        Args:
            place: The channel, or the token of the interaction, that has the bucket.
            is_counted: Among all calls of the bot.
        """
        if not self._is_on:
            return {}, None
        wait = self._all.spend("") if is_counted else 0.0
        if wait:
            return {}, too_often(wait, is_global=True)
        if route not in RATES:
            return {}, None
        calls, seconds = RATES[route]
        now = time.time()
        window = self._windows.get((route, place))
        if window is None or window.ends <= now:
            window = self._windows[route, place] = Window(calls, now + seconds)
        if window.left == 0:
            return {}, too_often(window.ends - now, headers=_headers(route, window))
        window.left -= 1
        return _headers(route, window), None


def _headers(route: str, window: Window) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(RATES[route][0]),
        "X-RateLimit-Remaining": str(window.left),
        "X-RateLimit-Reset": f"{window.ends:.3f}",
        "X-RateLimit-Reset-After": f"{max(window.ends - time.time(), 0):.3f}",
        "X-RateLimit-Bucket": f"bucket-{route}",
    }


def too_often(
    seconds: float, *, is_global: bool = False, headers: dict[str, str] | None = None, code: int = 0
) -> web.Response:
    """The answer to a call too many."""
    words = {30046: "Maximum number of edits to messages older than 1 hour reached. Try again later"}
    body = {
        "message": words.get(code, "You are being rate limited."),
        "retry_after": round(seconds, 3),
        "global": is_global,
        "code": code,
    }
    scope = {"X-RateLimit-Scope": "global" if is_global else "user"}
    scope |= {"X-RateLimit-Global": "true"} if is_global else {}
    return web.Response(
        status=429,
        body=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Via": "1.1 google",  # the SDK takes an answer without it for a ban
            "Retry-After": str(int(seconds) + 1),
            **(headers or {}),
            **scope,
        },
    )
