"""Settings that are changed while the bot runs, and the list of all that are in force."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from bot.adjusting import Adjusting, setting_knob
from bot.errors import ConfigError
from bot.settings import load_settings
from bot.settings.overview import HIDDEN, check_setting, choices_of, settings_lines
from memory.store import Store
from tests.commands.desk import Notes


class Running:
    """A bot that notes what it is made to be."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str | None]] = []

    async def rename(self, name: str | None) -> str:
        self.done.append(("name", name))
        return name or "Switchboard"

    async def set_presence(self, status: str, activity: str | None) -> Sequence[str]:
        self.done.append((status, activity))
        return []

    def set_log_level(self, level: str | None) -> str:
        self.done.append(("level", level))
        return level or "INFO"


@pytest.fixture
def bot() -> Running:
    return Running()


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def adjusting(store: Store, bot: Running, notes: Notes) -> Adjusting:
    return Adjusting(load_settings(), bot, book=store.changed_settings, audit=notes)


async def test_a_change_is_in_force_at_once_kept_and_audited(
    adjusting: Adjusting, bot: Running, notes: Notes, store: Store
) -> None:
    await adjusting.change("log.level", "DEBUG", by="web:Ada")

    (level,) = [one for one in await adjusting.all() if one.name == "log.level"]
    assert bot.done == [("level", "DEBUG")]
    assert (level.value, level.configured, level.variable) == ("DEBUG", "INFO", "BOT_LOG__LEVEL")
    assert level.changed is not None
    assert level.changed.by == "web:Ada"
    assert await store.changed_settings.all() == {"log.level": "DEBUG"}
    assert [(event.actor, event.action, event.target) for event in notes.events] == [
        ("web:Ada", "setting change", "log.level")
    ]


async def test_of_two_changes_at_once_the_one_in_force_is_the_one_that_is_kept(
    store: Store, bot: Running, notes: Notes
) -> None:
    in_force: list[str | None] = []

    async def apply(value: str | None) -> None:
        in_force.append(value)
        if value == "DEBUG":  # takes longer than what comes after it
            for _ in range(10):
                await asyncio.sleep(0.01)

    knob = setting_knob("log.level", apply)
    adjusting = Adjusting(
        load_settings(), bot, book=store.changed_settings, audit=notes, more={"log.level": knob}
    )

    await asyncio.gather(*(adjusting.change("log.level", one, by="web:Ada") for one in ("DEBUG", "ERROR")))

    assert await store.changed_settings.all() == {"log.level": in_force[-1]}


async def test_undo_goes_back_to_what_is_configured(adjusting: Adjusting, bot: Running, store: Store) -> None:
    await adjusting.change("name", "Rosie", by="web:Ada")
    await adjusting.undo("name", by="web:Ada")

    assert bot.done == [("name", "Rosie"), ("name", None)]
    assert await store.changed_settings.all() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("log.level", "LOUD"), ("name", "[]"), ("presence", "asleep"), ("admins", "telegram:1"), ("", "x")],
)
async def test_what_is_no_value_is_refused_and_changes_nothing(
    adjusting: Adjusting, bot: Running, notes: Notes, store: Store, name: str, value: str
) -> None:
    with pytest.raises(ConfigError):
        await adjusting.change(name, value, by="web:Ada")

    assert (bot.done, notes.events) == ([], [])
    assert await store.changed_settings.all() == {}


async def test_a_name_and_a_presence_are_kept_as_the_commands_keep_them(
    adjusting: Adjusting, bot: Running, store: Store
) -> None:
    await adjusting.change("name", "  Rosie   (the bot) ", by="a")
    await adjusting.change("presence", "idle  out for   lunch", by="a")

    assert bot.done == [("name", "Rosie the bot"), ("idle", "out for lunch")]
    assert await store.changed_settings.all() == {"name": "Rosie the bot", "presence": "idle out for lunch"}


async def test_what_was_changed_is_in_force_again_after_a_restart(
    adjusting: Adjusting, bot: Running, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await adjusting.restore(
            {"name": "Rosie", "presence": "idle", "log.level": "LOUD", "of a later version": "x"}
        )

    assert bot.done == [("name", "Rosie")]
    assert [record.getMessage() for record in caplog.records] == ["changed setting not used"]
    assert notes.events == []


async def test_a_knob_for_any_setting_checks_as_the_settings_do(store: Store, notes: Notes) -> None:
    taken: list[str | None] = []

    async def apply(value: str | None) -> None:
        taken.append(value)

    more = {"web.enabled": setting_knob("web.enabled", apply)}
    adjusting = Adjusting(load_settings(), Running(), book=store.changed_settings, audit=notes, more=more)
    await adjusting.change("web.enabled", "false", by="a")
    with pytest.raises(ConfigError, match="BOT_WEB__ENABLED"):
        await adjusting.change("web.enabled", "perhaps", by="a")

    assert taken == ["false"]
    assert choices_of("web.enabled") == ("true", "false")
    assert check_setting("web.port", "8080") == 8080


def test_every_setting_is_listed_with_where_it_comes_from_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOT_NAME", "Rosie")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-top-secret")
    monkeypatch.setenv("BOT_PUBLIC_URL", "https://ann:pass@bot.example.org")
    settings = load_settings(timezone="Europe/Berlin")

    lines = {
        one.variable: one
        for one in settings_lines(settings, redact=lambda text: text.replace("ann:pass", "…"))
    }

    assert lines["BOT_NAME"][1:3] == ("Rosie", "environment")
    assert lines["BOT_OPENAI__API_KEY"][1:3] == (HIDDEN, "environment")
    assert lines["BOT_PUBLIC_URL"].value == "https://…@bot.example.org"
    assert lines["BOT_TIMEZONE"][1:3] == ("Europe/Berlin", "file")
    assert lines["BOT_LOG__LEVEL"][1:3] == ("INFO", "default")
    assert "top-secret" not in repr(lines)
