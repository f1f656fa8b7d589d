"""Tools: what the model may call, a file a family; see `bot.tools.base`."""

from bot.tools.base import Tool, ToolContext, ToolFault, ToolOutput
from bot.tools.declare import declare, tool

__all__ = ["Tool", "ToolContext", "ToolFault", "ToolOutput", "declare", "tool"]
