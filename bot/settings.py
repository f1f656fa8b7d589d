"""The settings: one class, read once, frozen; `.env.example` and `docs/settings.md` follow from it."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from bot.errors import ConfigError

PREFIX = "BOT_"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
PLAIN_NAMES = {"OPENAI_API_KEY": "api_key", "OPENAI_BASE_URL": "base_url"}


def _split(value: object) -> object:
    """Take `a, b` for a list, as people write it into an environment variable."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


# Goes into sessions and paths, which have signs of their own.
AccountName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]


class Section(BaseModel):
    """A part of the settings; what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WebSettings(Section):
    """The web server and the chat page."""

    enabled: bool = Field(default=True, description="Serve the chat page.")
    host: str = Field(
        default="127.0.0.1", description="Address to listen on; others than loopback need a token."
    )
    port: int = Field(default=8765, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    token: SecretStr | None = Field(
        default=None, validate_default=True, description="Who opens the page must know this."
    )
    allowed_hosts: Names = Field(
        default=(), description="Host names the page is reached under, behind a proxy."
    )

    @field_validator("token")
    @classmethod
    def _is_guarded(cls, token: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        host = info.data.get("host", "127.0.0.1")
        if host not in LOOPBACK and not (token and token.get_secret_value()):
            raise ValueError(
                f"host {host!r} lets others in, but no token is set: "
                "set BOT_WEB__TOKEN, or leave BOT_WEB__HOST at 127.0.0.1"
            )
        return token


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


class ChannelSettings(Section):
    """What every platform has."""

    streaming: Literal["partial", "block", "off"] = Field(
        default="partial",
        description="How answers come: grown in place (partial), in finished blocks, or whole (off).",
    )
    block_min: int = Field(default=400, ge=1, description="block: the least characters of a block.")
    block_max: int = Field(default=1_500, ge=50, description="block: the most characters of a block.")
    block_idle: float = Field(
        default=1.0, ge=0, description="block: seconds without new text after which what is there is sent."
    )
    human_delay: bool = Field(default=False, description="block: pause 0.8 to 2.5 seconds between blocks.")
    reply_mode: Literal["off", "first", "all"] = Field(
        default="first", description="In groups: which messages of an answer quote the question."
    )
    ack_reaction: str | None = Field(
        default=None, description="Emoji put on a message while it is being answered, like \N{EYES}."
    )
    typing: bool = Field(default=True, description="Show that the bot is writing.")
    link_previews: bool = Field(default=False, description="Let the platform show previews of links.")
    allow_pings: bool = Field(
        default=False, description="Let the model's text notify everybody, roles and people."
    )
    allow_bots: bool = Field(default=False, description="Answer other bots, too.")
    require_mention: bool = Field(
        default=True, description="In groups: answer only when mentioned, replied to or called by name."
    )
    group_context: int = Field(
        default=50,
        ge=0,
        le=1_000,
        description="In groups: messages not meant for the bot that it gets to see.",
    )
    debounce: float = Field(
        default=0, ge=0, le=60, description="Seconds to wait for the rest of what somebody writes in bursts."
    )
    max_file_mb: int = Field(
        default=50, ge=1, le=2_000, description="The largest file taken from people, in MB."
    )

    @field_validator("block_max")
    @classmethod
    def _is_above_minimum(cls, block_max: int, info: ValidationInfo) -> int:
        if block_max < info.data.get("block_min", 0):
            raise ValueError(f"{block_max} is below block_min ({info.data['block_min']})")
        return block_max


class TelegramAccount(Section):
    """One more bot on Telegram."""

    token: SecretStr = Field(description="Token of the bot, from @BotFather.")


class TelegramSettings(ChannelSettings):
    """Telegram; on when it has a token."""

    token: SecretStr | None = Field(default=None, description="Token of the bot, from @BotFather.")
    base_url: str = Field(
        default="https://api.telegram.org",
        pattern=r"^https?://",
        description="Root of the Bot API, before /bot<token>.",
    )
    mode: Literal["polling", "webhook"] = Field(
        default="polling", description="How messages come; webhook needs BOT_PUBLIC_URL."
    )
    webhook_secret: SecretStr | None = Field(
        default=None, description="webhook: what Telegram must send along; default: derived from the token."
    )
    accounts: dict[AccountName, TelegramAccount] = Field(default={}, description="More bots, by name.")


class DiscordAccount(Section):
    """One more bot on Discord."""

    token: SecretStr = Field(description="Token of the bot, from the developer portal.")


class DiscordSettings(ChannelSettings):
    """Discord; on when it has a token."""

    token: SecretStr | None = Field(
        default=None,
        description="Token of the bot, from the developer portal; needs the intent Message Content.",
    )
    api_url: str = Field(
        default="https://discord.com/api/v10", pattern=r"^https?://", description="The API, with /v10."
    )
    gateway_url: str = Field(
        default="wss://gateway.discord.gg/", pattern=r"^wss?://", description="The gateway."
    )
    accounts: dict[AccountName, DiscordAccount] = Field(default={}, description="More bots, by name.")


class SlackAccount(Section):
    """One more Slack workspace or app."""

    bot_token: SecretStr = Field(description="xoxb-…, from OAuth & Permissions.")
    app_token: SecretStr | None = Field(default=None, description="xapp-…, for Socket Mode.")
    signing_secret: SecretStr | None = Field(default=None, description="For HTTP mode.")


class SlackSettings(ChannelSettings):
    """Slack; on when it has a bot token, and an app token or (HTTP mode) a signing secret."""

    bot_token: SecretStr | None = Field(default=None, description="xoxb-…, from OAuth & Permissions.")
    app_token: SecretStr | None = Field(default=None, description="xapp-…, for Socket Mode.")
    signing_secret: SecretStr | None = Field(
        default=None, description="For HTTP mode: used where there is no app token; needs BOT_PUBLIC_URL."
    )
    base_url: str = Field(
        default="https://slack.com/api/", pattern=r"^https?://.*/$", description="The Web API, with /api/."
    )
    trust_admins: bool = Field(
        default=False, description="Admins and owners of the workspace may steer the bot."
    )
    accounts: dict[AccountName, SlackAccount] = Field(default={}, description="More workspaces, by name.")

    @model_validator(mode="after")
    def _can_hear(self) -> Self:
        accounts: tuple[SlackSettings | SlackAccount, ...] = (self, *self.accounts.values())
        for account in accounts:
            if account.bot_token and not (account.app_token or account.signing_secret):
                raise ValueError(
                    "slack: a bot token needs BOT_SLACK__APP_TOKEN (Socket Mode) "
                    "or BOT_SLACK__SIGNING_SECRET (HTTP mode)"
                )
        return self


class FeishuAccount(Section):
    """One more Feishu or Lark app."""

    app_id: str = Field(description="cli_…")
    app_secret: SecretStr = Field(description="Secret of the app.")
    verification_token: SecretStr | None = Field(default=None, description="For webhook mode.")
    encrypt_key: SecretStr | None = Field(default=None, description="For webhook mode.")


class FeishuSettings(ChannelSettings):
    """Feishu and Lark; on when it has an app id and secret."""

    app_id: str | None = Field(default=None, description="cli_…, from the developer console.")
    app_secret: SecretStr | None = Field(default=None, description="Secret of the app.")
    domain: str = Field(
        default="https://open.feishu.cn",
        pattern=r"^https?://",
        description="https://open.larksuite.com for Lark.",
    )
    mode: Literal["socket", "webhook"] = Field(
        default="socket", description="How messages come; webhook needs BOT_PUBLIC_URL and the token below."
    )
    verification_token: SecretStr | None = Field(
        default=None, description="webhook: what the console shows under Events."
    )
    encrypt_key: SecretStr | None = Field(
        default=None, description="webhook: set it where the console has one."
    )
    accounts: dict[AccountName, FeishuAccount] = Field(default={}, description="More apps, by name.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if bool(self.app_id) != bool(self.app_secret):
            raise ValueError("feishu: BOT_FEISHU__APP_ID and BOT_FEISHU__APP_SECRET go together")
        if self.mode == "webhook":
            accounts: tuple[FeishuSettings | FeishuAccount, ...] = (self, *self.accounts.values())
            if any(account.app_id and not account.verification_token for account in accounts):
                raise ValueError(
                    "feishu: mode webhook needs BOT_FEISHU__VERIFICATION_TOKEN, and one of each account"
                )
        return self


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
    name: str = Field(
        default="Switchboard", min_length=1, max_length=64, description="What the bot is called."
    )
    backend: str = Field(default="native", description="What answers: native.")
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
    context_top_k: int = Field(default=12, ge=1, le=1000, description="Messages of history in the prompt.")
    context_tokens: int = Field(default=8_000, ge=64, description="Tokens of history in the prompt.")
    public_url: str | None = Field(
        default=None,
        pattern=r"^https://|^http://(127\.0\.0\.1|localhost)",
        description="Where platforms reach the web server, for webhook modes: https://bot.example.org",
    )
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

    @field_validator("admins")
    @classmethod
    def _name_people(cls, admins: tuple[str, ...]) -> tuple[str, ...]:
        for admin in admins:
            if ":" not in admin.strip(":"):
                raise ValueError(f"{admin!r} is not of the form channel:id, like telegram:42")
        return admins

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if faults := [*self._unreachable(), *self._ambiguous(), *self._unheard()]:
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


def load_settings(**overrides: object) -> Settings:
    """Read the settings.

    Args:
        overrides: What stands on the command line; ranks above all.

    Raises:
        ConfigError: Lists every unknown key, wrong value and contradiction.
    """
    try:
        faults = list(_unknown_variables())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The settings can't be used:\n  - .env can't be read: {error}") from error
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type]  # checked by pydantic, not by mypy
    except ValidationError as error:
        faults += _describe(error)
    except SettingsError as error:  # BOT_WEB=text, where only BOT_WEB__PORT and the like are settings
        faults.append(str(error))
    except (OSError, ValueError) as error:  # a bot.toml that is no TOML, or not ours to read
        faults.append(f"bot.toml: {error}")
    if faults:
        raise ConfigError("The settings can't be used:\n" + "\n".join(f"  - {fault}" for fault in faults))
    return settings


def _unknown_variables() -> Iterator[str]:
    """The variables with our prefix that no setting reads: pydantic would pass over them in silence."""
    known = [_pattern(name) for name, *_ in walk_settings()]
    for name in sorted({**os.environ, **dotenv_values(".env")}):
        if name.upper().startswith(PREFIX) and not any(one.fullmatch(name.upper()) for one in known):
            yield f"{name} is not a setting (see .env.example)"


def _pattern(variable: str) -> re.Pattern[str]:
    """Matches a variable; `<NAME>` in it stands for any name of an account."""
    return re.compile(re.escape(variable).replace("<NAME>", "[A-Z0-9]+(_[A-Z0-9]+)*"))


def _describe(error: ValidationError) -> Iterator[str]:
    named = {name.lower() for name in {**os.environ, **dotenv_values(".env")}}  # told of already
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if not place:
            yield from message.split("\n")
        elif fault["type"] != "extra_forbidden":
            yield f"{place} ({variable_name(place)}): {message}"
        elif variable_name(place).lower() not in named:
            yield f"{place} is not a setting (see .env.example)"


def variable_name(path: str) -> str:
    """The environment variable of a setting: `web.port` is `BOT_WEB__PORT`."""
    return PREFIX + path.upper().replace(".", "__")


def walk_settings(model: type[BaseModel] = Settings, path: str = "") -> Iterator[tuple[str, str, FieldInfo]]:
    """Every setting as (environment variable, section docstring, field), in the order of the class."""
    for name, field in model.model_fields.items():
        here = f"{path}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from walk_settings(field.annotation, f"{here}.")
        elif (account := _account_model(field)) is not None:
            yield from walk_settings(account, f"{here}.<name>.")
        else:
            yield variable_name(here), (model.__doc__ or "").strip().split("\n")[0], field


def _account_model(field: FieldInfo) -> type[Section] | None:
    """The section of one entry, where a setting maps names to sections."""
    entries = get_args(field.annotation) if get_origin(field.annotation) is dict else ()
    return entries[1] if entries else None


def env_example() -> str:
    """The text of `.env.example`: every setting with its default, commented out."""
    lines = [
        "# Settings of the bot. Copy to .env and uncomment what you change; the same names work as",
        "# environment variables. bot.toml takes them too: BOT_WEB__PORT is port in [web].",
    ]
    section = ""
    for variable, title, field in walk_settings():
        if title != section:
            section = title
            lines += ["", f"# --- {title}"]
        lines += [f"# {field.description}", f"#{variable}={_example_value(field.default)}"]
    return "\n".join(lines) + "\n"


def _example_value(default: object) -> str:
    if default is None or default is PydanticUndefined or default in ((), {}):
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)
