"""What the bot does at a time: schedules and alarms of people, and the heartbeat."""

from bot.agent.silence import is_all_well
from bot.scheduler.clock import Clock, WallClock
from bot.scheduler.heartbeat import Heartbeat
from bot.scheduler.planner import Asking, Book, Planner
from bot.scheduler.scheduler import Scheduler, Schedules
from bot.scheduler.schedules import Claim, Firing, Listed, Schedule, ScheduleId
from bot.scheduler.timing import At, Cron, Every, ScheduleFault, Timing

__all__ = [
    "Asking",
    "At",
    "Book",
    "Claim",
    "Clock",
    "Cron",
    "Every",
    "Firing",
    "Heartbeat",
    "Listed",
    "Planner",
    "Schedule",
    "ScheduleFault",
    "ScheduleId",
    "Scheduler",
    "Schedules",
    "Timing",
    "WallClock",
    "is_all_well",
]
