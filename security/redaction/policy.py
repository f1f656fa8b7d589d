"""What is done with each group of what is found, and how it looks then."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from bot.settings.redaction import PlaceSettings
from security.redaction.matches import CONFIGURED, Group, group_of, label_of

Action: TypeAlias = Literal["off", "log", "mask", "hash"]

DIGITS = 12  # of a hash; enough to tell values of one bot apart


class Policy:
    """The actions of one place.

    Args:
        actions: By group; one that is missing is off. Configured secrets are masked whatever it says.
        key: Of the hashes; who knows it can try values, so it is a secret.
    """

    def __init__(self, actions: Mapping[Group, Action], *, key: bytes) -> None:
        self._actions: dict[Group, Action] = {**actions, "configured": "mask"}
        self._key = key

    @classmethod
    def of(cls, place: PlaceSettings, *, key: bytes) -> "Policy":
        """The policy that a section of the settings describes."""
        groups: tuple[Group, ...] = get_args(Group)
        return cls({name: getattr(place, name) for name in groups if name != "configured"}, key=key)

    @property
    def groups(self) -> frozenset[Group]:
        """What has to be looked for."""
        return frozenset(group for group, action in self._actions.items() if action != "off")

    def replacement(self, kind: str, value: str) -> str | None:
        """What stands for a value; `None` where it is shown, and only noted."""
        match self._actions.get(group_of(kind), "off"):
            case "mask":
                return self.mask(kind)
            case "hash":
                return f"[PII-{label_of(kind)}:{self._digest(kind, value)}]"
            case _:
                return None

    def mask(self, kind: str) -> str:
        """The mask of a kind."""
        return "[REDACTED-SECRET]" if kind == CONFIGURED else f"[REDACTED-{label_of(kind)}]"

    def _digest(self, kind: str, value: str) -> str:
        message = f"{kind}:{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:DIGITS]
