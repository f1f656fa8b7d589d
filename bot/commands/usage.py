"""`/usage`: the tokens that were used and their cost, here and (for operators) by all; what is left."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bot.agent.accounts import Payer
from bot.agent.prices import say_cost
from bot.agent.spending import Spending, Standing
from bot.commands.call import Answer, Call, Command, refuse
from bot.commands.sessions import Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code, count
from bot.messages import Frozen, SessionKey

MAX_DAYS = 90
MOST_PEOPLE = 10
MOST_DAYS = 14  # lines, in a chat


class Used(Frozen, frozen=True, kw_only=True):
    """What model calls have used, in tokens; `cached` are part of `prompt`.

    Attributes:
        name: Of the model, the person or the day that it is the sum of.
        cost: In billionths of the currency.
    """

    name: str
    calls: int
    prompt: int
    completion: int
    cached: int
    cost: int = 0


class Usage(Protocol):
    """Adds up model calls; a day is as `2031-05-17`, and `since` the first that counts."""

    async def of_session(self, session: SessionKey) -> list[Used]:
        """All of a session, by model."""

    async def of_person(self, person: str, *, since: str) -> list[Used]:
        """Those that a person (`channel:id`) has caused, by model."""

    async def of_chat(self, chat: SessionKey, *, since: str) -> list[Used]:
        """All sessions of a chat, deleted ones included, by model."""

    async def by_model(self, *, since: str) -> list[Used]:
        """Everybody, by model."""

    async def by_person(self, *, since: str, limit: int) -> list[Used]:
        """Those who have used most."""

    async def by_day(self, *, since: str, limit: int) -> list[Used]:
        """Everybody, the newest days first."""


class UsageCommands:
    """The handler, over the figures of the store and the budgets of the bot."""

    def __init__(self, sessions: Sessions, usage: Usage, spending: Spending) -> None:
        self._sessions = sessions
        self._usage = usage
        self._spending = spending

    async def show(self, call: Call) -> Answer:
        """`/usage [days]`; what others have used is for those who steer the bot."""
        days = int(call.given.get("days", "1"))
        if not 1 <= days <= MAX_DAYS:
            return refuse(f"I can look back 1 to {MAX_DAYS} days.")
        session = await self._sessions.current(call.chat)
        since, when = self._since(days)
        mine = await self._usage.of_person(call.actor, since=since)
        chat = await self._usage.of_chat(call.chat, since=since)
        parts = [("This session", await self._usage.of_session(session)), (f"You {when}", mine)]
        if chat != mine:
            parts.append((f"This chat {when}", chat))
        if call.is_operator:
            parts.append((f"Everybody {when}", await self._usage.by_model(since=since)))
        texts = [self._part(title, used) for title, used in parts]
        if call.is_operator:
            texts += await self._people_and_days(since, days)
        texts += await self._budgets(call, session)
        if call.is_operator or self._spending.prices.is_set:
            texts += self._unpriced(used for _, each in parts for used in each)
        return Answer(text="\n\n".join(texts))

    def _since(self, days: int) -> tuple[str, str]:
        """The first day that counts, and how the time is called."""
        calendar = self._spending.calendar
        when = "today" if days == 1 else f"in {days} days"
        return calendar.days_ago(days - 1), f"{when} ({calendar.zone})"

    async def _people_and_days(self, since: str, days: int) -> list[str]:
        people = await self._usage.by_person(since=since, limit=MOST_PEOPLE)
        texts = [self._list("By person", people)] if people else []
        if days > 1 and (by_day := await self._usage.by_day(since=since, limit=MOST_DAYS)):
            texts.append(self._list("By day", by_day))
        return texts

    def _list(self, title: str, used: Sequence[Used]) -> str:
        lines = [f"- {code(one.name or 'unknown')}: {self._sum([one])}" for one in used]
        return "\n".join([f"**{title}**", *lines])

    def _part(self, title: str, used: Sequence[Used]) -> str:
        if not used:
            return f"**{title}**: nothing yet"
        lines = [f"- {code(one.name)}: {self._figures(one)}" for one in used]
        return "\n".join([f"**{title}**: {self._sum(used)}", *lines])

    def _figures(self, used: Used) -> str:
        cached = f" ({used.cached:,} cached)" if used.cached else ""
        calls = f"{count(used.calls, 'call')}, {used.prompt:,} in{cached}, {used.completion:,} out"
        return f"{calls}{self._cost([used])}"

    def _sum(self, used: Sequence[Used]) -> str:
        return f"{count(total(used), 'token')}{self._cost(used)}"

    def _cost(self, used: Sequence[Used]) -> str:
        cost = sum(one.cost for one in used)
        return f", {say_cost(cost, self._spending.currency)}" if cost else ""

    def _unpriced(self, used: Iterable[Used]) -> list[str]:
        """A hint that there are models whose cost nobody knows."""
        prices = self._spending.prices
        names = dict.fromkeys(one.name for one in used if prices.of(one.name) is None)
        return [f"No price is set for {', '.join(map(code, names))}."] if names else []

    async def _budgets(self, call: Call, session: SessionKey) -> list[str]:
        payer = Payer(person=call.actor, session=session, channel=call.message.address.channel)
        standing = await self._spending.standing(payer)
        if not standing:
            return []
        return ["\n".join(["**Budgets**", *(self._budget(one, call) for one in standing)])]

    def _budget(self, standing: Standing, call: Call) -> str:
        """What is left of a budget; of what many share, others learn no more than the part."""
        whose = {"person": "You, today", "session": "This session", "all": "All together, today"}
        title = whose.get(standing.kind, f"All over {standing.name}, today")
        is_own = standing.kind in ("person", "session") or call.is_operator
        left = []
        if (most := standing.most_tokens) is not None:
            rest = max(0, most - standing.tokens)
            left.append(f"{rest:,} of {count(most, 'token')} left" if is_own else _part_of(rest, most))
        if (most := standing.most_cost) is not None:
            rest, currency = max(0, most - standing.cost), self._spending.currency
            told = f"{say_cost(rest, currency)} of {say_cost(most, currency)} left"
            left.append(told if is_own else _part_of(rest, most))
        return f"- {title}: {'; '.join(left)}"

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        days = Argument(name="days", help=f"How many days to look back, 1 to {MAX_DAYS}", kind="number")
        spec = CommandSpec(
            name="usage",
            help="Show the tokens that were used, and what is left",
            arguments=(days,),
            native="usage",
        )
        return (Command(spec, self.show),)


def total(used: Sequence[Used]) -> int:
    """All tokens, of prompts and of answers."""
    return sum(one.prompt + one.completion for one in used)


def _part_of(rest: int, most: int) -> str:
    return f"{100 * rest // most} % left"
