"""Sections: what models cost, and how much of them may be used."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Self, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from bot.settings.base import Section

ModelPattern: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class PriceSettings(Section):
    """What a million tokens of a model cost, in the currency of the budgets."""

    input: float = Field(ge=0, le=1_000_000, description="Of the prompt.")
    cached: float | None = Field(
        default=None, ge=0, le=1_000_000, description="Of what the provider had kept of it; default: input."
    )
    output: float = Field(ge=0, le=1_000_000, description="Of the answer.")

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.cached is not None and self.cached > self.input:
            raise ValueError(f"cached ({self.cached:g}) can't cost more than input ({self.input:g})")
        return self


# Names of models have signs that no variable can have: one variable takes all of them, as JSON.
Prices: TypeAlias = dict[ModelPattern, Annotated[PriceSettings, "by model"]]


class BudgetSettings(Section):
    """The most that may be used: a day by one person, in one channel and by all; ever in one session."""

    cost: float | None = Field(default=None, gt=0, le=1_000_000, description="Money; needs prices.")
    tokens: int | None = Field(
        default=None, ge=1, le=10**15, description="Tokens of prompts and answers together."
    )

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return self.cost is not None or self.tokens is not None


class BudgetsSettings(Section):
    """Budgets for the use of models; a day begins at midnight in the time zone of the settings.

    That of a guest holds in place of a person's, where one is set.
    """

    currency: str = Field(
        default="USD", min_length=1, max_length=8, description="What prices and costs are in, for display."
    )
    person: BudgetSettings = BudgetSettings()
    guest: BudgetSettings = BudgetSettings()
    session: BudgetSettings = BudgetSettings()
    channel: BudgetSettings = BudgetSettings()
    all: BudgetSettings = BudgetSettings()


def unpriced_budgets(prices: Mapping[str, PriceSettings], budgets: BudgetsSettings) -> Iterator[str]:
    """Budgets in money that could never be kept, because no price is known."""
    if prices:
        return
    for name in ("person", "guest", "session", "channel", "all"):
        budget: BudgetSettings = getattr(budgets, name)
        if budget.cost is not None:
            yield f"BOT_BUDGETS__{name.upper()}__COST needs prices: BOT_PRICES, or [prices.…] in bot.toml"
