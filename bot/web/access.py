"""The token of the web page: sessions that a cookie carries, and a brake on guessing."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

COOKIE: Final = "switchboard_session"
MAX_AGE: Final = 30 * 24 * 3600  # seconds that a login holds
FREE_TRIES: Final = 3  # wrong tokens without a delay
MAX_DELAY: Final = 60.0  # seconds
MAX_CLIENTS: Final = 1000  # addresses that are remembered


class Access:
    """Checks tokens and the sessions made from them; sessions outlive a restart, but not a new token."""

    def __init__(self, token: str, *, clock: Callable[[], float] = time.time) -> None:
        self._token = token.encode()
        self._clock = clock

    def is_token(self, text: str) -> bool:
        """Whether this is the token; takes as long for a near miss as for any other."""
        return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), self._token)

    def make_session(self) -> str:
        """What the cookie says: when it was made, and proof that we made it. The token is not in it."""
        issued = f"{int(self._clock())}"
        return f"{issued}.{self._sign(issued)}"

    def is_session(self, text: str) -> bool:
        """Whether a cookie is ours and not too old."""
        issued, _, signature = text.partition(".")
        expected = self._sign(issued)
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), expected.encode()):
            return False
        return 0 <= self._clock() - int(issued) <= MAX_AGE

    def _sign(self, issued: str) -> str:
        text = f"switchboard session {issued}".encode("utf-8", "surrogateescape")
        return hmac.new(self._token, text, "sha256").hexdigest()


class Throttle:
    """Slows down a client that keeps sending wrong tokens: 1 s, 2 s, 4 s … after the first few."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Seconds until this client may try again; 0 where it may now."""
        _, until = self._failures.get(client, (0, 0.0))
        return max(0.0, until - self._clock())

    def fail(self, client: str) -> None:
        """Note a wrong token."""
        count = self._failures.pop(client, (0, 0.0))[0] + 1
        delay = 0.0 if count < FREE_TRIES else min(2.0 ** min(count - FREE_TRIES, 10), MAX_DELAY)
        self._failures[client] = (count, self._clock() + delay)
        if len(self._failures) > MAX_CLIENTS:
            self._failures.popitem(last=False)

    def succeed(self, client: str) -> None:
        """Forget what was wrong before."""
        self._failures.pop(client, None)
