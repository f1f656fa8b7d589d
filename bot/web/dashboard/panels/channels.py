"""How the channels are doing: connected, heard of, what waits, and whether a platform slows us down."""

from collections.abc import Iterable, Sequence
from typing import Final

from nicegui import ui

from bot.commands.engine import ChannelState
from bot.messages import Frozen
from bot.metrics import Depth, RateWait
from bot.web.dashboard.frame import View, chip, empty, moment
from bot.web.dashboard.panels.blocks import Section, heading, line, words
from bot.web.dashboard.panels.workings import Workings

EVERY: Final = 5.0
UNKNOWN: Final = RateWait("", "", 0, 0.0)


class Account(Frozen, frozen=True):
    """One account of a channel, and what its platform makes it wait."""

    state: ChannelState
    waits: RateWait


class ChannelRow(Frozen, frozen=True, kw_only=True):
    """A channel and what waits there; without accounts, it is off.

    Attributes:
        queued, running, parked: Accepted messages that are not done.
        undelivered, failed: Answers that the platform has not taken, and those that it never will.
    """

    channel: str
    accounts: tuple[Account, ...] = ()
    queued: int = 0
    running: int = 0
    parked: int = 0
    undelivered: int = 0
    failed: int = 0


def channel_rows(
    states: Iterable[ChannelState], depths: Iterable[Depth], waits: Iterable[RateWait]
) -> list[ChannelRow]:
    """All channels that are on, and those that are off with something still waiting."""
    accounts: dict[str, list[Account]] = {}
    slow = {(one.channel, one.account): one for one in waits}
    for state in states:
        account = Account(state, slow.get((state.channel, state.account), UNKNOWN))
        accounts.setdefault(state.channel, []).append(account)
    sizes = {
        (depth.channel, depth.queue, depth.state): depth.size for depth in depths if depth.queue != "webhooks"
    }
    names = [*accounts, *sorted({channel for channel, _, _ in sizes} - {*accounts})]
    return [
        ChannelRow(
            channel=name,
            accounts=tuple(accounts.get(name, ())),
            queued=sizes.get((name, "journal", "queued"), 0),
            running=sizes.get((name, "journal", "running"), 0),
            parked=sizes.get((name, "journal", "parked"), 0),
            undelivered=sizes.get((name, "outbox", "pending"), 0),
            failed=sizes.get((name, "outbox", "failed"), 0),
        )
        for name in names
    ]


async def load_channels(workings: Workings) -> list[ChannelRow]:
    """How they are doing now."""
    return channel_rows(workings.channels(), await workings.depths.depths(), workings.waits())


class ChannelsPanel:
    """Fulfils `Panel`."""

    name = "channels"
    title = "channels_title"
    icon = "hub"

    async def build(self, view: View) -> None:
        """See `Panel`."""

        def draw(rows: Sequence[ChannelRow]) -> None:
            if not rows:
                empty(view.tr("channels_none"), "hub")
            with ui.element("div").classes("sb-cards"):
                for row in rows:
                    _draw_channel(view, row)

        with ui.element("div").classes("sb-panel"):
            section: Section[list[ChannelRow]]
            heading(view, self.title, "channels_hint", refresh=lambda: section.show())
            section = Section(view, lambda: load_channels(view.parts.workings), draw, every=EVERY)
            await section.show()


def _draw_channel(view: View, row: ChannelRow) -> None:
    tr = view.tr
    is_one = len(row.accounts) == 1 and row.accounts[0].state.account == "default"
    with ui.element("div").classes("sb-card"):
        with ui.element("div").classes("sb-row"):
            words(row.channel, "sb-card-title", "sb-grow")
            if not row.accounts:
                chip(tr("channels_off"))
            if is_one:
                _draw_state(view, row.accounts[0].state)
        for account in row.accounts:
            if is_one:
                _draw_details(view, account)
            else:
                _draw_account(view, account)
        with ui.element("div").classes("sb-figures"):
            for name, number, tone in (
                ("channels_queued", row.queued, ""),
                ("channels_running", row.running, ""),
                ("channels_parked", row.parked, "sb-figure-bad"),
                ("channels_undelivered", row.undelivered, ""),
                ("channels_failed", row.failed, "sb-figure-bad"),
            ):
                with ui.element("div").classes(f"sb-figure {tone if number else ''}"):
                    words(f"{number:,}", "sb-figure-number")
                    words(tr(name), "sb-quiet")


def _draw_account(view: View, account: Account) -> None:
    text, side = line()
    with text:
        words(account.state.account)
        _draw_details(view, account)
    with side:
        _draw_state(view, account.state)


def _draw_state(view: View, state: ChannelState) -> None:
    tr = view.tr
    if state.last_event_at is not None:
        words(tr("channels_heard"), "sb-quiet")
        moment(state.last_event_at.timestamp())
    if state.is_connected:
        chip(tr("channels_on"), "good")
    else:
        chip(tr("channels_away"), "bad")


def _draw_details(view: View, account: Account) -> None:
    """What is wrong with an account, or slow."""
    tr, state, waits = view.tr, account.state, account.waits
    if state.cause and not state.is_connected:
        words(state.cause, "sb-quiet")
    if waits.held >= 1:
        words(tr("channels_held", seconds=round(waits.held)), "sb-warned")
    elif waits.waits:
        slowed = tr("channels_slowed", count=f"{waits.waits:,}", seconds=f"{waits.seconds:,.1f}")
        words(slowed, "sb-quiet")
