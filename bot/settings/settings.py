"""The settings as a whole: one class, read once, frozen."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from dotenv import dotenv_values
from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from bot.settings.access import AccessSettings
from bot.settings.approvals import ApprovalSettings
from bot.settings.audit import AuditSettings
from bot.settings.base import PREFIX, AccountName, Names, Section
from bot.settings.channels import (
    DiscordSettings,
    FeishuSettings,
    SlackAccount,
    SlackSettings,
    TelegramSettings,
    WebSettings,
)
from bot.settings.compaction import CompactionSettings
from bot.settings.guardian import GuardianSettings
from bot.settings.injection import InjectionSettings
from bot.settings.mcp import McpName, McpServerSettings
from bot.settings.memory import MemorySettings
from bot.settings.models import LocalSettings, OpenAISettings, TranscriptionSettings
from bot.settings.network import ApiSettings, NetworkSettings, SearchSettings
from bot.settings.notices import NoticeSettings
from bot.settings.people import PeopleSettings
from bot.settings.plugins import PluginsSettings
from bot.settings.queue import QueueSettings
from bot.settings.redaction import RedactionSettings
from bot.settings.sandbox import SandboxSettings
from bot.settings.scheduler import HeartbeatSettings, TimeZone
from bot.settings.sessions import SessionsSettings
from bot.settings.spending import BudgetsSettings, Prices, unpriced_budgets
from bot.settings.taint import TaintSettings
from bot.settings.tools import ToolsSettings
from bot.settings.tracing import TracingSettings

PLAIN_NAMES = {"OPENAI_API_KEY": "api_key", "OPENAI_BASE_URL": "base_url"}


class StoreSettings(Section):
    """How messages are kept."""

    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL", description="FULL survives a power cut, NORMAL a crash of the process."
    )


class LogSettings(Section):
    """What is logged, to standard error."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="The least to log."
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="auto: console on a terminal, else json."
    )


