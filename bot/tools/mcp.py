"""The tools of MCP servers, found while the bot runs."""

import asyncio
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.errors import ConfigError
from bot.models.backoff import Backoff
from bot.settings.mcp import McpServerSettings
from bot.tools.base import Tool
from bot.tools.mcp_server import BACKOFF, PATIENCE_SECONDS, McpServer, McpState

CLOSE_SECONDS = 8.0  # a server's process has 2 to leave by itself before it is ended
ABANDON_SECONDS = 1.0


class McpServers:
    """Keeps all servers of the settings connected while it is open; none of them holds up the bot.

    Args:
        on_change: Called when `tools` gives others than before.
        directory: Where images and other files of results are put; the oldest go when they get too many.
        backoff: Between two tries to connect.
        patience: Seconds that a call waits for a server that is away.
    """

    def __init__(
        self,
        settings: Mapping[str, McpServerSettings],
        on_change: Callable[[], None],
        *,
        directory: Path,
        backoff: Backoff = BACKOFF,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._servers = tuple(
            McpServer(name, one, on_change, directory=directory, backoff=backoff, patience=patience)
            for name, one in sorted(settings.items())
            if one.is_enabled
        )
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    async def __aenter__(self) -> Self:
        """Begin to connect.

        Raises:
            ConfigError: There are servers, but the SDK is not installed.
        """
        require_sdk(is_needed=bool(self._servers))
        self._tasks = tuple(
            asyncio.create_task(server.run(), name=f"mcp {server.state.name}") for server in self._servers
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Disconnect; processes that were started are gone."""
        for server in self._servers:
            server.close()
        tasks, self._tasks = set(self._tasks), ()
        for seconds in (CLOSE_SECONDS, ABANDON_SECONDS):
            for task in tasks:
                task.cancel()
            if tasks:
                _, tasks = await asyncio.wait(tasks, timeout=seconds)

    def tools(self) -> tuple[Tool, ...]:
        """All tools that servers have, or had when they were last seen."""
        return tuple(tool for server in self._servers for tool in server.tools)

    def states(self) -> tuple[McpState, ...]:
        """How it stands with each server."""
        return tuple(server.state for server in self._servers)


def require_sdk(*, is_needed: bool) -> None:
    """See that the SDK is there.

    Raises:
        ConfigError: It is not.
    """
    if is_needed and find_spec("mcp") is None:
        raise ConfigError("MCP servers need mcp: pip install 'switchboard-bot[mcp]'")
