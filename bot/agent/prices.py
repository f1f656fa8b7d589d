"""What the calls of a model cost."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from bot.messages import Frozen
from bot.settings.spending import PriceSettings

COIN: Final = 1_000_000_000  # what costs are counted in: so many make one of the currency
UNLIMITED: Final = 10**15  # tokens
MAX_MODELS = 1_000


class Rate(Frozen, frozen=True, kw_only=True):
    """What one token costs, in thousandths of a billionth of the currency: whole numbers add up exactly."""

    prompt: int
    cached: int
    completion: int

    def cost(self, prompt: int, completion: int, cached: int = 0) -> int:
        """What tokens cost, in billionths of the currency, rounded up; `cached` are part of `prompt`."""
        cached = min(cached, prompt)
        total = (prompt - cached) * self.prompt + cached * self.cached + completion * self.completion
        return -(-total // 1_000)

    def most_completion(self, cost: int, prompt: int) -> int:
        """The most tokens of an answer for which a cost suffices, for a prompt that nobody has kept.

        Below zero where not even the prompt can be paid.
        """
        left = cost * 1_000 - prompt * self.prompt
        if left < 0:
            return -1
        return left // self.completion if self.completion else UNLIMITED


class Prices:
    """The prices of models, by their names or by patterns of those.

    Args:
        prices: By name, in which `*`, `?` and `[…]` stand for any text, any sign and one of some; the name
            itself comes first, then the pattern that says the most.
    """

    def __init__(self, prices: Mapping[str, PriceSettings]) -> None:
        self._rates = {pattern: _rate(price) for pattern, price in prices.items()}
        self._patterns = sorted(self._rates, key=lambda pattern: -len(pattern.replace("*", "")))
        self._found: dict[str, Rate | None] = {}

    @property
    def is_set(self) -> bool:
        """Whether there are any."""
        return bool(self._rates)

    def of(self, model: str) -> Rate | None:
        """What a model costs; `None` where no price is set."""
        if not self._rates:
            return None
        if model not in self._found:
            if len(self._found) >= MAX_MODELS:
                self._found.clear()
            self._found[model] = self._find(model)
        return self._found[model]

    def _find(self, model: str) -> Rate | None:
        if model in self._rates:
            return self._rates[model]
        found = (pattern for pattern in self._patterns if fnmatchcase(model, pattern))
        return self._rates.get(next(found, ""))


def _rate(price: PriceSettings) -> Rate:
    """A price of a million tokens as that of one; six decimals count."""
    cached = price.input if price.cached is None else price.cached
    prompt, cached, completion = (round(each * 1_000_000) for each in (price.input, cached, price.output))
    return Rate(prompt=prompt, cached=cached, completion=completion)


def say_cost(cost: int, currency: str) -> str:
    """A cost, given in billionths, as people read it: `12.30 USD`, `0.0042 USD`."""
    amount = cost / COIN
    if amount >= 1 or cost == 0:
        return f"{amount:,.2f} {currency}"
    return f"{amount:.4f} {currency}" if amount >= 0.0001 else f"under 0.0001 {currency}"
