"""The panels beside the inbox, in the order of the navigation."""

from typing import Final

from bot.web.dashboard.frame import Panel
from bot.web.dashboard.panels.audit import AuditPanel
from bot.web.dashboard.panels.channels import ChannelsPanel
from bot.web.dashboard.panels.deliveries import DeliveriesPanel
from bot.web.dashboard.panels.doors import DoorsPanel
from bot.web.dashboard.panels.keys import KeysPanel
from bot.web.dashboard.panels.logs import LogsPanel
from bot.web.dashboard.panels.plugins import PluginsPanel
from bot.web.dashboard.panels.schedules import SchedulesPanel
from bot.web.dashboard.panels.settings import SettingsPanel
from bot.web.dashboard.panels.usage import UsagePanel

PANELS: Final[tuple[Panel, ...]] = (
    ChannelsPanel(),
    DeliveriesPanel(),
    DoorsPanel(),
    SchedulesPanel(),
    UsagePanel(),
    AuditPanel(),
    LogsPanel(),
    PluginsPanel(),
    KeysPanel(),
    SettingsPanel(),
)
