"""Who may speak: modes, lists, roles, pairing and rates."""

from security.access.access import AUDIT_EVERY, REFUSAL, Access
from security.access.lists import Lists
from security.access.pairing import Outside, Pairing
from security.access.people import People
from security.access.rates import RateLimits
from security.access.roles import Roles, Steering

__all__ = [
    "AUDIT_EVERY",
    "REFUSAL",
    "Access",
    "Lists",
    "Outside",
    "Pairing",
    "People",
    "RateLimits",
    "Roles",
    "Steering",
]
