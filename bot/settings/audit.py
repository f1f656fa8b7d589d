"""Section: the audit log."""

from pydantic import Field

from bot.settings.base import Section


class AuditSettings(Section):
    """The log of decisions in BOT_HOME/audit."""

    strict: bool = Field(
        default=False,
        description="Refuse tool calls that act while the log can't be written.",
    )
    rotate_mb: int = Field(default=16, ge=1, le=1_024, description="Size at which a new file begins, in MB.")
    rotate_days: int = Field(default=30, ge=1, le=366, description="Days after which a new file begins.")
    keep_days: int = Field(
        default=365, ge=0, description="Days that lines are kept at least; 0 keeps them for ever."
    )
