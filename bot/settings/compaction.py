"""Section: when a conversation is summarised, and how."""

from pydantic import Field

from bot.settings.base import Section


class CompactionSettings(Section):
    """Long conversations are summarised, so that they fit into the model's window."""

    enabled: bool = Field(
        default=True, description="Summarise what no longer fits; off: what was said first is forgotten."
    )
    at: float = Field(
        default=0.8, ge=0.2, le=0.95, description="How full the room for a prompt is when it is summarised."
    )
    keep: float = Field(
        default=0.4,
        ge=0.05,
        le=0.8,
        description="How much of that room the newest messages keep, word for word; at most `at` less 0.1.",
    )
    summary_tokens: int = Field(default=1_000, ge=100, le=16_000, description="The most tokens of a summary.")
    model: str | None = Field(
        default=None, min_length=1, description="Model that summarises; default: the session's own."
    )
    timeout: float = Field(default=120, gt=0, le=600, description="Seconds for one summary.")
    flush: bool = Field(
        default=False,
        description="Let the model write into its notes what must not be lost, before it is summarised.",
    )

    @property
    def kept(self) -> float:
        """`keep`, but well below `at`: else a summary would gain nothing."""
        return max(0.05, min(self.keep, self.at - 0.1))
