"""Section: how closely texts are looked at for instructions that are not their place to give."""

from typing import Self

from pydantic import Field, model_validator

from bot.settings.base import Section


class InjectionSettings(Section):
    """A text gets a score from 0 to 1; the levels begin where these say."""

    enabled: bool = Field(default=True, description="Look for injected instructions in what the model reads.")
    low: float = Field(default=0.3, gt=0, lt=1, description="From this score on a finding is logged.")
    medium: float = Field(
        default=0.5,
        gt=0,
        lt=1,
        description="From this score on a text is untrusted, and dangerous tools wait.",
    )
    high: float = Field(default=0.88, gt=0, lt=1, description="From this score on a text is blocked.")
    critical: float = Field(default=0.99, gt=0, le=1, description="From this score on it is an alert.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.medium <= self.high <= self.critical:
            raise ValueError("low, medium, high and critical must not fall")
        return self
