"""What a schedule and its firings are."""

from datetime import UTC, datetime
from typing import Final, Literal, NewType, TypeAlias

from bot.messages import (
    Address,
    EndReason,
    Frozen,
    InboundMessage,
    MessageId,
    RunId,
    Sender,
    SessionKey,
    Trigger,
)
from bot.scheduler.timing import Timing, say_moment

ScheduleId = NewType("ScheduleId", str)
Delivery: TypeAlias = Literal["open", "delivered", "failed", "nothing"]

LATE: Final = 90.0  # seconds behind its time from which a firing says so


class Schedule(Frozen, frozen=True, kw_only=True):
    """Something to be done later, in the chat in which somebody asked for it.

    Attributes:
        number: What the chat knows it by; given to no other of that chat.
        text: The prompt of its turns.
        address: Where its answers go; captured when it was made, as session and sender are.
        sender: Who made it, with the role of that time.
        zone: The time zone in which people are told its times.
        next_at: Seconds since 1970; `None` where nothing is to come.
        last_at: When it last fired.
    """

    id: ScheduleId
    timing: Timing
    text: str
    address: Address
    session: SessionKey
    sender: Sender
    zone: str
    created_at: float
    next_at: float | None
    number: int = 0
    last_at: float | None = None
    is_paused: bool = False

    @property
    def chat(self) -> SessionKey:
        """The chat's own session, aliases not followed: what it is listed in."""
        return self.address.session()

    @property
    def maker(self) -> str:
        """Who made it, as admins are named in the settings."""
        return f"{self.address.channel}:{self.sender.id}"


class Firing(Frozen, frozen=True, kw_only=True):
    """One time that a schedule was due.

    Attributes:
        run: The turn that does it.
        ran_at: When the turn was accepted; `None` while it is still to be handed in.
        reason: How the turn ended.
        delivery: What became of its answer: a turn that went well may still not have reached anybody.
    """

    due_at: float
    run: RunId
    ran_at: float | None = None
    reason: EndReason | None = None
    delivery: Delivery = "open"


class Listed(Frozen, frozen=True, kw_only=True):
    """A schedule with its last firing."""

    schedule: Schedule
    last: Firing | None = None


class Claim(Frozen, frozen=True, kw_only=True):
    """A schedule that is due, and what is to be written down of that; `run` is the turn to come."""

    schedule: Schedule
    run: RunId
    next_at: float | None


def message_of(schedule: Schedule, firing: Firing, *, now: float) -> InboundMessage:
    """The message that a firing is; however often it is made, the journal takes it once."""
    due = say_moment(firing.due_at, schedule.zone)
    late = " It is late: say so where that matters." if now - firing.due_at > LATE else ""
    # the head also keeps a text that begins with a slash from being a command
    head = f"[Schedule {schedule.number}, due {due}.{late} Do this now; do not schedule it again.]"
    return InboundMessage(
        id=MessageId(firing.run),
        platform_id=f"schedule:{schedule.id}:{firing.due_at:.0f}",
        address=schedule.address,
        session=schedule.session,
        sender=schedule.sender,
        text=f"{head}\n{schedule.text}",
        received_at=datetime.fromtimestamp(now, UTC),
        trigger=Trigger.SCHEDULE,
    )
