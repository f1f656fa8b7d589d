"""Section: the check of messages, of commands and of what goes out."""

from pydantic import Field, SecretStr

from bot.settings.base import Section

MOST_SECONDS = 8.0  # a check as a whole gets 10


class GuardianSettings(Section):
    """Local rules always look; a model looks beside them where one is named."""

    enabled: bool = Field(default=True, description="Check messages, commands and answers.")
    silent: bool = Field(default=False, description="Tell nobody that a message of theirs was blocked.")
    model: str | None = Field(
        default=None, description="Model that judges what looks suspicious; without it the rules decide."
    )
    base_url: str | None = Field(
        default=None, pattern=r"^https?://", description="Default: the one of BOT_OPENAI__BASE_URL."
    )
    api_key: SecretStr | None = Field(default=None, description="Default: the one of BOT_OPENAI__API_KEY.")
    sample: float = Field(
        default=0.0, ge=0, le=1, description="Share of what looks harmless that the model judges, too."
    )
    timeout: float = Field(
        default=2.0, gt=0, le=MOST_SECONDS, description="Seconds for the model; then the rules decide."
    )
