"""What a person is told where a budget leaves no room for a model call."""

import msgspec

from bot.agent.accounts import Account, Calendar, Kind
from bot.agent.prices import Rate, say_cost

WHOSE: dict[Kind, str] = {
    "person": "Your budget for today",
    "session": "The budget of this session",
    "channel": "The budget for today of all who write over {name}",
    "all": "My budget for today",
}
USED_UP = "{whose} is used up: {used} of {most}."
TOO_LITTLE = "{whose} has too little left: {used} of {most} are used, and this takes about {need}."
HELD = (
    "{whose} has too little left while other answers are under way: {used} of {most} are used, and {held} set"
    " aside for those. Try again when they are done."
)
FRESH = "It is fresh again at midnight ({zone}), in {hours}."
NEW = "Begin a new session with /new."
RAISE = "An admin can raise it: `{setting}`."
NO_PRICE = (
    "I can't use the model `{model}`: there is a budget in money, but no price is set for it. An admin can"
    " set one (`BOT_PRICES`), or choose another model with /model."
)


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """A call that an account can't pay.

    Attributes:
        model: Empty where none is asked yet.
        prompt: Tokens, as `least` is for the answer.
        rate: `None` where no price is set.
    """

    account: Account
    model: str = ""
    prompt: int = 0
    least: int = 1
    rate: Rate | None = None

    def tell(self, calendar: Calendar, currency: str) -> str:
        """Say which budget is used up, how much it is, when it is fresh again, and what can be done."""
        account, rate = self.account, self.rate
        if self.model and account.most_cost is not None and rate is None:
            return NO_PRICE.format(model=self.model.replace("`", "'"))
        fits_alone = account.room(self.prompt, rate, is_alone=True) >= self.least
        template = USED_UP if account.is_used_up else HELD if fits_alone else TOO_LITTLE
        used, most, held, need = self._figures(currency)
        whose = WHOSE[account.scope.kind].format(name=account.scope.name)
        said = [template.format(whose=whose, used=used, most=most, held=held, need=need)]
        if account.scope.day is None:
            said.append(NEW)
        elif template is not HELD:
            said.append(FRESH.format(zone=calendar.zone, hours=_hours(calendar.seconds_left())))
        unit = "TOKENS" if self._is_of_tokens else "COST"
        said.append(RAISE.format(setting=f"BOT_BUDGETS__{account.scope.kind.upper()}__{unit}"))
        return " ".join(said)

    @property
    def _is_of_tokens(self) -> bool:
        """Whether it is the tokens that are short, not the money."""
        account = self.account
        if account.most_tokens is None:
            return False
        left = account.most_tokens - account.tokens - account.held_tokens
        return account.most_cost is None or left - self.prompt < self.least

    def _figures(self, currency: str) -> tuple[str, str, str, str]:
        account, rate = self.account, self.rate
        if self._is_of_tokens:
            counts = (account.tokens, account.most_tokens or 0, account.held_tokens, self.prompt + self.least)
            used, most, held, need = (f"{count:,}" for count in counts)
            return used, f"{most} tokens", held, need
        need_cost = rate.cost(self.prompt, self.least) if rate is not None else 0
        costs = (account.cost, account.most_cost or 0, account.held_cost, need_cost)
        used, most, held, need = (say_cost(cost, currency) for cost in costs)
        return used, most, held, need


def _hours(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
