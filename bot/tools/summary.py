"""The tool that ends a turn with its answer."""

from bot.tools.base import Tool, ToolOutput
from bot.tools.declare import declare


async def summary(text: str) -> ToolOutput:
    """End your work with this text as the whole answer."""
    return ToolOutput(text=text, is_final=True)


def summary_tools() -> tuple[Tool, ...]:
    """What is registered."""
    return (declare(summary, group="summary"),)
