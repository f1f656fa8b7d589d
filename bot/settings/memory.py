"""Section: what is remembered for long, of whom, and how it is found again."""

from typing import Literal

from pydantic import Field, SecretStr

from bot.settings.base import Section


class MemorySettings(Section):
    """Long-term memory: facts about people and groups that outlive a conversation."""

    backend: Literal["own", "mem0", "off"] = Field(
        default="own",
        description="own: on the bot's store; mem0: searched by mem0, of the extra `memory`; off.",
    )
    auto_learn: bool = Field(
        default=False, description="Learn from what people say; costs one more model call for each turn."
    )
    learn_model: str | None = Field(
        default=None, min_length=1, description="Model that finds the facts; default: the session's own."
    )
    personal_in_groups: bool = Field(
        default=False, description="Use what is known of a person where they speak in a group, too."
    )
    top_k: int = Field(default=5, ge=1, le=50, description="The most memories in a prompt.")
    threshold: float = Field(
        default=0.3, ge=0, le=1, description="How close a memory has to be to the message, from 0 to 1."
    )
    max_tokens: int = Field(default=400, ge=20, le=8_000, description="The most tokens of memories there.")
    max_facts: int = Field(default=10_000, ge=10, le=100_000, description="Memories of one person or group.")
    embeddings: Literal["auto", "off"] = Field(
        default="auto",
        description="Search by meaning, with the server below or the extra `memory`; off: by words alone.",
    )
    embeddings_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="A server with OpenAI's embeddings endpoint: http://127.0.0.1:8080/v1",
    )
    embeddings_model: str | None = Field(default=None, min_length=1, description="Its name of the model.")
    embeddings_api_key: SecretStr | None = Field(default=None, description="Its key, where it needs one.")
    history_vectors: bool = Field(
        default=True,
        description="Find what was said by its meaning, too, where there are embeddings; false: by words.",
    )
    cache_mb: int = Field(
        default=64, ge=1, le=4_096, description="MB of vectors that are kept at hand for searching."
    )
    retention_days: int = Field(
        default=0, ge=0, le=36_500, description="Days that messages are kept; 0: for ever."
    )
