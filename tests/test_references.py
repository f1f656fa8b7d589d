"""Settings may name secrets instead of holding them."""

from pathlib import Path

import pytest

from bot.errors import ConfigError
from bot.settings import Settings
from bot.settings.references import secrets_named_in, with_secrets
from tests.bots import settings_for

NAMED: dict[str, object] = {
    "telegram": {"token": "secret:telegram", "accounts": {"sales": {"token": "secret:sales.bot"}}},
    "apis": {
        "github": {
            "base_url": "https://api.github.com",
            "headers": {"Authorization": "Bearer secret:git-hub"},
        }
    },
    "mcp": {"files": {"command": "x", "env": {"KEY": "secret:files", "PLAIN": "no secret:reference here"}}},
    "web": {"port": 0, "token": "plain"},
}
VALUES = {"telegram": "1:a", "sales.bot": "2:b", "git-hub": "ghp", "files": "f"}


def made(home: Path, **changes: object) -> Settings:
    return settings_for(home, **(NAMED | changes))


def test_every_secret_that_is_named_is_found_with_its_setting(home: Path) -> None:
    assert secrets_named_in(made(home)) == {
        "telegram": "BOT_TELEGRAM__TOKEN",
        "sales.bot": "BOT_TELEGRAM__ACCOUNTS__SALES__TOKEN",
        "git-hub": "BOT_APIS__GITHUB__HEADERS__AUTHORIZATION",
        "files": "BOT_MCP__FILES__ENV__KEY",
    }


def test_names_give_way_to_their_secrets_and_nothing_else_changes(home: Path) -> None:
    written = made(home)

    filled = with_secrets(written, VALUES)

    assert filled.telegram.token is not None
    assert filled.telegram.token.get_secret_value() == "1:a"
    assert filled.telegram.accounts["sales"].token.get_secret_value() == "2:b"
    assert filled.apis["github"].headers["Authorization"].get_secret_value() == "Bearer ghp"
    assert {name: one.get_secret_value() for name, one in filled.mcp["files"].env.items()} == {
        "KEY": "f",
        "PLAIN": "no secret:reference here",
    }
    assert filled.web is written.web
    assert filled.home == written.home
    assert "1:a" not in repr(filled)


def test_settings_that_name_no_secret_are_left_as_they_are(home: Path) -> None:
    settings = settings_for(home, telegram={"token": "1:a"})

    assert with_secrets(settings, {}) is settings


def test_all_secrets_that_are_not_there_are_told_at_once(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        with_secrets(made(home), {"telegram": "1:a"})

    assert "python -m bot secret set sales.bot" in str(caught.value)
    assert "BOT_MCP__FILES__ENV__KEY names the secret 'files'" in str(caught.value)
    assert "'telegram'" not in str(caught.value)


def test_a_stored_secret_passes_the_same_checks_and_is_not_shown_where_it_fails(home: Path) -> None:
    with pytest.raises(ConfigError, match="BOT_APIS__GITHUB with its secrets") as caught:
        with_secrets(made(home), VALUES | {"git-hub": "two\nlines"})

    assert "lines" not in str(caught.value)
