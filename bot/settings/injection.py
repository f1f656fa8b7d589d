"""How closely texts are looked at for orders that are not theirs to give."""

from typing import Literal, Self

from pydantic import Field, model_validator

from bot.settings.base import Section


class InjectionSettings(Section):
    """A text gets a score from 0 to 1; the levels begin where these say."""

    enabled: bool = Field(default=True, description="Look at texts at all.")
    model: Literal["small", "onnx"] = Field(
        default="small",
        description="`onnx` also asks a larger English model, in some 20 ms; it needs the extra security-ml.",
    )
    low: float = Field(default=0.3, gt=0, lt=1, description="Where LOW begins.")
    medium: float = Field(
        default=0.5,
        gt=0,
        lt=1,
        description="Where MEDIUM begins.",
    )
    high: float = Field(default=0.88, gt=0, lt=1, description="Where HIGH begins.")
    critical: float = Field(default=0.99, gt=0, le=1, description="Where CRITICAL begins.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.medium <= self.high <= self.critical:
            raise ValueError("low, medium, high and critical must not fall")
        return self
