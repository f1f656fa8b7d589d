"""Section: the heartbeat."""

from typing import Annotated, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from bot.settings.base import Section


def _is_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no time zone: use a name like Europe/Berlin") from error
    return name


TimeZone: TypeAlias = Annotated[str, AfterValidator(_is_zone)]


class HeartbeatSettings(Section):
    """The heartbeat: the bot looks at HEARTBEAT.md by itself; on when it has a period."""

    every: int | None = Field(
        default=None, ge=60, le=366 * 86_400, description="Seconds between two looks, at least 60."
    )
    hours: str | None = Field(
        default=None,
        pattern=r"^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$",
        description="When it may look: 08:00-22:00; default: always.",
    )
    timezone: TimeZone | None = Field(
        default=None, description="The time zone of the hours; default: that of the schedules."
    )
    target: str | None = Field(
        default=None,
        pattern=r"^[a-z]+:[^:\s]+:[^:\s]+(:\S+)?$",
        description="Where it reports to: telegram:default:42; default: where an admin wrote last, alone.",
    )
