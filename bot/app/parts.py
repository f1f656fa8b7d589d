"""What the parts of the bot are given of the settings."""

from collections.abc import Callable, Collection, Mapping
from datetime import time
from functools import partial
from secrets import token_bytes
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from bot.agent.choice import SessionSettings, queue_rules
from bot.agent.constraints import AgentsFile, Constraints, Directories
from bot.agent.control import People
from bot.agent.loop_settings import LoopSettings
from bot.agent.prompt import PromptBuilder
from bot.agent.queueing import QueueRules, RulesOf
from bot.agent.renewal import Renewal
from bot.agent.seams import InputGuard
from bot.agent.workspace import Workspace
from bot.backends.base import AgentBackend
from bot.backends.one import OneBackend
from bot.backends.registry import BackendSetup
from bot.backends.router import Router
from bot.bus import Bus
from bot.commands.registry import Commands
from bot.messages import InboundMessage
from bot.models.providers import ModelSetup
from bot.models.transcription import Transcriber
from bot.running import RunningBot
from bot.settings import ChannelSettings, Settings, WebSettings
from bot.settings.audit import AuditSettings
from bot.settings.redaction import PlaceSettings
from bot.tools.skills import Skills
from bot.workshop import WorkshopSettings
from channels.frames import CommandHint
from channels.hub import ChatHub
from channels.media import Media
from channels.platforms import Account, Platforms
from channels.registry import ADAPTERS, AdapterFactory
from channels.registry import accounts as registered_accounts
from memory.history import History
from memory.store import Store
from security.audit import AuditLog, Rotation
from security.redaction import ModelInput, NameRedactor, OnHidden, Policy, Redactor, secret_values
from security.taint import TextScreen


def prompt_builder(
    settings: Settings, bus: Bus, directories: Directories, texts: TextScreen | None = None
) -> PromptBuilder:
    """The prompts, over the workspace, which is made where there is none.

    Args:
        texts: Looks at what came into the workspace and is to be obeyed.
    """
    workspace = settings.data_dir / "workspace"
    workspace.mkdir(mode=0o700, exist_ok=True)
    return PromptBuilder(
        name=settings.name,
        workspace=Workspace(workspace),
        top_k=settings.context_top_k,
        max_tokens=settings.context_tokens,
        skills=Skills(workspace / "skills", is_harmless=texts.is_harmless if texts else None),
        constraints=Constraints(
            AgentsFile(workspace),
            directories,
            own=workspace / "AGENTS.md",
            emit=bus.emit,
            vet=texts.vet if texts else None,
        ),
    )


def router_of(settings: Settings, own: AgentBackend | None, choices: SessionSettings) -> Router | OneBackend:
    """What picks the backend of a session; with an agent of one's own, always that one."""
    if own is not None:
        return OneBackend(own)
    setup = BackendSetup(models=ModelSetup.of(settings), turn_seconds=settings.run_timeout)
    return Router(settings.backend, setup, choices=choices)


def media_of(settings: Settings, platforms: Platforms) -> Media:
    """What fetches files, and hears voice notes where a model for that is set."""
    transcription = settings.transcription
    transcriber = Transcriber(transcription, settings.openai) if transcription.model else None
    return Media(
        settings.data_dir / "media", platforms, transcribe=transcriber.transcribe if transcriber else None
    )


def redactor_of(settings: Settings, place: PlaceSettings, *, on_hidden: OnHidden | None = None) -> Redactor:
    """What hides secrets and personal data in one place, and the secrets of the settings everywhere."""
    key = settings.redaction.hash_key
    secret = key.get_secret_value().encode() if key is not None else token_bytes(32)
    return Redactor(Policy.of(place, key=secret), secret_values(settings), on_hidden=on_hidden)


def quiet_redactor(settings: Settings, place: PlaceSettings) -> Redactor | NameRedactor:
    """The same for logs and memory, where names are hidden, too, if the settings want it.

    Raises:
        ConfigError: They want it, and the extra `pii` is missing.
    """
    redactor = redactor_of(settings, place)
    return NameRedactor(redactor.redact) if settings.redaction.names == "mask" else redactor


def input_guard_of(settings: Settings) -> InputGuard:
    """What hides from models what the settings do not want them to read."""
    return partial(ModelInput, redactor_of(settings, settings.redaction.model_input))


