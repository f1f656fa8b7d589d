"""Who is let in at the web page: sessions that a cookie carries, and a brake on guessing."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

import msgspec

from bot.agent.audit import Audit, AuditEvent, Severity

COOKIE: Final = "switchboard_session"
MAX_AGE: Final = 30 * 24 * 3600  # seconds that a login holds
FREE_TRIES: Final = 3  # wrong tokens without a delay
MAX_DELAY: Final = 60.0  # seconds
MAX_CLIENTS: Final = 1000  # addresses that are remembered
FORGET_SECONDS: Final = 3_600.0  # without a wrong token, after which nothing is held against an address
NOTED_EVERY: Final = 20  # wrong tokens of one address between two entries in the audit log


class Entry(msgspec.Struct, frozen=True):
    """How somebody was let in.

    Attributes:
        key: The id of an API key, `name` is its own; `None` for the page's token, which anybody may hold.
        is_admin: Whether the key may do everything.
    """

    key: str | None = None
    name: str = ""
    is_admin: bool = True


class Access:
    """Checks tokens and the sessions made from them; sessions outlive a restart, but not a new token."""

    def __init__(self, token: str, *, clock: Callable[[], float] = time.time) -> None:
        self._token = token.encode()
        self._clock = clock

    def is_token(self, text: str) -> bool:
        """Whether this is the token; takes as long for a near miss as for any other."""
        return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), self._token)

    def make_session(self, key: str = "") -> str:
        """What the cookie says: when it was made, by which key, and proof that we made it.

        Neither the token is in it nor what makes a key work.
        """
        said = f"{int(self._clock())}.{key}" if key else f"{int(self._clock())}"
        return f"{said}.{self._sign(said)}"

    def is_session(self, text: str) -> bool:
        """Whether a cookie is ours and not too old, whoever it was given to."""
        return self.key_of(text) is not None

    def key_of(self, text: str) -> str | None:
        """The id of the key that a session was made with, empty for the token; `None` where it is none."""
        said, _, signature = text.rpartition(".")
        expected = self._sign(said)
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), expected.encode()):
            return None
        issued, _, key = said.partition(".")
        return key if 0 <= self._clock() - int(issued) <= MAX_AGE else None

    def _sign(self, said: str) -> str:
        text = f"switchboard session {said}".encode("utf-8", "surrogateescape")
        return hmac.new(self._token, text, "sha256").hexdigest()


class Throttle:
    """Slows down a client that keeps sending wrong tokens: 1 s, 2 s, 4 s … after the first few.

    Args:
        audit: Gets told who came in by the login page, and who keeps guessing; not of each try, or who
            guesses would fill it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, audit: Audit | None = None) -> None:
        self._clock = clock
        self._audit = audit
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Seconds until this client may try again; 0 where it may now."""
        _, until = self._failures.get(_group(client), (0, 0.0))
        return max(0.0, until - self._clock())

    async def fail(self, client: str) -> None:
        """Note a wrong token."""
        group, now = _group(client), self._clock()
        count, until = self._failures.pop(group, (0, now))
        count = 1 if now - until > FORGET_SECONDS else count + 1
        delay = 0.0 if count < FREE_TRIES else min(2.0 ** min(count - FREE_TRIES, 10), MAX_DELAY)
        self._failures[group] = (count, now + delay)
        if len(self._failures) > MAX_CLIENTS:
            self._failures.popitem(last=False)
        if count == FREE_TRIES or count % NOTED_EVERY == 0:
            await self._note(client, "wrong tokens", "warning", (("count", count),))

    async def succeed(self, client: str, *, is_login: bool = False) -> None:
        """Forget what was wrong before.

        Args:
            is_login: Somebody came in by the login page, and stays for as long as the cookie holds.
        """
        self._failures.pop(_group(client), None)
        if is_login:
            await self._note(client, "let in", "info", ())

    async def _note(
        self, client: str, status: str, severity: Severity, context: tuple[tuple[str, int], ...]
    ) -> None:
        if self._audit is not None:
            event = AuditEvent(
                severity=severity, actor="web", action="login", target=client, status=status, context=context
            )
            await self._audit.record(event)


def _group(client: str) -> str:
    """Whom a wrong token is held against: of IPv6 the network that one customer gets, or a guesser would
    have 2**64 addresses to try from.
    """
    try:
        address = ip_address(client)
    except ValueError:
        return client
    match address:
        case IPv6Address(ipv4_mapped=None):
            return str(IPv6Network((int(address), 64), strict=False))
        case IPv6Address(ipv4_mapped=inner):
            return str(inner)
    return client
