"""Section: when a chat begins a new session by itself."""

from pydantic import Field

from bot.settings.base import Section


class SessionsSettings(Section):
    """When a chat begins a new session by itself; the old one stays in `/sessions`."""

    idle_reset_hours: float | None = Field(
        default=None,
        gt=0,
        le=8_760,
        description="Hours of silence after which the next message begins a new session; default: never.",
    )
    daily_reset_at: str | None = Field(
        default=None,
        pattern=r"^([01]\d|2[0-3]):[0-5]\d$",
        description="The first message after this time of day begins a new one, in BOT_TIMEZONE: 04:00.",
    )
