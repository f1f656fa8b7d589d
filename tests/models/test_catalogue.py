"""The models to choose from: those of the settings, and those of the provider if it is quick."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.models.catalogue import ModelCatalogue
from bot.models.providers import ModelSetup
from bot.settings import LocalSettings, OpenAISettings
from tests.simulators.model import ModelServer


def setup(url: str, home: Path, *, is_local: bool = False) -> ModelSetup:
    return ModelSetup(
        provider="local" if is_local else "openai",
        model="b",
        fallback_models=("a", "b"),
        data_dir=home,
        openai=OpenAISettings(base_url=url, api_key=SecretStr("k")),
        local=LocalSettings(),
    )


async def test_the_models_of_the_settings_come_before_those_of_the_provider(home: Path) -> None:
    async with ModelServer(key="k", models=("c", "a")) as server:
        catalogue = ModelCatalogue(setup(server.url, home), list_seconds=30)
        first = await catalogue.names()
    again = await catalogue.names()  # the server is gone: it was asked once

    assert catalogue.configured == ("b", "a")
    assert first == again == ("b", "a", "c")


@pytest.mark.parametrize("seconds", [30, 0.0001])
async def test_a_provider_that_does_not_tell_leaves_those_of_the_settings(home: Path, seconds: float) -> None:
    async with ModelServer(key="another") as server:
        catalogue = ModelCatalogue(setup(server.url, home), list_seconds=seconds)

        assert await catalogue.names() == ("b", "a")


async def test_the_local_model_is_the_only_one_there(home: Path) -> None:
    catalogue = ModelCatalogue(setup("http://127.0.0.1:9/v1", home, is_local=True))

    assert await catalogue.names() == catalogue.configured
    assert len(catalogue.configured) == 1
