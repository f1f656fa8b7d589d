"""Whatever is scheduled, and however the process fails: every due time fires once, and in order."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.scheduler.schedules import Schedule
from bot.scheduler.timing import At, Cron, Every, Timing
from tests.scheduler.rig import NOON, Rig, TurnedClock

MINUTE = 60
Weather: TypeAlias = Literal["fine", "fails", "loses", "restart", "dies"]

TIMINGS = st.one_of(
    st.builds(lambda ahead: At(at=NOON + ahead), st.integers(1, 6 * 3_600)),
    st.builds(
        lambda seconds, ahead: Every(seconds=seconds, start=NOON + ahead),
        st.integers(MINUTE, 3_600),
        st.integers(1, 3_600),
    ),
    st.builds(lambda step: Cron(expression=f"*/{step} * * * *", zone="UTC"), st.sampled_from([1, 5, 20])),
)
KINDS: st.SearchStrategy[Weather] = st.sampled_from(["fine", "fine", "fails", "loses", "restart", "dies"])
STEPS = st.tuples(st.integers(0, 2 * 3_600), KINDS)


@dataclass(slots=True)
class Expected:
    """What should become of one schedule, in plain arithmetic."""

    schedule: Schedule
    next_at: float | None
    waiting: float | None = None

    def claim(self, now: float) -> None:
        """Its time may have come: what was missed is one firing, and none behind one that still waits."""
        if self.next_at is None or self.next_at > now:
            return
        if self.waiting is None:
            self.waiting = self.next_at
        while self.next_at is not None and self.next_at <= now:
            self.next_at = _following(self.schedule.timing, self.next_at)

    def hand_in(self) -> list[tuple[str, float]]:
        """What waits is taken."""
        taken = [] if self.waiting is None else [(str(self.schedule.id), self.waiting)]
        self.waiting = None
        return taken


def _following(timing: Timing, at: float) -> float | None:
    match timing:
        case At():
            return None
        case Every(seconds=seconds):
            return at + seconds
        case Cron(expression=expression):
            return at + MINUTE * int(expression.split()[0].removeprefix("*/"))


async def turn_in_weather(rig: Rig, kind: Weather, now: float) -> None:
    """Turn the clock while something goes wrong."""
    rig.fails, rig.loses = kind == "fails", kind == "loses"
    rig.hangs_at = rig.calls + int(now) % 3 if kind == "dies" else None
    await rig.clock.turn(now, wakes_all=True)
    if kind in ("restart", "dies"):
        await rig.__aexit__(None, None, None)
        rig.hangs_at = None
        await rig.__aenter__()


@given(timings=st.lists(TIMINGS, min_size=1, max_size=4), steps=st.lists(STEPS, max_size=8))
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
async def test_every_due_time_fires_exactly_once_and_in_order(
    timings: Sequence[Timing], steps: Sequence[tuple[int, Weather]]
) -> None:
    fired: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as directory:
        rig, now = Rig(Path(directory), TurnedClock()), NOON
        async with rig:
            schedules = [await rig.add(timing) for timing in timings]
            expected = [Expected(one, one.next_at) for one in schedules]
            for step, kind in (*steps, (0, "fine")):
                now += step
                for one in expected:
                    one.claim(now)
                await turn_in_weather(rig, kind, now)
                if kind not in ("fails", "loses"):  # then all is handed in, at the latest by the restart
                    fired += [due for one in expected for due in one.hand_in()]

    assert sorted(rig.dues()) == sorted(fired)
    for schedule in schedules:
        own = [due for id_, due in rig.dues() if id_ == schedule.id]
        assert own == sorted(set(own))
