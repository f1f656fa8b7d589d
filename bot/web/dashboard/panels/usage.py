"""What model calls have used: by day, model, person and channel, and how the budgets stand."""

import asyncio
from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.agent.accounts import Payer
from bot.agent.estimate import DANGER, WARNING
from bot.agent.prices import say_cost
from bot.agent.spending import Standing
from bot.commands.usage import Used
from bot.messages import Frozen, SessionKey
from bot.web.dashboard.frame import View, button, empty
from bot.web.dashboard.panels.blocks import Section, heading, subheading, words
from bot.web.dashboard.panels.workings import Workings

SPANS: Final = (1, 7, 30, 90)  # days
MOST_PEOPLE: Final = 50
SHOWN: Final = 10  # lines of a table, until somebody wants more


class Summary(Frozen, frozen=True, kw_only=True):
    """What was used in some days; `currency` is that of all costs."""

    days: tuple[Used, ...]
    models: tuple[Used, ...]
    people: tuple[Used, ...]
    channels: tuple[Used, ...]
    budgets: tuple[Standing, ...]
    currency: str


async def load_usage(workings: Workings, days: int) -> Summary:
    """Add up the last days, today included.

    Args:
        days: 1 to 90.
    """
    usage, spending = workings.usage, workings.spending
    since = spending.calendar.days_ago(days - 1)
    by_day, models, people, channels = await asyncio.gather(
        usage.by_day(since=since, limit=days),
        usage.by_model(since=since),
        usage.by_person(since=since, limit=MOST_PEOPLE),
        usage.by_channel(since=since),
    )
    return Summary(
        days=tuple(by_day),
        models=tuple(models),
        people=tuple(people),
        channels=tuple(channels),
        budgets=tuple(await _budgets(workings)),
        currency=spending.currency,
    )


async def _budgets(workings: Workings) -> list[Standing]:
    """Those that many share: of all together, and of each channel that is on."""
    names = dict.fromkeys(state.channel for state in workings.channels())
    found: dict[tuple[str, str], Standing] = {}
    for name in names:
        payer = Payer(person="", session=SessionKey(""), channel=name)
        for one in await workings.spending.standing(payer):
            if one.kind in ("all", "channel"):
                found[one.kind, one.name] = one
    return list(found.values())


class UsagePanel:
    """Fulfils `Panel`."""

    name = "usage"
    title = "usage_title"
    icon = "bar_chart"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        span = SPANS[1]

        async def choose(days: int) -> None:
            nonlocal span
            span = days
            for each, made in buttons.items():
                made.classes(remove="sb-chosen")
                if each == days:
                    made.classes("sb-chosen")
            await section.show()

        with ui.element("div").classes("sb-panel"):
            section: Section[Summary]
            heading(view, self.title, "usage_hint", refresh=lambda: section.show())
            with ui.element("div").classes("sb-row"):
                buttons = {
                    days: button(view.tr("usage_days", days=days), lambda days=days: choose(days))
                    for days in SPANS
                }
            buttons[span].classes("sb-chosen")
            section = Section(
                view, lambda: load_usage(view.parts.workings, span), lambda found: _draw(view, found)
            )
            await section.show()


def _draw(view: View, found: Summary) -> None:
    tr = view.tr
    if found.budgets:
        subheading(tr("usage_budgets"))
        with ui.element("div").classes("sb-cards"):
            for budget in found.budgets:
                _draw_budget(view, budget, found.currency)
    if not found.models:
        empty(tr("usage_none"), "bar_chart")
        return
    _draw_total(view, found)
    with ui.element("div").classes("sb-cards"):
        for title, used in (
            ("usage_by_day", found.days),
            ("usage_by_model", found.models),
            ("usage_by_person", found.people),
            ("usage_by_channel", found.channels),
        ):
            _draw_table(view, tr(title), used, found.currency)


def _draw_total(view: View, found: Summary) -> None:
    cost = sum(one.cost for one in found.models)
    with ui.element("div").classes("sb-figures sb-card"):
        for name, text in (
            ("usage_calls", f"{sum(one.calls for one in found.models):,}"),
            ("usage_prompt", f"{sum(one.prompt for one in found.models):,}"),
            ("usage_cached", f"{sum(one.cached for one in found.models):,}"),
            ("usage_completion", f"{sum(one.completion for one in found.models):,}"),
            ("usage_cost", say_cost(cost, found.currency) if cost else "–"),
        ):
            with ui.element("div").classes("sb-figure"):
                words(text, "sb-figure-number")
                words(view.tr(name), "sb-quiet")


def _draw_table(view: View, title: str, used: Sequence[Used], currency: str) -> None:
    most = max((tokens_of(one) for one in used), default=0) or 1
    with ui.element("div").classes("sb-card"):
        words(title, "sb-card-title")
        for one in used[:SHOWN]:
            _draw_bar(view, one, most, currency)
        if len(used) > SHOWN:
            with ui.expansion(view.tr("more")).classes("sb-expansion"):
                for one in used[SHOWN:]:
                    _draw_bar(view, one, most, currency)


def _draw_bar(view: View, one: Used, most: int, currency: str) -> None:
    cost = f" · {say_cost(one.cost, currency)}" if one.cost else ""
    with ui.element("div").classes("sb-bar"):
        with ui.element("div").classes("sb-row"):
            words(one.name or view.tr("usage_unknown"), "sb-grow", "sb-cut")
            words(f"{tokens_of(one):,}{cost}", "sb-number")
        _fill(tokens_of(one) / most, "")


def _draw_budget(view: View, one: Standing, currency: str) -> None:
    with ui.element("div").classes("sb-card"):
        words(view.tr("usage_all") if one.kind == "all" else one.name, "sb-card-title")
        if one.most_tokens is not None:
            _draw_part(view, one.tokens, one.most_tokens, f"{one.tokens:,}", f"{one.most_tokens:,}")
        if one.most_cost is not None:
            costs = say_cost(one.cost, currency), say_cost(one.most_cost, currency)
            _draw_part(view, one.cost, one.most_cost, *costs)


def _draw_part(view: View, used: int, most: int, said_used: str, said_most: str) -> None:
    part = used / most if most else 1.0
    words(view.tr("usage_of", used=said_used, most=said_most), "sb-number")
    _fill(part, "sb-bar-bad" if part >= DANGER else "sb-bar-warn" if part >= WARNING else "")


def _fill(part: float, tone: str) -> None:
    with ui.element("div").classes("sb-bar-track"):
        ui.element("div").classes(f"sb-bar-fill {tone}").style(f"width: {100 * min(1.0, part):.1f}%")


def tokens_of(used: Used) -> int:
    """Prompt and answer together."""
    return used.prompt + used.completion
