"""The token of the page: what is taken for it, and what becomes of those who guess."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.audit import AuditEvent
from bot.web.access import FORGET_SECONDS, FREE_TRIES, MAX_AGE, MAX_CLIENTS, NOTED_EVERY, Access, Throttle


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


def test_a_session_names_the_key_that_it_was_made_with_and_no_other() -> None:
    access = Access("secret")
    session = access.make_session("k1")
    issued, _, signature = session.split(".")

    assert access.key_of(session) == "k1"
    assert access.key_of(access.make_session()) == ""
    assert access.key_of(f"{issued}.k2.{signature}") is None
    assert access.key_of(f"{issued}.{signature}") is None


@given(text=st.text())
def test_nothing_else_is_a_session_or_the_token(text: str) -> None:
    access = Access("a token that nobody guesses")

    assert not access.is_session(text)
    assert not access.is_token(text)


async def test_wrong_tokens_wait_longer_each_time_and_only_for_those_who_send_them() -> None:
    clock = Clock()
    throttle = Throttle(clock=clock)
    waits = []
    for _ in range(12):
        await throttle.fail("mallory")
        waits.append(throttle.wait("mallory"))

    assert waits[:6] == [0, 0, 1, 2, 4, 8]
    assert waits[-1] == 60
    assert throttle.wait("alice") == 0
    clock.now += 60
    assert throttle.wait("mallory") == 0
    await throttle.succeed("mallory")
    await throttle.fail("mallory")
    assert throttle.wait("mallory") == 0


async def test_the_brake_remembers_a_bounded_number_of_clients() -> None:
    throttle = Throttle()
    for number in range(MAX_CLIENTS + 10):
        for _ in range(5):
            await throttle.fail(str(number))

    assert throttle.wait("0") == 0
    assert throttle.wait(str(MAX_CLIENTS)) > 0


async def test_typing_errors_of_long_ago_are_forgotten() -> None:
    clock = Clock()
    throttle = Throttle(clock=clock)
    for _ in range(FREE_TRIES - 1):
        await throttle.fail("alice")

    clock.now += FORGET_SECONDS + 1
    await throttle.fail("alice")

    assert throttle.wait("alice") == 0


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
async def test_a_guesser_cannot_move_about_in_its_own_network(first: str, second: str, is_one: bool) -> None:
    throttle = Throttle()
    for _ in range(FREE_TRIES + 1):
        await throttle.fail(first)

    assert (throttle.wait(second) > 0) is is_one


class Notes:
    """Keeps what is recorded."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def record(self, event: AuditEvent) -> None:
        self.events.append(event)


async def test_a_guesser_is_written_down_now_and_then_and_a_login_always() -> None:
    notes = Notes()
    throttle = Throttle(audit=notes)
    for _ in range(2 * NOTED_EVERY):
        await throttle.fail("192.0.2.1")
    await throttle.succeed("192.0.2.9")
    await throttle.succeed("192.0.2.9", is_login=True)

    *guesses, login = notes.events
    assert [dict(event.context)["count"] for event in guesses] == [FREE_TRIES, NOTED_EVERY, 2 * NOTED_EVERY]
    assert {event.severity for event in guesses} == {"warning"}
    assert (login.target, login.status) == ("192.0.2.9", "let in")


def test_what_proves_who_somebody_is_is_compared_in_constant_time() -> None:
    """`==` stops at the first difference, and so tells how far a guess was right."""
    root = Path(__file__).parent.parent.parent
    places = ("bot/web/access.py", "channels/telegram/hook.py", "channels/feishu/webhook.py")
    for place in places:
        tree = ast.parse((root / place).read_text("utf-8"))
        compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
        named = {
            ast.unparse(node) for node in compared if re.search("token|secret|sign|proof", ast.unparse(node))
        }

        assert "compare_digest" in ast.unparse(tree), place
        assert {one for one in named if " == " in one or " != " in one} == set(), place
