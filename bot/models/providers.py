"""The providers of models: which there are, what each still lacks, and a client for the one that is set."""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

import msgspec

from bot.models.base import ModelClient, ModelProfile
from bot.models.demo import demo_model_path
from bot.models.retry import Resilient
from bot.settings import LocalSettings, OpenAISettings, Settings

Provider: TypeAlias = Literal["openai", "local"]

CLIENTS: dict[Provider, str] = {
    "openai": "bot.models.openai:open_openai",
    "local": "bot.models.local:open_local",
}
DEFAULT_MODEL = "gpt-5-mini"
HOW_TO_BEGIN = (
    "No model is set up. Either set OPENAI_API_KEY (for a server of your own BOT_OPENAI__BASE_URL and "
    "BOT_MODEL) and start the bot again, or use a small model on this machine: {way}."
)
NO_ENGINE = "pip install 'switchboard-bot[local]', then `python -m bot model get`"
NO_FILE = "run `python -m bot model get`, and write again when it is done"
NO_KEY = (
    "No model is set up: BOT_PROVIDER is openai, but there is no key. Set OPENAI_API_KEY, or "
    "BOT_OPENAI__BASE_URL for a server that needs none, and start the bot again."
)


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say of models.

    Attributes:
        model: The provider's name of the model, where one is set.
        fallback_models: Names at the same provider.
        data_dir: Where the demo model is kept.
    """

    provider: Provider
    model: str | None
    fallback_models: tuple[str, ...]
    data_dir: Path
    openai: OpenAISettings
    local: LocalSettings

    @classmethod
    def of(cls, settings: Settings) -> "ModelSetup":
        """Take from the settings what concerns models."""
        return cls(
            provider=settings.effective_provider,
            model=settings.model,
            fallback_models=settings.fallback_models,
            data_dir=settings.data_dir,
            openai=settings.openai,
            local=settings.local,
        )

    @property
    def model_name(self) -> str:
        """The model that is asked when a session has chosen none."""
        match self.provider:
            case "openai":
                return self.model or DEFAULT_MODEL
            case "local":
                return self.model_path.stem
            case _:
                assert_never(self.provider)

    @property
    def model_path(self) -> Path:
        """The file of the local model."""
        gguf = self.local.gguf
        return gguf.expanduser() if gguf is not None else demo_model_path(self.data_dir)

    @property
    def profile(self) -> ModelProfile:
        """The limits of the model."""
        section = self.openai if self.provider == "openai" else self.local
        return ModelProfile(
            window=section.context_window,
            max_output=section.max_output,
            compact=self.provider == "local",
            sees=self.provider == "openai" and self.openai.pictures != "off",
        )


def find_fault(setup: ModelSetup) -> str | None:
    """What is missing before a model can answer, and the way out; cheap enough to ask at each turn."""
    match setup.provider:
        case "openai":
            return None if setup.openai.api_key or setup.openai.base_url else NO_KEY
        case "local":
            if not setup.model_path.is_file():
                return HOW_TO_BEGIN.format(way=NO_FILE if _has_engine() else NO_ENGINE)
            return None if _has_engine() else HOW_TO_BEGIN.format(way=NO_ENGINE)
        case _:
            assert_never(setup.provider)


def open_client(setup: ModelSetup) -> Resilient:
    """Make the client of the provider that is set; loads its libraries, so call it in a thread."""
    module, _, name = CLIENTS[setup.provider].partition(":")
    factory: Callable[[ModelSetup], ModelClient] = getattr(importlib.import_module(module), name)
    fallbacks = setup.fallback_models if setup.provider == "openai" else ()
    return Resilient(factory(setup), fallback_models=fallbacks, max_retries=setup.openai.max_retries)


def _has_engine() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None
