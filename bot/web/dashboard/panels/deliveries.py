"""What is under way: accepted messages that are not done, and answers that no platform has confirmed."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.agent.store import Undelivered
from bot.commands.engine import Unfinished
from bot.errors import BotError
from bot.inbox.base import Operator
from bot.messages import Frozen, RunId
from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import View, button, chip, moment
from bot.web.dashboard.panels.blocks import Listing, heading, line, note, subheading, words

EVERY: Final = 5.0
PREVIEW: Final = 200  # characters
TONES: Final = {"queued": "plain", "running": "accent", "parked": "bad"}


class Waiting(Frozen, frozen=True, kw_only=True):
    """An accepted message that is not done, as it is shown; `accepted_at` in seconds since 1970."""

    run: RunId
    session: str
    state: str
    attempts: int
    accepted_at: float

    @classmethod
    def of(cls, entry: Unfinished) -> "Waiting":
        """Take what is shown."""
        return cls(
            run=entry.run,
            session=entry.session,
            state=entry.state,
            attempts=entry.attempts,
            accepted_at=entry.accepted_at,
        )


async def load_waiting(parts: Parts, limit: int) -> list[Waiting]:
    """What is parked first, for somebody has to decide about it; then the oldest."""
    entries = [Waiting.of(entry) for entry in await parts.workings.journal.unfinished()]
    return sorted(entries, key=lambda entry: entry.state != "parked")[:limit]


async def retry_message(parts: Parts, by: Operator, run: RunId) -> None:
    """Run a parked message again; `StoreError` where it is not parked any more."""
    await parts.workings.journal.retry(run)
    await note(parts, by, "journal retry", run)


async def stop_message(parts: Parts, by: Operator, run: RunId) -> None:
    """Stop what is being answered, or waits to be; a `BotError` where it is over."""
    if not await parts.api.bot.cancel(run, actor=by.actor):
        raise BotError("it is over, or parked")


async def retry_delivery(parts: Parts, by: Operator, run: RunId) -> None:
    """Have a stuck answer delivered again; a `BotError` where it is not stuck any more."""
    end = await parts.workings.outbox.revive(run, tries=parts.workings.max_tries)
    if end is None:
        raise BotError("it is delivered, or being tried just now")
    parts.api.bus.send(end)
    await note(parts, by, "outbox retry", run)


async def drop_delivery(parts: Parts, by: Operator, run: RunId) -> None:
    """Forget a stuck answer; a `BotError` where it is not stuck any more."""
    if not await parts.workings.outbox.drop(run, tries=parts.workings.max_tries):
        raise BotError("it is delivered, or being tried just now")
    await note(parts, by, "outbox drop", run)


class DeliveriesPanel:
    """Fulfils `Panel`."""

    name = "deliveries"
    title = "deliveries_title"
    icon = "outbox"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        with ui.element("div").classes("sb-panel"):
            lists: list[Listing[Waiting] | Listing[Undelivered]] = []

            async def refresh() -> None:
                for one in lists:
                    await one.show()

            heading(view, self.title, "deliveries_hint", refresh=refresh)
            subheading(view.tr("journal_title"))
            lists.append(self._journal(view))
            subheading(view.tr("outbox_title"))
            lists.append(self._outbox(view))
            await refresh()

    def _journal(self, view: View) -> Listing[Waiting]:
        async def load(limit: int) -> Sequence[Waiting]:
            return await load_waiting(view.parts, limit)

        listing: Listing[Waiting] = Listing(
            view,
            load,
            lambda entry: _draw_waiting(view, listing, entry),
            nothing=view.tr("journal_none"),
            icon="task_alt",
            every=EVERY,
        )
        return listing

    def _outbox(self, view: View) -> Listing[Undelivered]:
        async def load(limit: int) -> Sequence[Undelivered]:
            return await view.parts.workings.outbox.undelivered(limit=limit)

        listing: Listing[Undelivered] = Listing(
            view,
            load,
            lambda entry: _draw_undelivered(view, listing, entry),
            nothing=view.tr("outbox_none"),
            icon="mark_email_read",
            every=EVERY,
        )
        return listing


def _draw_waiting(view: View, listing: Listing[Waiting], entry: Waiting) -> None:
    tr, parts, by, section = view.tr, view.parts, view.operator, listing.section
    text, side = line()
    with text:
        words(entry.session, "sb-mono")
        words(tr("journal_attempts", count=entry.attempts), "sb-quiet")
    with side:
        moment(entry.accepted_at)
        chip(tr(f"journal_{entry.state}"), TONES.get(entry.state, "plain"))
        if entry.state == "parked":
            button(
                tr("retry"), lambda: section.act(lambda: retry_message(parts, by, entry.run)), icon="replay"
            )
        else:
            button(
                tr("stop"),
                lambda: section.act(
                    lambda: stop_message(parts, by, entry.run),
                    question=tr("journal_stop_ask", session=entry.session),
                    yes=tr("stop"),
                ),
                kind="bad",
            )


def _draw_undelivered(view: View, listing: Listing[Undelivered], entry: Undelivered) -> None:
    tr, parts, by, section = view.tr, view.parts, view.operator, listing.section
    end = entry.end
    text, side = line()
    with text:
        words(end.address.session(), "sb-mono")
        words(end.text[:PREVIEW], "sb-clamp")
    with side:
        moment(entry.created_at)
        if entry.tries:
            words(tr("outbox_tries", count=entry.tries), "sb-quiet")
        is_stuck = entry.is_failed or entry.tries >= parts.workings.max_tries
        if not is_stuck:
            chip(tr("outbox_waiting"), "plain")
            return
        chip(tr("outbox_failed" if entry.is_failed else "outbox_stuck"), "bad")
        button(tr("retry"), lambda: section.act(lambda: retry_delivery(parts, by, end.run)), icon="replay")
        button(
            tr("outbox_drop"),
            lambda: section.act(
                lambda: drop_delivery(parts, by, end.run),
                question=tr("outbox_drop_ask", chat=end.address.session()),
                yes=tr("outbox_drop"),
            ),
            kind="bad",
        )
