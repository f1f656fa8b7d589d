from bot.api import Bot as Bot
from bot.api import Context as Context
from bot.api import ToolContext as ToolContext
from bot.api import command as command
from bot.api import hook as hook
from bot.api import tool as tool
from bot.app import App as App
from bot.bus import LocalBus as LocalBus
from bot.errors import BotError as BotError
from bot.messages import Chunk as Chunk
from bot.messages import End as End
from bot.messages import InboundMessage as InboundMessage
from bot.messages import OutboundMessage as OutboundMessage
from bot.messages import SystemEvent as SystemEvent
from bot.settings import Settings as Settings
from bot.settings import load_settings as load_settings

__all__: list[str]
