"""Which hosts may be connected to: public ones, and what the operator allows beside them.

The special ranges stand here, and are not asked of `ipaddress`, because what it knows of them differs
between the versions of Python.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from bot.tools.base import ToolFault
from bot.web.hosts import Authority, parse_authority

PORTS: Final = (80, 443, 8080, 8443)

# Source: IANA IPv4 Special-Purpose Address Registry, and the IPv4 Address Space Registry for the last two.
SPECIAL_V4: Final = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # Azure's metadata and control service, which looks public
        ),
    )
)
# Source: IANA IPv6 Address Space Registry: only this part is handed out as global unicast.
GLOBAL_V6: Final = IPv6Network("2000::/3")
# Source: IANA IPv6 Special-Purpose Address Registry, as far as it lies in there: Teredo, 6to4 and others.
SPECIAL_V6: Final = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
NAT64: Final = IPv6Network("64:ff9b::/96")  # where DNS64 is at work, every IPv4 host looks like this


# An address however it is written, `0x7f.1` and `017700000001` too. No name ends like this.
# Source: WHATWG URL Standard, section 3.5, "ends in a number".
NUMERIC: Final = re.compile(r".*:.*|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")

WAY_OUT: Final = "Do not try to get round it; the operator can allow it in BOT_NETWORK__ALLOW."


class Reach:
    """Tells hosts that may be connected to from those that may not.

    Args:
        allow: As `host`, on the usual ports, or `host:port`; these may be private.
        ports: The usual ports; `PORTS` without any.
    """

    def __init__(self, *, allow: Iterable[str] = (), ports: Iterable[int] = ()) -> None:
        parsed = (parse_authority(entry.lower()) for entry in allow)
        self._allowed = frozenset(authority for authority in parsed if authority is not None)
        self._ports = frozenset(ports) or frozenset(PORTS)

    def check_host(self, host: str, port: int) -> None:
        """Look at what a URL names, before it is looked up.

        Raises:
            ToolFault: It is not to be reached.
        """
        name = plain(host)
        if self._is_allowed(name, port):
            return
        if port not in self._ports:
            usual = ", ".join(map(str, sorted(self._ports)))
            raise ToolFault(f"Port {port} can't be reached, only {usual}. {WAY_OUT}")
        is_ours = name == "localhost" or name.endswith(".localhost")
        if is_ours or (NUMERIC.fullmatch(name) and not is_public(name)):
            raise ToolFault(f"{name!r} is not a public host. {WAY_OUT}")

    def check_address(self, host: str, port: int, address: str) -> None:
        """Look at an address that a connection is about to be made to.

        Raises:
            ToolFault: It is not to be reached; the text keeps to itself where the name leads.
        """
        name = plain(host)
        if not is_public(address) and not self._is_allowed(name, port):
            raise ToolFault(f"{name!r} leads to an address that is not public. {WAY_OUT}")

    def _is_allowed(self, name: str, port: int) -> bool:
        if Authority(name, port) in self._allowed:
            return True
        return Authority(name, None) in self._allowed and port in self._ports


def plain(host: str) -> str:
    """A host as it is compared: in lower case, without brackets and the final dot."""
    return host.lower().strip("[]").rstrip(".")


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet; what is none does not."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    match address:
        case IPv4Address():
            return not any(address in network for network in SPECIAL_V4)
        case IPv6Address(ipv4_mapped=IPv4Address() as inner):
            return is_public(str(inner))
    if address in NAT64:
        return is_public(str(IPv4Address(int(address) & 0xFFFF_FFFF)))
    return address in GLOBAL_V6 and not any(address in network for network in SPECIAL_V6)
