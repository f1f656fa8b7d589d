"""Commands that stop a run, and who may say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.agent.control import Kill, is_admin, parse_kill
from bot.messages import Role, Sender, SessionKey
from tests.factories import inbound


@pytest.mark.parametrize(
    "text",
    [
        *("/kill", "!kill", "/stop", "!stop", "/KILL", " /kill ", "/kill@some_bot", "\n/stop\n"),
        *("/stop it please", "/kill all of it", "/kill 12:30"),
    ],
)
def test_a_person_stops_the_answer_being_written(text: str) -> None:
    assert parse_kill(text) == Kill()


@pytest.mark.parametrize("text", ["/kill all", "/stop ALL", "!kill  all ", "/kill@bot all"])
def test_a_person_drops_what_waits_too(text: str) -> None:
    assert parse_kill(text) == Kill(waiting=True)


@pytest.mark.parametrize("session", ["web:default:main", "telegram:default:-42:7"])
def test_another_session_is_named_by_its_key(session: str) -> None:
    assert parse_kill(f"/kill {session}") == Kill(session=SessionKey(session))


@pytest.mark.parametrize(
    "text",
    ["", " ", "kill", "stop", "please /kill", "/killer", "/stopwatch", "/ kill", "\\kill", "/help", "!"],
)
def test_anything_else_is_for_the_agent(text: str) -> None:
    assert parse_kill(text) is None


@given(text=st.text())
def test_only_a_command_sign_makes_a_command(text: str) -> None:
    kill = parse_kill(text)

    assert kill is None or text.lstrip()[0] in "/!"


@pytest.mark.parametrize(
    ("role", "is_one"),
    [(Role.OWNER, True), (Role.ADMIN, True), (Role.MEMBER, False), (Role.GUEST, False)],
)
def test_owners_and_admins_may_steer_what_is_not_theirs(role: Role, is_one: bool) -> None:
    message = replace(inbound(), sender=Sender(id="1", role=role))

    assert is_admin(message, ()) is is_one


def test_a_person_named_in_the_settings_is_an_admin_on_that_channel_only() -> None:
    message = replace(inbound(session="other:default:x"), sender=Sender(id="42"))

    assert is_admin(message, {"other:42"})
    assert not is_admin(message, {"web:42", "other:4", "42"})
