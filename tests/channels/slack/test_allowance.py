"""Growth gets what last words leave."""

from channels.slack.allowance import Allowance


def test_calls_come_back_evenly_and_are_saved_up_to_a_number() -> None:
    now = [0.0]
    allowance = Allowance(60, 2, clock=lambda: now[0])
    assert [allowance.take() for _ in range(3)] == [True, True, False]

    now[0] = 1.0
    assert [allowance.take() for _ in range(2)] == [True, False]

    now[0] = 100.0
    assert [allowance.take() for _ in range(3)] == [True, True, False]


def test_last_words_put_growth_off_for_a_minute_at_most() -> None:
    now = [0.0]
    allowance = Allowance(60, 2, clock=lambda: now[0])
    for _ in range(1_000):
        allowance.spend()

    now[0] = 59.0
    assert not allowance.take()
    now[0] = 61.5
    assert allowance.take()
