"""Sessions that begin by themselves in a whole bot: as the settings say, and not where they say nothing."""

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.app import App
from bot.messages import End
from bot.settings.sessions import SessionsSettings
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for
from tests.test_agent import ANN, message_of

AT_ONCE = 1e-9  # hours: every pause is long enough


async def answers(app: App, *texts: str) -> list[End]:
    """Say things one after another, each once the one before is answered; gives all that was said to them."""
    ends: list[End] = []
    for text in texts:
        message = message_of(text, ANN)
        async with asyncio.timeout(20):
            with app.bus.outbound(channel="terminal") as published:
                await app.bus.publish(message)
                async for part in published:
                    ends += [part] if isinstance(part, End) else []
                    if isinstance(part, End) and part.run == message.run:
                        break
    return ends


async def test_a_bot_begins_new_sessions_after_the_silence_that_is_set(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, sessions={"idle_reset_hours": AT_ONCE})
    async with App(settings, has_web=False, backend=PlayedBackend()) as app:
        ends = await answers(app, "one", "two", "/sessions")

    assert "a new session begins here" in ends[1].text
    assert "`2` two" in ends[-1].text
    assert "`1` one" in ends[-1].text


async def test_a_bot_of_which_nobody_wants_it_stays_in_the_session(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), has_web=False, backend=PlayedBackend()) as app:
        ends = await answers(app, "one", "two", "/sessions")

    assert len(ends) == 3
    assert "- `1` one: " in ends[-1].text
    assert "- `2`" not in ends[-1].text


@pytest.mark.parametrize(
    "given", [{"idle_reset_hours": 0}, {"daily_reset_at": "4"}, {"daily_reset_at": "24:00"}]
)
def test_what_can_not_be_stops_the_start(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SessionsSettings.model_validate(given)
