"""How much people may say: told once, silence for floods, and nothing that admins notice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.messages import Attachment, InboundMessage, Sender, Trigger
from bot.settings.access import RatesSettings
from security.access.memory import Lately
from security.access.rates import RateLimits
from security.access.windows import Windows
from tests.commands.desk import BOSS, Notes, message

FEW = RatesSettings(person="3/minute", chat="5/minute", channel="8/minute", flood_silence=300)


class Gauge:
    """Limits on a clock that a test turns."""

    def __init__(self, rates: RatesSettings = FEW) -> None:
        self.now = 0.0
        self.audit = Notes()
        self._limits = RateLimits(
            rates,
            is_admin=lambda said: said.sender == BOSS,
            audit=self.audit,
            clock=lambda: self.now,
        )

    async def says(self, person: str = "ann", chat: str = "main", **changes: object) -> str | None:
        """What somebody is told; `None` where they are answered."""
        sender = changes.pop("sender", Sender(id=person))
        said = message("hi", chat, sender=sender, **changes)  # type: ignore[arg-type]  # as named
        return await self.of(said)

    async def of(self, said: InboundMessage) -> str | None:
        refusal = await self._limits(said)
        return refusal.text if refusal is not None else None


async def test_who_is_too_fast_is_told_once_and_answered_again_after_the_pause() -> None:
    gauge = Gauge()
    told = [await gauge.says() for _ in range(5)]
    gauge.now = 61
    after = [await gauge.says() for _ in range(4)]

    assert told[:3] == [None] * 3
    assert "60 s" in (told[3] or "")
    assert told[4] == ""
    assert after[:3] == [None] * 3
    assert after[3]


async def test_the_limit_holds_in_any_minute_not_in_each_minute_of_the_clock() -> None:
    gauge = Gauge()
    answered = []
    for second in (0, 50, 55, 61, 62):
        gauge.now = second
        answered.append(await gauge.says() is None)

    assert answered == [True, True, True, True, False]


async def test_one_who_is_too_fast_costs_nobody_else_anything_but_their_chat() -> None:
    gauge = Gauge()
    for _ in range(4):
        await gauge.says("ann", "anns")

    assert await gauge.says("bob", "bobs") is None


async def test_a_chat_and_an_account_have_limits_of_their_own_whoever_speaks() -> None:
    gauge = Gauge()
    in_chat = [await gauge.says(f"p{number}") for number in range(7)]
    elsewhere = [await gauge.says(f"q{number}", f"c{number}") for number in range(5)]

    assert [told is None for told in in_chat] == [True] * 5 + [False] * 2
    assert in_chat[5]
    assert in_chat[6] == ""
    assert [told is None for told in elsewhere] == [True] * 3 + [False] * 2


async def test_who_floods_is_met_with_silence_for_minutes_and_that_is_written_down_once() -> None:
    gauge = Gauge()
    told = [await gauge.says() for _ in range(30)]
    gauge.now = 100
    still = await gauge.says()
    gauge.now = 301
    later = await gauge.says()

    assert [one for one in told if one] == told[3:4]
    assert (still, later) == ("", None)
    assert [event.context for event in gauge.audit.events] == [(("why", "person"),), (("why", "flood"),)]


async def test_admins_and_the_page_and_what_the_bot_begins_itself_are_not_limited() -> None:
    gauge = Gauge()
    told = [await gauge.says(sender=BOSS) for _ in range(20)]
    told += [await gauge.says(trigger=Trigger.SCHEDULE) for _ in range(20)]

    told += [await gauge.says(channel="web") for _ in range(20)]

    assert told == [None] * 60


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": "x" * 101}, "101 characters"),
        ({"attachments": (Attachment(kind="file"),) * 3}, "3 files"),
        ({"attachments": (Attachment(kind="file", size=3_000_000),) * 2}, "6 MB"),
    ],
)
async def test_a_message_that_is_too_big_is_refused_with_the_figure_and_the_limit(
    changes: dict[str, object], said: str
) -> None:
    gauge = Gauge(RatesSettings(max_characters=100, max_files=2, max_files_mb=5))

    assert said in (await gauge.of(replace(message("hi"), **changes)) or "")


async def test_a_message_within_the_limits_passes() -> None:
    gauge = Gauge(RatesSettings(max_characters=100, max_files=2, max_files_mb=5))
    files = (Attachment(kind="file", size=2_500_000), Attachment(kind="file"))

    assert await gauge.of(replace(message("x" * 100), attachments=files)) is None


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from("abcd"), st.floats(min_value=0, max_value=30)), max_size=60),
    limit=st.integers(min_value=1, max_value=5),
)
def test_in_no_window_is_more_done_than_the_limit(steps: list[tuple[str, float]], limit: int) -> None:
    now = 0.0
    windows = Windows(lambda: now, most=3)
    taken: dict[str, list[float]] = {}
    for key, pause in steps:
        now += pause
        before = [at for at in taken.get(key, []) if at > now - 60]
        if windows.acquire_entry(key, limit, 60):
            taken.setdefault(key, []).append(now)
            forgotten = len(set(taken)) > 3
            assert forgotten or len(before) < limit
        assert len(windows._times) <= 3


def test_what_was_done_lately_is_forgotten_in_time_and_never_grows_without_end() -> None:
    now = 0.0
    lately = Lately(10, clock=lambda: now, most=100)
    first = [lately.is_new("a"), lately.is_new("a")]
    now = 10.0
    again = lately.is_new("a")
    for number in range(1_000):
        lately.is_new(number)

    assert (first, again, len(lately)) == ([True, False], True, 100)
