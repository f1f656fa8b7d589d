"""Sections: the page, and the platforms."""

from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from bot.settings.base import AccountName, Names, Section

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
HEX_KEY = r"^[0-9a-fA-F]{64}$"


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
        default=(), description="Host names the page is reached under, behind a proxy; it then needs a token."
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
    public_key: str | None = Field(default=None, pattern=HEX_KEY, description="As BOT_DISCORD__PUBLIC_KEY.")


class DiscordSettings(ChannelSettings):
    """Discord; on when it has a token."""

    token: SecretStr | None = Field(
        default=None,
        description="Token of the bot, from the developer portal; needs the intent Message Content.",
    )
    public_key: str | None = Field(
        default=None,
        pattern=HEX_KEY,
        description="For commands and buttons that come to /hooks/discord/default; the portal shows it.",
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
