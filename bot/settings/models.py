"""Sections: the models that answer, and the one that hears."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator

from bot.settings.base import Section


def _leaves_room(max_output: int, info: ValidationInfo) -> int:
    """Refuse an answer that fills the window: nothing would be left for the question."""
    window = info.data.get("context_window")
    if window is not None and max_output >= window:
        raise ValueError(f"{max_output} leaves no room for a prompt in a context window of {window}")
    return max_output


MaxOutput: TypeAlias = Annotated[int, AfterValidator(_leaves_room)]


class OpenAISettings(Section):
    """Any server that speaks the chat completions API."""

    api_key: SecretStr | None = Field(
        default=None, description="Key of the provider; OPENAI_API_KEY works too."
    )
    base_url: str | None = Field(
        default=None,
        description="Root of the API, with /v1; OPENAI_BASE_URL works too.",
        pattern=r"^https?://",
    )
    context_window: int = Field(default=128_000, ge=512, description="Tokens of prompt and answer together.")
    max_output: MaxOutput = Field(
        default=8_192, ge=16, validate_default=True, description="The most tokens of one answer."
    )
    pictures: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Pictures for the model: auto until it refuses them, on (a refusal is an error), off.",
    )
    connect_timeout: float = Field(
        default=10, gt=0, description="Seconds until the server must have picked up."
    )
    first_token_timeout: float = Field(default=90, gt=0, description="Seconds until the first token.")
    silence_timeout: float = Field(default=60, gt=0, description="Seconds between two tokens.")
    call_timeout: float = Field(default=540, gt=0, description="Seconds for one whole call.")
    max_retries: int = Field(
        default=8, ge=0, le=20, description="How often a call that failed is tried again."
    )


class LocalSettings(Section):
    """The model that runs on this machine."""

    gguf: Path | None = Field(default=None, description="A model file of your own; default: the demo model.")
    context_window: int = Field(default=4_096, ge=512, description="Tokens of prompt and answer together.")
    max_output: MaxOutput = Field(
        default=512, ge=16, validate_default=True, description="The most tokens of one answer."
    )
    threads: int | None = Field(default=None, ge=1, description="Default: one less than the cores.")

    @field_validator("gguf")
    @classmethod
    def _is_there(cls, path: Path | None) -> Path | None:
        if path is not None and not path.expanduser().is_file():
            raise ValueError(f"{str(path)!r} is not a file")
        return path


class TranscriptionSettings(Section):
    """What turns voice notes into text: any server with the transcription endpoint of OpenAI."""

    model: str | None = Field(
        default=None, description="Name of the model; without it voice notes stay files."
    )
    base_url: str | None = Field(
        default=None, pattern=r"^https?://", description="Default: the one of BOT_OPENAI__BASE_URL."
    )
    api_key: SecretStr | None = Field(default=None, description="Default: the one of BOT_OPENAI__API_KEY.")
    timeout: float = Field(default=60, gt=0, description="Seconds for one voice note.")
