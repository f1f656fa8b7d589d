"""Which `Host` and `Origin` a request may name.

A page on another site can have its own name point at 127.0.0.1 (DNS rebinding) and so make a browser talk
to us; such a request names that site's host, and is turned away.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


class Authority(NamedTuple):
    """A host name in lower case, and the port if one is named."""

    name: str
    port: int | None


def parse_authority(text: str) -> Authority | None:
    """Read `name`, `name:port` or `[v6]:port`; None for anything else."""
    try:
        parts = urlsplit(f"//{text}")
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.netloc != text or "@" in text or parts.path:
        return None
    return Authority(parts.hostname.rstrip("."), port)


def parse_origin(text: str) -> Authority | None:
    """Read an `Origin` header, without the port that its scheme implies; None for `null` and the like."""
    scheme, separator, rest = text.partition("://")
    authority = parse_authority(rest)
    if not separator or authority is None or scheme not in DEFAULT_PORTS:
        return None
    port = None if authority.port == DEFAULT_PORTS[scheme] else authority.port
    return Authority(authority.name, port)


def is_loopback(name: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class HostRule:
    """Knows the hosts that the server is reached under.

    Args:
        host: Where it listens.
        port: Its actual port.
        allowed: More names, each with or without a port; without one every port will do.
    """

    def __init__(self, host: str, port: int, allowed: Iterable[str]) -> None:
        self._host = host.lower()
        self._port = port
        parsed = (parse_authority(name.lower()) for name in allowed)
        self._allowed = frozenset(authority for authority in parsed if authority is not None)

    def admits_host(self, header: str | None) -> bool:
        """Whether the `Host` header names us."""
        authority = parse_authority(header.lower()) if header else None
        if authority is None:
            return False
        if authority in self._allowed or Authority(authority.name, None) in self._allowed:
            return True
        is_ours = is_loopback(authority.name) or authority.name == self._host
        return is_ours and (authority.port or 80) == self._port

    def admits_origin(self, header: str | None, host: str) -> bool:
        """Whether a page of this origin may talk to us: only our own may; programs send none."""
        if header is None:
            return True
        origin, ours = parse_origin(header.lower()), parse_authority(host.lower())
        if origin is None or ours is None:
            return False
        return origin.name == ours.name and origin.port == _plain_port(ours.port)


def _plain_port(port: int | None) -> int | None:
    return None if port in DEFAULT_PORTS.values() else port
