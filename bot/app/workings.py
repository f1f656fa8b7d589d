"""What of the bot the operators' panels are given."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from bot.adjusting import Adjusting, Knob, setting_knob
from bot.agent.spending import Spending
from bot.alarm import Alarm
from bot.app.doors import Doors
from bot.commands.release import Releases
from bot.log_tail import LogTail
from bot.plugins import Plugin
from bot.running import RunningBot
from bot.settings import Settings
from bot.settings.notices import NoticeSettings
from bot.settings.overview import check_setting, settings_lines
from bot.web.dashboard.panels.audit_desk import AuditDesk
from bot.web.dashboard.panels.workings import Workings
from channels.delivery.outbox import MAX_TRIES
from channels.platforms import Platforms
from memory.store import Store
from security.audit import AuditBook

# What the other notices need is begun at the start, and only where they are on.
NOTICES: Final = ("blocked", "failed_delivery")


class Wired(Protocol):
    """The bot, put together."""

    store: Store
    platforms: Platforms
    doors: Doors
    releases: Releases
    plugins: tuple[Plugin, ...]
    adjusting: Adjusting


def make_workings(
    settings: Settings,
    app: Wired,
    *,
    bot: RunningBot,
    spending: Spending,
    redact: Callable[[str], str],
) -> Workings:
    """The workings of a bot; whoever asks for them closes them.

    Args:
        redact: Hides what must not be in logs; may be called in any thread.
    """

    async def open_book() -> AuditBook:
        lengths = await app.store.audit_pointer.lengths()
        return AuditBook(settings.data_dir / "audit", lengths=lambda: lengths)

    return Workings(
        channels=bot.channels,
        waits=app.platforms.waits,
        depths=app.store.runs,
        journal=bot,
        outbox=app.store.outbox,
        max_tries=MAX_TRIES,
        audit=AuditDesk(open_book),
        doors=app.doors,
        releases=app.releases,
        plugins=app.plugins,
        usage=app.store.usage,
        spending=spending,
        adjusting=app.adjusting,
        settings=partial(settings_lines, settings, redact=redact),
        logs=LogTail(redact),
    )


def notice_knobs(configured: NoticeSettings, alarm: Alarm) -> dict[str, Knob]:
    """What switches notices on and off while the bot runs."""

    async def switch(name: str, value: str | None) -> None:
        is_on = getattr(configured, name) if value is None else check_setting(f"notices.{name}", value)
        alarm.notices = alarm.notices.model_copy(update={name: is_on})

    return {f"notices.{name}": setting_knob(f"notices.{name}", partial(switch, name)) for name in NOTICES}
