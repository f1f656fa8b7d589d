"""Tools: the agent schedules work for later, and sets itself an alarm."""

from typing import Literal, TypeAlias

from bot.scheduler.planner import Asking, Planner, say_next
from bot.scheduler.schedules import Listed, Schedule
from bot.scheduler.timing import At, Every, ScheduleFault, say_timing
from bot.tools.base import Arguments, Tool, ToolContext, ToolFault
from bot.tools.declare import declare

Action: TypeAlias = Literal["add", "list", "pause", "resume", "delete"]

SHOWN = 50  # schedules in a list
SNIPPET = 100  # characters of a text in it
MINUTE = 60


class ScheduleTools:
    """The family, over the schedules of the chat in which it is called."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    async def manage_schedule(
        self,
        context: ToolContext,
        action: Action,
        when: str = "",
        text: str = "",
        number: int | None = None,
        timezone: str = "",
    ) -> str:
        """Do something later or repeatedly in this chat: reminders, reports, checks.

        Args:
            action: pause, resume and delete need number; add needs when and text.
            when: "in 2 hours", "tomorrow 9:00", "2026-12-24T18:00", "every 30 minutes", "every monday 9:00"
                or cron "0 9 * * 1-5".
            text: What to do then, complete in itself.
            timezone: The person's, like Europe/Berlin, if known.
        """
        try:
            match action:
                case "add":
                    zone = timezone or self._planner.zone_of(context.message)
                    timing = self._planner.read(when, zone=zone)
                    return _set(await self._planner.add(context.message, timing, text, zone=zone))
                case "list":
                    return _list(await self._planner.listed(context.address.session()))
                case _:
                    return await self._change(context, action, number)
        except ScheduleFault as fault:
            raise ToolFault(str(fault)) from fault

    async def alarm_clock(
        self, context: ToolContext, when: str, text: str, repeat_minutes: int | None = None
    ) -> str:
        """Wake yourself in this chat later, to go on with something.

        Args:
            when: "in 10 minutes", "9:00", "tomorrow 9:00" or "2026-12-24T18:00".
            text: What to do when you wake.
            repeat_minutes: Wake again every so many minutes, until the alarm is deleted.
        """
        try:
            zone = self._planner.zone_of(context.message)
            timing = self._planner.read(when, zone=zone)
            if not isinstance(timing, At):
                raise ScheduleFault("when is a single time here: use repeat_minutes to repeat")
            if repeat_minutes is not None:
                if repeat_minutes < 1:
                    raise ScheduleFault("repeat_minutes is 1 or more")
                every = Every(seconds=repeat_minutes * MINUTE, start=timing.at)
                return _set(await self._planner.add(context.message, every, text, zone=zone))
            return _set(await self._planner.add(context.message, timing, text, zone=zone))
        except ScheduleFault as fault:
            raise ToolFault(str(fault)) from fault

    async def _change(
        self, context: ToolContext, action: Literal["pause", "resume", "delete"], number: int | None
    ) -> str:
        if number is None:
            raise ScheduleFault(f"{action} needs a number: action list shows them")
        asking = Asking(chat=context.address.session(), person=context.person, is_admin=context.is_admin)
        match action:
            case "pause":
                await self._planner.pause(asking, number)
                return f"Schedule {number} is paused."
            case "resume":
                schedule = await self._planner.resume(asking, number)
                return f"Schedule {number} goes on. Next: {say_next(schedule)}."
            case "delete":
                await self._planner.delete(asking, number)
                return f"Schedule {number} is deleted."

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.manage_schedule,
                name="manage_schedule",
                group="schedule",
                risk="read",
                effects=("acts",),
                acts_if=_changes,
            ),
            declare(self.alarm_clock, name="alarm_clock", group="schedule", risk="read", effects=("acts",)),
        )


def _changes(arguments: Arguments, context: ToolContext) -> bool:
    """Whether a call has something done later, or no longer; what is done then is done by nobody's order."""
    return arguments.get("action") != "list"


def _set(schedule: Schedule) -> str:
    """What the model tells the person of a new schedule."""
    repeats = "" if isinstance(schedule.timing, At) else f", {say_timing(schedule.timing)}"
    return (
        f"Schedule {schedule.number} is set{repeats}. It fires {say_next(schedule)}."
        f" To cancel it: /schedule delete {schedule.number}"
    )


def _list(listed: list[Listed]) -> str:
    if not listed:
        return "There are no schedules in this chat."
    lines = [_line(one) for one in listed[:SHOWN]]
    if len(listed) > SHOWN:
        lines.append(f"… and {len(listed) - SHOWN} more")
    return "\n".join(lines)


def _line(one: Listed) -> str:
    schedule = one.schedule
    text = " ".join(schedule.text.split())
    shown = text if len(text) <= SNIPPET else f"{text[: SNIPPET - 1]}…"
    return f"{schedule.number}: {say_timing(schedule.timing)}; next {say_next(schedule)}; {shown}"
