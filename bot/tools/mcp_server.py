"""One MCP server: connected in the background, connected again when it is lost, called through its tools."""

import asyncio
import importlib
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Protocol

from bot.errors import BotError
from bot.messages import Frozen
from bot.models.backoff import Backoff
from bot.settings.mcp import McpServerSettings
from bot.tools.base import Arguments, Tool, ToolFault, ToolOutput
from bot.tools.mcp_schema import RemoteTool, UnfitTool, make_tool

log = logging.getLogger(__name__)

BACKOFF = Backoff(base=1.0, cap=60.0)
PATIENCE_SECONDS = 5.0  # that a call waits for a connection
STEADY_SECONDS = 60.0  # a connection that has lived as long was no failure
PACE_SECONDS = 0.2  # between two looks at the list of a server that keeps announcing changes
SLACK_SECONDS = 5.0  # that a tool has beyond the time limit here, which has the better words
MAX_TOOLS = 200
LINK = "bot.tools.mcp_link"  # by name: with it comes the SDK, which nobody loads who has no server


class McpFault(BotError):
    """A server could not be reached or talks nonsense.

    Attributes:
        detail: The last that it wrote to standard error, for the operator.
    """

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class NotSent(BotError):
    """A call has not reached its server, and may be made again."""


class McpState(Frozen, frozen=True, kw_only=True):
    """How it stands with a server.

    Attributes:
        fault: Why it is away.
    """

    name: str
    status: Literal["connecting", "ready", "away"]
    tools: tuple[str, ...]
    fault: str = ""


class Link(Protocol):
    """A connection to a server that is open."""

    async def tools(self) -> tuple[RemoteTool, ...]:
        """List all its tools.

        Raises:
            McpFault: It did not, in time or in a form that can be read.
        """

    async def call(self, name: str, arguments: Arguments) -> ToolOutput:
        """Call a tool; a call that is cancelled here is cancelled there.

        Raises:
            ToolFault: What went wrong, for the model.
            NotSent: The connection is lost, and nothing was done.
        """

    async def changed(self) -> bool:
        """Wait until the list of tools may have changed; false when the connection is lost."""


class Opener(Protocol):
    """Opens a connection."""

    def __call__(
        self, name: str, settings: McpServerSettings, directory: Path
    ) -> AbstractAsyncContextManager[Link]:
        """Connect; leaving ends what was started.

        Args:
            directory: Where files that come with results are put.

        Raises:
            McpFault: There is no connection, or it broke while it was open.
        """


async def load_opener() -> Opener:
    """Load the SDK, in a thread: it takes most of a second."""
    module = await asyncio.to_thread(importlib.import_module, LINK)
    opener: Opener = module.open_link
    return opener


def is_wanted(remote: RemoteTool, settings: McpServerSettings) -> bool:
    """Whether the settings ask for a tool."""
    return any(fnmatchcase(remote.name, pattern) for pattern in settings.tools)


