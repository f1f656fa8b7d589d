"""What the loop takes from the settings."""

from collections.abc import Collection, Mapping

import msgspec

from bot.agent.control import Everybody, People
from bot.agent.renewal import Renewal


class LoopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop takes from the settings.

    Attributes:
        admins: A live set.
        max_waiting: In one session, whatever its rules say.
        debounce: By channel: seconds to wait for the rest of what somebody writes in bursts.
        group_context: By channel: how many messages not meant for the bot are kept of a group.
        people: What they are, and who may speak.
        renewal: Begins new sessions by itself; `None` where nobody wants that.
    """

    name: str
    admins: Collection[str]
    max_concurrent_turns: int
    max_waiting: int
    max_crashes: int
    shutdown_grace: float
    live_channels: Collection[str]
    history: int
    debounce: Mapping[str, float] = msgspec.field(default_factory=dict)
    group_context: Mapping[str, int] = msgspec.field(default_factory=dict)
    people: People = msgspec.field(default_factory=Everybody)
    renewal: Renewal | None = None
