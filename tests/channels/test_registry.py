"""Which accounts the settings name, and how their code is found."""

from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ConfigError
from bot.settings import ChannelSettings, Settings, SlackSettings
from channels.registry import ADAPTERS, SDKS, accounts, check_installed, load_adapter


def named(**sections: object) -> dict[tuple[str, str], ChannelSettings]:
    """The accounts of some settings, by channel and name."""
    settings = Settings(public_url="https://bot.example.org", **sections)  # type: ignore[arg-type]  # pydantic
    return {(channel, name): section for channel, name, section in accounts(settings)}


def test_without_credentials_no_platform_is_on() -> None:
    assert named() == {}


def test_a_token_switches_a_platform_on() -> None:
    found = named(
        telegram={"token": "t"},
        discord={"token": "d"},
        slack={"bot_token": "b", "app_token": "a"},
        feishu={"app_id": "cli", "app_secret": "s"},
    )

    assert set(found) == {(channel, "default") for channel in ADAPTERS}


def test_more_accounts_share_what_is_not_a_credential() -> None:
    found = named(
        telegram={"token": "one", "streaming": "off", "accounts": {"two": {"token": "two"}}},
        discord={"accounts": {"only": {"token": "three"}}},
    )

    tokens = {key: section.model_dump()["token"].get_secret_value() for key, section in found.items()}
    assert tokens == {
        ("telegram", "default"): "one",
        ("telegram", "two"): "two",
        ("discord", "only"): "three",
    }
    assert found["telegram", "two"].streaming == "off"
    assert all(section.model_dump()["accounts"] == {} for section in list(found.values())[1:])


def test_no_account_speaks_with_the_key_of_another() -> None:
    found = named(
        slack={
            "bot_token": "b1",
            "app_token": "a1",
            "accounts": {"two": {"bot_token": "b2", "signing_secret": "s2"}},
        }
    )["slack", "two"]

    assert isinstance(found, SlackSettings)
    assert found.app_token is None
    assert found.signing_secret is not None


@given(st.sets(st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True).filter(lambda name: name != "default")))
def test_every_account_has_a_place_of_its_own(names: set[str]) -> None:
    found = named(telegram={"token": "t", "accounts": {name: {"token": name} for name in names}})

    assert set(found) == {("telegram", "default"), *(("telegram", name) for name in names)}


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_code_of_each_platform_that_is_installed_loads(name: str) -> None:
    module = ADAPTERS[name].partition(":")[0]
    if find_spec(SDKS[name]) is None or find_spec(module) is None:
        pytest.skip(f"{name} is not installed")

    assert callable(load_adapter(name))


def test_an_unknown_platform_is_told_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match="'icq'; known: telegram, discord, slack, feishu"):
        load_adapter("icq")


def test_a_missing_sdk_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SDKS, "telegram", "surely_not_installed")
    with pytest.raises(ConfigError, match=r"pip install 'switchboard-bot\[telegram\]'"):
        check_installed("telegram")