class McpServer:
    """Keeps one server connected while `run` runs.

    Args:
        on_change: Called when its tools have changed.
        patience: Seconds that a call waits for a connection.
    """

    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        on_change: Callable[[], None],
        *,
        directory: Path,
        backoff: Backoff = BACKOFF,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._name = name
        self._settings = settings
        self._on_change = on_change
        self._directory = directory
        self._backoff = backoff
        self._patience = patience
        self._link: Link | None = None
        self._ready = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_closing = False
        self._fault = ""
        self._tools: tuple[Tool, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools it had when it was last seen."""
        return self._tools

    @property
    def state(self) -> McpState:
        """How it stands."""
        status: Literal["connecting", "ready", "away"] = "away" if self._fault else "connecting"
        return McpState(
            name=self._name,
            status="ready" if self._link is not None else status,
            tools=tuple(tool.name for tool in self._tools),
            fault="" if self._link is not None else self._fault,
        )

    def close(self) -> None:
        """Connect no more; `run` is to be cancelled next."""
        self._is_closing = True

    async def run(self) -> None:
        """Connect, and again whenever the connection is lost, until cancelled."""
        failures = 0
        while not self._is_closing:  # a cancel can be lost in an error that comes at the same time
            began = time.monotonic()
            self._wanted.clear()
            fault = await self._connection()
            if time.monotonic() - began >= STEADY_SECONDS:
                failures = 0
            wait = self._backoff.wait(failures, None, random.uniform)
            log.warning(
                "mcp server is away",
                extra={"server": self._name, "fault": fault, "failures": failures, "wait": round(wait, 1)},
            )
            failures += 1
            await self._pause(wait)

    async def call(self, tool: str, arguments: Arguments) -> ToolOutput:
        """Call a tool of the server; while it is away, wait a moment for it.

        Raises:
            ToolFault: It is away, does not answer in time, or refuses.
        """
        seconds = self._settings.timeout
        try:
            async with asyncio.timeout(seconds):
                try:
                    return await self._call(tool, arguments)
                except NotSent:
                    return await self._call(tool, arguments)
        except NotSent as error:
            raise ToolFault(self._away()) from error
        except TimeoutError as error:
            raise ToolFault(
                f"MCP server {self._name!r} has not answered within {seconds:g} s and was told to stop; "
                "it may have done part of it. Ask for less, or go on without it."
            ) from error

    async def _call(self, tool: str, arguments: Arguments) -> ToolOutput:
        link = await self._connected()
        try:
            return await link.call(tool, arguments)
        except NotSent:
            self._lose(link)
            raise

    async def _connection(self) -> str:
        """Connect and stay connected; gives what ended it."""
        try:
            opener = await load_opener()
            async with opener(self._name, self._settings, self._directory) as link:
                await self._serve(link)
            self._fault = "the connection has ended"
        except McpFault as error:
            log.debug("mcp server failed", extra={"server": self._name, "detail": error.detail})
            self._fault = str(error)
        except Exception as error:
            log.exception("mcp connection failed", extra={"server": self._name})
            self._fault = f"an error of ours: {type(error).__name__}"
        finally:
            self._lose(self._link)
        return self._fault

    async def _serve(self, link: Link) -> None:
        """Offer the tools of a connection for as long as it lives."""
        self._adopt(await link.tools())
        self._link = link
        self._ready.set()
        log.info("mcp server is ready", extra={"server": self._name, "tools": len(self._tools)})
        while await link.changed():
            self._adopt(await link.tools())
            await asyncio.sleep(PACE_SECONDS)

    def _lose(self, link: Link | None) -> None:
        if self._link is link:
            self._link = None
            self._ready.clear()

    async def _pause(self, seconds: float) -> None:
        """Wait; where a call waits for the connection, not longer than after a first failure."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
                await asyncio.sleep(self._backoff.base)

    async def _connected(self) -> Link:
        """The connection, as soon as there is one."""
        try:
            async with asyncio.timeout(self._patience):
                while (link := self._link) is None:
                    self._wanted.set()
                    await self._ready.wait()
        except TimeoutError as error:
            raise ToolFault(self._away()) from error
        return link

    def _away(self) -> str:
        return (
            f"MCP server {self._name!r} is away ({self._fault or 'it is still starting'}). "
            "Nothing was done. Go on without it, or try again in a minute."
        )

    def _adopt(self, remotes: tuple[RemoteTool, ...]) -> None:
        """Offer what is asked for of what there is."""
        wanted = [remote for remote in remotes if is_wanted(remote, self._settings)]
        if len(wanted) > MAX_TOOLS:
            log.warning("mcp tools left out", extra={"server": self._name, "count": len(wanted) - MAX_TOOLS})
        tools = {tool.name: tool for tool in reversed([*self._fit(wanted[:MAX_TOOLS])])}
        before = [tool.schema for tool in self._tools]
        self._tools = tuple(sorted(tools.values(), key=lambda tool: tool.name))
        if before != [tool.schema for tool in self._tools]:
            self._on_change()

    def _fit(self, remotes: list[RemoteTool]) -> Iterator[Tool]:
        timeout = self._settings.timeout + SLACK_SECONDS
        for remote in remotes:
            try:
                yield make_tool(self._name, remote, self.call, risk=self._settings.risk, timeout=timeout)
            except UnfitTool as error:
                log.warning(
                    "mcp tool left out",
                    extra={"server": self._name, "tool": remote.name[:100], "reason": str(error)},
                )
