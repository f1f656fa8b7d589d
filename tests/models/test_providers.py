"""From the settings to a client, and what is said while something is missing."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.models.demo import demo_model_path
from bot.models.providers import DEFAULT_MODEL, ModelSetup, find_fault, open_client
from bot.settings import LocalSettings, OpenAISettings, Settings


def setup_of(home: Path, **rest: object) -> ModelSetup:
    return ModelSetup.of(Settings(home=home, **rest))  # type: ignore[arg-type]  # checked by pydantic


def test_nothing_set_means_the_local_model(tmp_path: Path) -> None:
    setup = setup_of(tmp_path)

    assert setup.provider == "local"
    assert setup.model_path == demo_model_path(tmp_path)
    assert setup.model_name == "SmolLM2-135M-Instruct.Q4_1"
    assert setup.profile.compact
    assert setup.profile.window == 4096
    assert "OPENAI_API_KEY" in (find_fault(setup) or "")
    assert "python -m bot model get" in (find_fault(setup) or "")


async def test_a_key_means_the_default_model(tmp_path: Path) -> None:
    setup = setup_of(tmp_path, openai=OpenAISettings(api_key=SecretStr("k"), context_window=9000))
    client = open_client(setup)
    await client.aclose()

    assert (setup.provider, setup.model_name) == ("openai", DEFAULT_MODEL)
    assert find_fault(setup) is None
    assert client.profile.window == 9000
    assert not client.profile.compact


@pytest.mark.parametrize(("pictures", "sees"), [("auto", True), ("on", True), ("off", False)])
def test_the_settings_say_whether_a_model_is_shown_pictures(
    tmp_path: Path, pictures: str, sees: bool
) -> None:
    setup = setup_of(tmp_path, openai={"base_url": "http://127.0.0.1:1/v1", "pictures": pictures})

    assert setup.profile.sees is sees


def test_the_local_model_sees_nothing(tmp_path: Path) -> None:
    assert not setup_of(tmp_path, openai={"pictures": "on"}).profile.sees


def test_the_model_of_the_settings_is_used(tmp_path: Path) -> None:
    setup = setup_of(tmp_path, openai=OpenAISettings(base_url="http://127.0.0.1:1/v1"), model="llama")

    assert setup.model_name == "llama"


def test_a_file_of_ones_own_takes_the_place_of_the_demo_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF")
    setup = setup_of(tmp_path, local=LocalSettings(gguf=path))

    assert setup.model_name == "mine"
    assert find_fault(setup) is None
    path.unlink()
    assert find_fault(setup) is not None


@pytest.mark.parametrize("provider", ["openai", "local"])
def test_what_is_missing_never_speaks_of_the_data_directory(tmp_path: Path, provider: str) -> None:
    fault = find_fault(setup_of(tmp_path, provider=provider))

    assert fault is not None
    assert str(tmp_path) not in fault
