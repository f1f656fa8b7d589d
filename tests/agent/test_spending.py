"""Bills and budgets: what is set aside before a call, what it costs in the end, and what is kept of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agent.accounts import Accounts, Amount, NoBooks, Payer, Scope
from bot.agent.billing import LEAST_OUTPUT, Bill
from bot.agent.estimate import estimate_prompt
from bot.agent.history import estimate_tokens
from bot.agent.prices import COIN, Prices, say_cost
from bot.agent.spending import Spending, open_tab, paid_by
from bot.agent.tab import Tab
from bot.backends.base import DoneEvent, ErrorEvent, MessageEvent, RetryEvent, TokenUsageEvent
from bot.errors import BudgetSpent, ModelError
from bot.messages import SessionKey
from bot.models.base import ModelRequest, PromptMessage
from bot.settings.spending import BudgetSettings, BudgetsSettings, PriceSettings, unpriced_budgets
from memory.store import Store

ANN = Payer(person="telegram:ann", session=SessionKey("telegram:default:1"), channel="telegram")
PRICES = {
    "gpt-*": PriceSettings(input=2, cached=1, output=10),
    "gpt-mini": PriceSettings(input=0.2, output=1),
    "gpt-mini*": PriceSettings(input=0.5, output=1),
}
NOON = datetime(2031, 5, 17, 12, tzinfo=UTC).timestamp()


def ask(words: int = 10, *, model: str = "gpt-mini", most: int = 1_000) -> ModelRequest:
    """A request of about so many tokens."""
    message = PromptMessage(role="user", content="four" * words)
    return ModelRequest(model=model, messages=(message,), max_completion_tokens=most)


def usage(prompt: int, completion: int, *, model: str = "gpt-mini", cached: int = 0) -> TokenUsageEvent:
    return TokenUsageEvent(model=model, prompt=prompt, completion=completion, cached=cached)


def tokens(most: int) -> BudgetsSettings:
    return BudgetsSettings(person=BudgetSettings(tokens=most))


def sums(bill: Bill) -> tuple[int, int, int]:
    """Calls, tokens of prompts, and tokens of answers."""
    spent = bill.spent
    return sum(s.calls for s in spent), sum(s.prompt for s in spent), sum(s.completion for s in spent)


async def left(spending: Spending, payer: Payer = ANN) -> int:
    (standing,) = await spending.standing(payer)
    assert standing.most_tokens is not None
    return standing.most_tokens - standing.tokens


@pytest.mark.parametrize(
    ("model", "cost"),
    [("gpt-mini", 1_200_000), ("gpt-mini-2031", 1_500_000), ("gpt-large", 12_000_000), ("other", None)],
)
def test_the_price_of_a_name_goes_before_patterns_and_longer_ones_before_short(
    model: str, cost: int | None
) -> None:
    rate = Prices(PRICES).of(model)

    assert (rate.cost(1_000, 1_000) if rate is not None else None) == cost


def test_cached_tokens_have_a_price_of_their_own() -> None:
    rate = Prices(PRICES).of("gpt-large")

    assert rate is not None
    assert rate.cost(1_000_000, 0, cached=500_000) == 1.5 * COIN
    assert say_cost(rate.cost(1_000_000, 0), "EUR") == "2.00 EUR"


def test_a_budget_in_money_without_any_price_is_a_contradiction() -> None:
    budgets = BudgetsSettings(all=BudgetSettings(cost=1))

    assert list(unpriced_budgets({}, budgets)) == [
        "BOT_BUDGETS__ALL__COST needs prices: BOT_PRICES, or [prices.…] in bot.toml"
    ]
    assert list(unpriced_budgets(PRICES, budgets)) == []


def test_a_kept_prompt_that_costs_more_than_a_new_one_is_refused() -> None:
    with pytest.raises(ValueError, match="can't cost more than input"):
        PriceSettings(input=1, cached=2, output=1)


async def test_without_budgets_nothing_is_read_and_the_request_is_the_same() -> None:
    class Refusing(NoBooks):
        async def used(self, scopes: object) -> list[Amount]:
            raise AssertionError("read")

    bill = Spending(PRICES, books=Refusing()).open(ANN)
    request = ask()
    with Tab(bill) as tab:
        assert await tab.look(request, 1) is request
        tab.note(usage(20, 30, cached=5))

    (spent,) = bill.close()
    assert (spent.calls, spent.prompt, spent.completion, spent.cached) == (1, 20, 30, 5)
    assert spent.cost == 20 * 200 + 30 * 1_000


async def test_what_is_set_aside_is_free_again_when_the_real_figures_come() -> None:
    spending = Spending(budgets=tokens(2_000))
    bill, other = spending.open(ANN), spending.open(ANN)
    with Tab(bill) as tab, Tab(other) as waiting:
        await tab.look(ask(most=1_900), 1)
        with pytest.raises(BudgetSpent, match="other answers are under way"):
            await waiting.look(ask(), 1)
        tab.note(usage(12, 8))
        request = await waiting.look(ask(), 1)

    assert request.max_completion_tokens == 1_000
    assert await left(spending) == 2_000 - 20 - estimate_prompt(ask().messages)  # the second was cut short


async def test_an_answer_is_shortened_where_that_makes_it_fit() -> None:
    spending = Spending(budgets=tokens(1_000))
    with Tab(spending.open(ANN)) as tab:
        request = await tab.look(ask(most=8_000), 1)

    assert LEAST_OUTPUT <= request.max_completion_tokens < 1_000


async def test_no_answer_is_cut_down_to_a_few_words() -> None:
    spending = Spending(budgets=tokens(LEAST_OUTPUT))
    with Tab(spending.open(ANN)) as tab, pytest.raises(BudgetSpent, match="has too little left"):
        await tab.look(ask(), 1)


@pytest.mark.parametrize(
    ("budgets", "told"),
    [
        (
            BudgetsSettings(person=BudgetSettings(tokens=500)),
            "Your budget for today is used up: 500 of 500 tokens. It is fresh again at midnight"
            " (Europe/Berlin), in 10 h 0 min. An admin can raise it: `BOT_BUDGETS__PERSON__TOKENS`.",
        ),
        (
            BudgetsSettings(session=BudgetSettings(tokens=500)),
            "The budget of this session is used up: 500 of 500 tokens. Begin a new session with /new."
            " An admin can raise it: `BOT_BUDGETS__SESSION__TOKENS`.",
        ),
        (
            BudgetsSettings(channel=BudgetSettings(cost=0.0001), currency="EUR"),
            "The budget for today of all who write over telegram is used up: 0.0001 EUR of 0.0001 EUR. It is"
            " fresh again at midnight (Europe/Berlin), in 10 h 0 min. An admin can raise it:"
            " `BOT_BUDGETS__CHANNEL__COST`.",
        ),
    ],
    ids=["person", "session", "channel"],
)
async def test_a_refusal_says_which_budget_how_much_until_when_and_what_can_be_done(
    budgets: BudgetsSettings, told: str
) -> None:
    spending = Spending(PRICES, budgets, zone="Europe/Berlin", now=lambda: NOON)
    bill = spending.open(ANN)
    await bill.ready()
    bill.charge(usage(500, 0))

    with pytest.raises(BudgetSpent) as refused:
        bill.check()
    assert str(refused.value) == told
    assert bill.is_refused(f"It failed: {told}")


async def test_a_model_without_a_price_is_not_called_where_money_is_limited() -> None:
    spending = Spending(PRICES, BudgetsSettings(all=BudgetSettings(cost=1)))
    with Tab(spending.open(ANN)) as tab, pytest.raises(BudgetSpent, match="no price is set for it"):
        await tab.look(ask(model="other"), 1)


async def test_a_fallback_model_is_reserved_and_charged_at_its_own_price() -> None:
    spending = Spending(PRICES, BudgetsSettings(all=BudgetSettings(cost=0.02)))
    bill = spending.open(ANN)
    with Tab(bill) as tab:
        await tab.look(ask(), 1)
        tab.note(RetryEvent(model="gpt-large", attempt=2, wait=0.0, cause="gone"))
        tab.note(usage(20, 30, model="gpt-large"))

    (spent,) = bill.close()
    assert (spent.model, spent.cost) == ("gpt-large", 20 * 2_000 + 30 * 10_000)


async def test_a_new_try_that_no_budget_allows_is_stopped() -> None:
    spending = Spending(PRICES, BudgetsSettings(all=BudgetSettings(cost=0.002)))
    bill = spending.open(ANN)
    with Tab(bill) as tab:
        await tab.look(ask(), 1)
        tab.note(MessageEvent(content="half"))
        with pytest.raises(BudgetSpent):
            tab.note(RetryEvent(model="gpt-large", attempt=2, wait=0.0, cause="gone"))

    assert sums(bill) == (1, estimate_prompt(ask().messages), estimate_tokens("half"))


async def test_a_call_without_figures_costs_its_prompt_and_what_was_said() -> None:
    bill = Spending().open(ANN)
    with Tab(bill) as tab:
        await tab.look(ask(), 1)
        tab.note(MessageEvent(content="so many words"))
        tab.note(usage(0, 0))
        tab.note(DoneEvent())

    assert sums(bill) == (1, estimate_prompt(ask().messages), estimate_tokens("so many words"))


async def test_a_call_that_failed_before_its_first_word_costs_nothing() -> None:
    spending = Spending(budgets=tokens(1_000))
    bill = spending.open(ANN)
    with Tab(bill) as tab:
        await tab.look(ask(), 1)
        tab.note(ErrorEvent(content="gone"))

    assert bill.close() == ()
    assert await left(spending) == 1_000


async def test_a_call_that_is_cut_short_costs_what_it_had_cost_by_then() -> None:
    bill = Spending(budgets=tokens(10_000)).open(ANN)
    tab = Tab(bill)
    await tab.look(ask(), 1)
    tab.note(MessageEvent(content="half of"))
    bill.close()
    tab.note(MessageEvent(content=" it"))
    tab.note(usage(999, 999))

    assert sums(bill) == (1, estimate_prompt(ask().messages), estimate_tokens("half of"))


async def test_a_turn_that_is_over_makes_no_more_calls() -> None:
    bill = Spending().open(ANN)
    tab = Tab(bill)
    bill.close()

    with pytest.raises(ModelError, match="over"):
        await tab.look(ask(), 1)


async def test_calls_of_a_backend_that_asks_nobody_count_and_end_at_the_budget(store: Store) -> None:
    spending = Spending(budgets=tokens(100), books=store.usage)
    bill = spending.open(ANN)
    await bill.ready()
    with Tab(bill) as tab:
        tab.note(usage(90, 20))
    bill.close()
    await bill.write()
    bill.release()

    again = spending.open(ANN)
    await again.ready()
    with pytest.raises(BudgetSpent):
        again.check()


async def test_what_was_used_is_still_used_after_a_restart(home: Path) -> None:
    async with (
        Store(home, synchronous="NORMAL") as first,
        Spending(budgets=tokens(1_000), books=first.usage, now=lambda: NOON).aside(ANN) as bill,
    ):
        bill.charge(usage(600, 300))

    async with Store(home, synchronous="NORMAL") as second:
        spending = Spending(budgets=tokens(1_000), books=second.usage, now=lambda: NOON)
        assert await left(spending) == 100
        with Tab(spending.open(ANN)) as tab, pytest.raises(BudgetSpent):
            await tab.look(ask(), 1)


async def test_a_day_ends_at_midnight_of_the_zone_in_the_middle_of_a_turn(store: Store) -> None:
    now = datetime(2031, 3, 29, 22, 59, tzinfo=UTC).timestamp()  # 23:59 in Berlin, where clocks change next
    spending = Spending(budgets=tokens(3_000), zone="Europe/Berlin", books=store.usage, now=lambda: now)
    async with spending.aside(ANN) as bill:
        with Tab(bill) as tab:
            await tab.look(ask(), 1)
            assert spending.calendar.seconds_left() == 60
            now += 120
            tab.note(usage(2_000, 500))
            assert await left(spending) == 3_000
            await tab.look(ask(), 2)
            tab.note(usage(100, 100))
        assert await left(spending) == 2_800
        assert spending.calendar.seconds_left() == 23 * 3_600 - 60

    days = ("2031-03-29", "2031-03-30")
    used = await store.usage.used([Scope("all", "", day) for day in days])
    assert [amount.tokens for amount in used] == [2_500, 200]


async def test_a_session_keeps_its_account_over_the_days() -> None:
    now = NOON
    spending = Spending(budgets=BudgetsSettings(session=BudgetSettings(tokens=1_000)), now=lambda: now)
    bill = spending.open(ANN)
    await bill.ready()
    bill.charge(usage(500, 400))
    now += 86_400
    await bill.ready()

    assert await left(spending) == 100
    bill.close()
    bill.release()


async def test_a_guest_has_a_budget_of_their_own_until_they_are_a_member() -> None:
    guest = Payer(person=ANN.person, session=ANN.session, channel=ANN.channel, is_guest=True)
    both = BudgetsSettings(person=BudgetSettings(tokens=900), guest=BudgetSettings(tokens=50))
    accounts = Accounts(both, NoBooks())

    (as_guest,) = accounts.hold(guest, "2031-05-17")
    await accounts.load((as_guest,))
    as_guest.charge(40, 0)
    most = as_guest.most_tokens
    accounts.release((as_guest,))
    (as_member,) = accounts.hold(ANN, "2031-05-17")

    assert most == 50
    assert (as_member.most_tokens, as_member.tokens) == (900, 40)


def test_a_budget_of_guests_alone_limits_nobody_else() -> None:
    accounts = Accounts(BudgetsSettings(guest=BudgetSettings(tokens=50)), NoBooks())
    guest = Payer(person="telegram:eve", session=ANN.session, channel="telegram", is_guest=True)

    assert not accounts.is_empty
    assert accounts.hold(ANN, "2031-05-17") == ()
    assert [account.most_tokens for account in accounts.hold(guest, "2031-05-17")] == [50]


async def test_accounts_on_which_nothing_runs_are_forgotten() -> None:
    accounts = Accounts(tokens(10), NoBooks(), most_idle=5)
    for number in range(100):
        payer = Payer(person=f"telegram:{number}", session=ANN.session, channel="telegram")
        held = accounts.hold(payer, "2031-05-17")
        await accounts.load(held)
        accounts.release(held)

    assert len(accounts) == 5


async def test_calls_beside_those_of_a_turn_go_onto_its_bill() -> None:
    bill = Spending().open(ANN)
    with paid_by(bill):
        async with open_tab() as tab, open_tab() as second:
            await tab.look(ask(), 1)
            await second.look(ask(), 1)
            tab.note(usage(1, 2))
            second.note(usage(3, 4))

    assert sums(bill) == (2, 4, 6)


async def test_work_that_outlives_its_turn_is_written_for_the_same_person(store: Store) -> None:
    bill = Spending(books=store.usage).open(ANN)
    with paid_by(bill):
        bill.close()
        async with open_tab() as tab:
            await tab.look(ask(), 1)
            tab.note(usage(1, 2))

    (used,) = await store.usage.of_person(ANN.person, since="2000-01-01")
    assert (used.prompt, used.completion) == (1, 2)
