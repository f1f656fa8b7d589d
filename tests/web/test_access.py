from hypothesis import given
from hypothesis import strategies as st

from bot.web.access import MAX_AGE, MAX_CLIENTS, Access, Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_holds_for_its_time_and_not_longer() -> None:
    clock = Clock()
    access = Access("secret", clock=clock)
    session = access.make_session()

    clock.now += MAX_AGE
    was_good = access.is_session(session)
    clock.now += 1

    assert was_good
    assert not access.is_session(session)
    assert "secret" not in session


def test_a_session_ends_with_the_token_it_was_made_from() -> None:
    assert not Access("new").is_session(Access("old").make_session())


@given(text=st.text())
def test_nothing_else_is_a_session_or_the_token(text: str) -> None:
    access = Access("a token that nobody guesses")

    assert not access.is_session(text)
    assert not access.is_token(text)


def test_wrong_tokens_wait_longer_each_time_and_only_for_those_who_send_them() -> None:
    clock = Clock()
    throttle = Throttle(clock=clock)
    waits = []
    for _ in range(12):
        throttle.fail("mallory")
        waits.append(throttle.wait("mallory"))

    assert waits[:6] == [0, 0, 1, 2, 4, 8]
    assert waits[-1] == 60
    assert throttle.wait("alice") == 0
    clock.now += 60
    assert throttle.wait("mallory") == 0
    throttle.succeed("mallory")
    throttle.fail("mallory")
    assert throttle.wait("mallory") == 0


def test_the_brake_remembers_a_bounded_number_of_clients() -> None:
    throttle = Throttle()
    for number in range(MAX_CLIENTS + 10):
        for _ in range(5):
            throttle.fail(str(number))

    assert throttle.wait("0") == 0
    assert throttle.wait(str(MAX_CLIENTS)) > 0