class Settings(BaseSettings):
    """All settings, from the environment, `.env` and `bot.toml`, in that order of precedence."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_file=".env",
        toml_file="bot.toml",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
        env_ignore_empty=True,
        allow_inf_nan=False,
    )

    home: Path = Field(default=Path("~/.switchboard"), description="Where data, logs and models are kept.")
    secret_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Key of the secrets that are kept in the database; default: one in BOT_HOME/secret.key.",
    )
    name: str = Field(
        default="Switchboard", min_length=1, max_length=64, description="What the bot is called."
    )
    backend: str = Field(default="native", description="What answers: native, openai_agents.")
    provider: Literal["openai", "local"] | None = Field(
        default=None, description="Default: openai where a key or a base URL is set, else local."
    )
    model: str | None = Field(default=None, description="The provider's name of the model.")
    fallback_models: Names = Field(
        default=(), description="Tried in order when the model fails for good: a,b"
    )
    admins: Names = Field(default=(), description="Who may steer the bot: telegram:42,discord:7")
    max_concurrent_turns: int = Field(default=64, ge=1, le=100_000, description="Turns that run at once.")
    max_waiting: int = Field(
        default=200, ge=1, le=10_000, description="Messages that may wait in one session."
    )
    max_crashes: int = Field(default=3, ge=1, description="Crashes by one message until it is put aside.")
    run_timeout: float = Field(default=600, gt=0, description="Seconds for one turn.")
    shutdown_grace: float = Field(default=20, ge=0, description="Seconds that running turns get at shutdown.")
    context_top_k: int = Field(
        default=200,
        ge=1,
        le=1000,
        description="Messages of history in the prompt, until they are summarised.",
    )
    context_tokens: int = Field(
        default=8_000, ge=64, description="Tokens of history in the prompt, until they are summarised."
    )
    public_url: str | None = Field(
        default=None,
        pattern=r"^https://|^http://(127\.0\.0\.1|localhost)",
        description="Where platforms reach the web server, for webhook modes: https://bot.example.org",
    )
    timezone: TimeZone = Field(default="UTC", description="Where people are, for times: Europe/Berlin.")
    prices: Prices = Field(
        default={},
        description='Prices of a million tokens: {"gpt-4o*": {"input": 2.5, "cached": 1.25, "output": 10}}',
    )
    budgets: BudgetsSettings = BudgetsSettings()
    queue: QueueSettings = QueueSettings()
    sessions: SessionsSettings = SessionsSettings()
    access: AccessSettings = AccessSettings()
    tools: ToolsSettings = ToolsSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    taint: TaintSettings = TaintSettings()
    sandbox: SandboxSettings = SandboxSettings()
    audit: AuditSettings = AuditSettings()
    redaction: RedactionSettings = RedactionSettings()
    guardian: GuardianSettings = GuardianSettings()
    injection: InjectionSettings = InjectionSettings()
    network: NetworkSettings = NetworkSettings()
    search: SearchSettings = SearchSettings()
    apis: dict[AccountName, ApiSettings] = Field(default={}, description="APIs that the agent may use.")
    mcp: dict[McpName, McpServerSettings] = Field(default={}, description="MCP servers, by name.")
    compaction: CompactionSettings = CompactionSettings()
    memory: MemorySettings = MemorySettings()
    people: PeopleSettings = PeopleSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    notices: NoticeSettings = NoticeSettings()
    plugins: PluginsSettings = PluginsSettings()
    web: WebSettings = WebSettings()
    telegram: TelegramSettings = TelegramSettings()
    discord: DiscordSettings = DiscordSettings()
    slack: SlackSettings = SlackSettings()
    feishu: FeishuSettings = FeishuSettings()
    transcription: TranscriptionSettings = TranscriptionSettings()
    openai: OpenAISettings = OpenAISettings()
    local: LocalSettings = LocalSettings()
    store: StoreSettings = StoreSettings()
    log: LogSettings = LogSettings()
    tracing: TracingSettings = TracingSettings()

    @field_validator("admins")
    @classmethod
    def _name_people(cls, admins: tuple[str, ...]) -> tuple[str, ...]:
        for admin in admins:
            if ":" not in admin.strip(":"):
                raise ValueError(f"{admin!r} is not of the form channel:id, like telegram:42")
        return admins

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if faults := [
            *self._unreachable(),
            *self._ambiguous(),
            *self._unheard(),
            *self._unremembered(),
            *self._unjudged(),
            *unpriced_budgets(self.prices, self.budgets),
        ]:
            raise ValueError("\n".join(faults))
        return self

    def _unreachable(self) -> Iterator[str]:
        """Platforms that are to come to us, and don't know where or find nobody."""
        slack: tuple[SlackSettings | SlackAccount, ...] = (self.slack, *self.slack.accounts.values())
        for name, needs in (
            ("BOT_TELEGRAM__MODE=webhook", self.telegram.mode == "webhook"),
            ("BOT_FEISHU__MODE=webhook", self.feishu.mode == "webhook"),
            ("Slack without BOT_SLACK__APP_TOKEN", any(one.bot_token and not one.app_token for one in slack)),
        ):
            if needs and self.public_url is None:
                yield f"{name} needs BOT_PUBLIC_URL"
            if needs and not self.web.enabled:
                yield f"{name} needs the web server: BOT_WEB__ENABLED=true"

    def _ambiguous(self) -> Iterator[str]:
        """Accounts under the name of the one that has none."""
        for name, is_on, accounts in (
            ("TELEGRAM", self.telegram.token, self.telegram.accounts),
            ("DISCORD", self.discord.token, self.discord.accounts),
            ("SLACK", self.slack.bot_token, self.slack.accounts),
            ("FEISHU", self.feishu.app_id, self.feishu.accounts),
        ):
            if is_on and "default" in accounts:
                yield f"BOT_{name}__ACCOUNTS__DEFAULT: the account of BOT_{name} has this name already"

    def _unheard(self) -> Iterator[str]:
        """Voice notes for a server that nobody has named."""
        servers = (self.transcription.base_url, self.transcription.api_key)
        if self.transcription.model and not any((*servers, self.openai.base_url, self.openai.api_key)):
            yield "BOT_TRANSCRIPTION__MODEL needs BOT_TRANSCRIPTION__BASE_URL or a key"

    def _unjudged(self) -> Iterator[str]:
        """A judge on a server that nobody has named."""
        guardian = self.guardian
        servers = (guardian.base_url, guardian.api_key, self.openai.base_url, self.openai.api_key)
        if guardian.model and not any(servers):
            yield "BOT_GUARDIAN__MODEL needs BOT_GUARDIAN__BASE_URL or a key"

    def _unremembered(self) -> Iterator[str]:
        """A server for the meaning of memories, half named."""
        url, model = self.memory.embeddings_url, self.memory.embeddings_model
        if (url is None) != (model is None):
            yield "BOT_MEMORY__EMBEDDINGS_URL and BOT_MEMORY__EMBEDDINGS_MODEL need each other"

    @property
    def effective_provider(self) -> Literal["openai", "local"]:
        """The provider that is used."""
        if self.provider is not None:
            return self.provider
        return "openai" if self.openai.api_key or self.openai.base_url else "local"

    @property
    def data_dir(self) -> Path:
        """`home`, absolute."""
        return self.home.expanduser().absolute()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the sources in order; the plain OPENAI_ names rank below ours."""
        known = {key: value for key, value in dotenv_settings().items() if key in settings_cls.model_fields}
        dotenv = InitSettingsSource(settings_cls, known)  # other programs' names may stand in .env too
        plain = InitSettingsSource(settings_cls, _plain_openai())
        toml = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, dotenv, toml, plain


def _plain_openai() -> dict[str, Any]:  # `Any`: what InitSettingsSource takes
    values: Mapping[str, str | None] = {**dotenv_values(".env"), **os.environ}
    found = {field: values[name] for name, field in PLAIN_NAMES.items() if values.get(name)}
    return {"openai": found} if found else {}
