"""What is to be done later, of all chats: rest, go on, forget."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from nicegui import ui

from bot.inbox.base import Operator
from bot.scheduler.planner import Asking
from bot.scheduler.schedules import Listed, Schedule
from bot.scheduler.timing import say_timing
from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import View, button, chip, moment
from bot.web.dashboard.panels.blocks import Listing, heading, line, note, words

EVERY: Final = 15.0
REASONS: Final = {"done": "good", "silent": "good"}


async def change_schedule(
    parts: Parts,
    by: Operator,
    schedule: Schedule,
    change: Callable[[Asking, int], Awaitable[Schedule]],
    action: str,
) -> None:
    """Pause, resume or delete one; a `ScheduleFault` where that can't be."""
    await change(Asking(chat=schedule.chat, person=by.actor, is_admin=True), schedule.number)
    await note(parts, by, action, f"{schedule.chat} {schedule.number}")


class SchedulesPanel:
    """Fulfils `Panel`."""

    name = "schedules"
    title = "schedules_title"
    icon = "schedule"

    async def build(self, view: View) -> None:
        """See `Panel`."""

        async def load(limit: int) -> Sequence[Listed]:
            return (await view.parts.api.planner.listed(None))[:limit]

        with ui.element("div").classes("sb-panel"):
            listing: Listing[Listed]
            heading(view, self.title, "schedules_hint", refresh=lambda: listing.show())
            listing = Listing(
                view,
                load,
                lambda one: _draw(view, listing, one),
                nothing=view.tr("schedules_none"),
                icon="schedule",
                every=EVERY,
            )
            await listing.show()


def _draw(view: View, listing: Listing[Listed], one: Listed) -> None:
    tr, schedule = view.tr, one.schedule
    text, side = line()
    with text:
        with ui.element("div").classes("sb-row"):
            words(f"{schedule.chat} · {schedule.number}", "sb-mono")
            words(say_timing(schedule.timing), "sb-quiet")
        words(schedule.text, "sb-clamp")
        if one.last is not None and one.last.reason is not None:
            with ui.element("div").classes("sb-row"):
                words(tr("schedules_last"), "sb-quiet")
                moment(one.last.ran_at)
                chip(tr(f"schedules_{one.last.reason}"), REASONS.get(one.last.reason, "bad"))
                if one.last.delivery == "failed":
                    chip(tr("outbox_failed"), "bad")
    with side:
        if schedule.next_at is None:
            chip(tr("schedules_over"))
        elif schedule.is_paused:
            chip(tr("schedules_paused"), "warn")
        else:
            moment(schedule.next_at)
        _draw_buttons(view, listing, schedule)


def _draw_buttons(view: View, listing: Listing[Listed], schedule: Schedule) -> None:
    tr, parts, by, planner = view.tr, view.parts, view.operator, view.parts.api.planner
    section = listing.section

    def changing(
        change: Callable[[Asking, int], Awaitable[Schedule]], action: str
    ) -> Callable[[], Awaitable[object]]:
        return lambda: change_schedule(parts, by, schedule, change, action)

    if schedule.next_at is not None and schedule.is_paused:
        button(tr("schedules_resume"), lambda: section.act(changing(planner.resume, "schedule resume")))
    elif schedule.next_at is not None:
        button(tr("schedules_pause"), lambda: section.act(changing(planner.pause, "schedule pause")))
    button(
        tr("delete"),
        lambda: section.act(
            changing(planner.delete, "schedule delete"),
            question=tr("schedules_delete_ask", text=schedule.text[:100]),
            yes=tr("delete"),
        ),
        kind="bad",
    )