def audit_log(settings: Settings, store: Store, *, on_failure: Callable[[str], None]) -> AuditLog:
    """The audit log, not open yet.

    Args:
        on_failure: Told why where a line can't be written.
    """
    return AuditLog(
        settings.data_dir / "audit",
        store.audit_pointer,
        redact=redactor_of(settings, settings.redaction.audit).redact,
        rotation=audit_rotation(settings.audit),
        on_failure=on_failure,
        is_synced=settings.store.synchronous == "FULL",
    )


def audit_rotation(settings: AuditSettings) -> Rotation:
    """When files of the audit log begin and go."""
    return Rotation(
        max_bytes=settings.rotate_mb * 1_000_000, days=settings.rotate_days, keep_days=settings.keep_days
    )


def rules_of(settings: Settings, choices: SessionSettings) -> RulesOf:
    """What happens to messages that wait."""
    queue = settings.queue
    default = QueueRules(mode=queue.mode, debounce=queue.debounce, cap=queue.cap, drop=queue.drop)
    return queue_rules(choices, default, queue.channels)


def renewal_of(
    settings: Settings,
    store: Store,
    bot: RunningBot,
    people: People,
    *,
    is_taken: Callable[[InboundMessage], bool],
) -> Renewal | None:
    """What begins new sessions by itself; `None` where the settings want none."""
    hours, at = settings.sessions.idle_reset_hours, settings.sessions.daily_reset_at
    if hours is None and at is None:
        return None
    return Renewal(
        store.sessions,
        store.journal,
        goes_on=lambda message, session: bot.activity(session).is_busy or is_taken(message),
        speaker=lambda: bot.loop.speaker,
        people=people,
        idle=hours * 3_600 if hours is not None else None,
        daily_at=(time.fromisoformat(at), ZoneInfo(settings.timezone)) if at is not None else None,
    )


def workshop_settings(settings: Settings) -> WorkshopSettings:
    """What tools need."""
    return WorkshopSettings(
        home=settings.data_dir,
        tools=settings.tools,
        approvals=settings.approvals,
        sandbox=settings.sandbox,
        search=settings.search,
        apis=settings.apis,
        mcp=settings.mcp,
        sees=ModelSetup.of(settings).profile.sees,
    )


def loop_settings(
    settings: Settings,
    *,
    admins: Collection[str],
    live_channels: Collection[str],
    people: People,
    renewal: Renewal | None,
) -> LoopSettings:
    """What the loop needs; `admins` is a live set."""
    sections: dict[str, ChannelSettings] = {name: getattr(settings, name) for name in ADAPTERS}
    return LoopSettings(
        name=settings.name,
        admins=admins,
        max_concurrent_turns=settings.max_concurrent_turns,
        max_waiting=settings.max_waiting,
        max_crashes=settings.max_crashes,
        shutdown_grace=settings.shutdown_grace,
        live_channels=frozenset(live_channels),
        history=settings.context_top_k,
        debounce={name: section.debounce for name, section in sections.items()},
        group_context={name: section.group_context for name, section in sections.items()},
        people=people,
        renewal=renewal,
    )


def web_settings(settings: Settings) -> WebSettings:
    """Those of the settings; under the public address it has to answer, too."""
    web, public = settings.web, urlsplit(settings.public_url or "").hostname
    hosts = web.allowed_hosts if public is None else (*web.allowed_hosts, public)
    return web.model_copy(update={"allowed_hosts": hosts})


def hub_of(name: str, settings: Settings, bus: Bus, transcript: History, commands: Commands) -> ChatHub:
    """What the page, or the terminal, talks to."""
    hints = tuple(CommandHint(name=hint.name, help=hint.help) for hint in commands.hints())
    return ChatHub(name, bus, transcript=transcript, bot_name=settings.name, commands=hints)


def accounts_of(settings: Settings | None, own: Mapping[str, AdapterFactory]) -> list[Account]:
    """The accounts on platforms.

    Args:
        settings: Which of them are on; `None` for a bot that leaves them alone.
        own: Channels of one's own, by name.
    """
    public = registered_accounts(settings) if settings is not None else ()
    return [
        *(Account(channel=channel, name=name, settings=section) for channel, name, section in public),
        *(
            Account(channel=name, name="default", settings=ChannelSettings(), factory=factory)
            for name, factory in own.items()
        ),
    ]
