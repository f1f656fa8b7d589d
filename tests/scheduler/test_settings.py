"""The settings of schedules and of the heartbeat."""

import pytest
from pydantic import ValidationError

from bot.settings import Settings
from bot.settings.scheduler import HeartbeatSettings


def test_the_heartbeat_is_off_and_times_are_utc_where_nothing_is_set() -> None:
    assert HeartbeatSettings().every is None
    assert Settings.model_fields["timezone"].default == "UTC"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("every", 59),
        ("hours", "8-22"),
        ("hours", "08:00-25:00"),
        ("timezone", "Mars/Base"),
        ("timezone", "../etc/passwd"),
        ("target", "telegram"),
        ("target", "telegram:42"),
        ("target", "telegram:default:"),
    ],
)
def test_what_can_not_be_stops_the_start(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        HeartbeatSettings.model_validate({name: value})


def test_what_can_be_is_taken() -> None:
    given = {
        "every": "1800",
        "hours": "22:00-06:00",
        "timezone": "Europe/Berlin",
        "target": "slack:work:C1:17.5",
    }
    settings = HeartbeatSettings.model_validate(given)

    assert settings.every == 1_800
    assert settings.target == "slack:work:C1:17.5"
