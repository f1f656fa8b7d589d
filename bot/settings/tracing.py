"""Section: traces of turns, for whoever collects them."""

from pydantic import Field, SecretStr

from bot.settings.base import Section


class TracingSettings(Section):
    """Traces of turns in the form of OpenTelemetry; they say how long what took, never what was said."""

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s?#@/]+[^\s#]*$",
        description="Where they go, as OTLP over HTTP: http://127.0.0.1:4318/v1/traces",
    )
    headers: dict[str, SecretStr] = Field(
        default={}, description='Sent along, like {"Authorization": "Bearer …"}.'
    )
    ratio: float = Field(default=1.0, gt=0, le=1, description="The share of turns that are traced.")
