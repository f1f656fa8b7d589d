"""`mcp list` and `mcp test`: the MCP servers of the settings, and whether they answer."""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from bot.app import load_filled
from bot.errors import ConfigError
from bot.messages import Frozen
from bot.operations.terminal import say
from bot.settings import load_settings
from bot.settings.mcp import McpServerSettings
from bot.tools.mcp import require_sdk
from bot.tools.mcp_schema import RemoteTool, printable
from bot.tools.mcp_server import McpFault, is_wanted, load_opener

MAX_HELP = 80  # characters of a description

Servers = Mapping[str, McpServerSettings]


class Tried(Frozen, frozen=True, kw_only=True):
    """How a try to connect went; `fault` is empty where it went well."""

    name: str
    seconds: float = 0.0
    tools: tuple[RemoteTool, ...] = ()
    fault: str = ""
    detail: str = ""


def servers() -> int:
    """`mcp list`."""
    return mcp_list(load_settings().mcp)


def try_servers(name: str | None) -> int:
    """`mcp test`."""
    return mcp_test(load_filled().mcp, name)


def mcp_list(servers: Servers) -> int:
    """`mcp list`: what the settings name; connects to nothing."""
    if not servers:
        say("There is no MCP server in the settings. In bot.toml, one begins with [mcp.name].")
    for name, one in sorted(servers.items()):
        say(f"{name}  {'on ' if one.is_enabled else 'off'}  {_place(one)}  tools: {', '.join(one.tools)}")
    return 0


def mcp_test(servers: Servers, name: str | None = None) -> int:
    """`mcp test`: connect to all servers that are on, or to the one that is named; 1 where one fails.

    Raises:
        ConfigError: There is none of this name, or the SDK is not installed.
    """
    if name is not None and name not in servers:
        known = ", ".join(sorted(servers)) or "none"
        raise ConfigError(f"there is no MCP server {name!r} in the settings; there is: {known}")
    chosen = {key: one for key, one in servers.items() if key == name or (name is None and one.is_enabled)}
    if not chosen:
        say("There is no MCP server to test.")
        return 0
    require_sdk(is_needed=True)
    results = asyncio.run(_try_all(chosen))
    for result in results:
        _show(result, chosen[result.name])
    return 1 if any(result.fault for result in results) else 0


async def _try_all(servers: Servers) -> list[Tried]:
    with tempfile.TemporaryDirectory() as directory:
        tries = [_try(name, one, Path(directory)) for name, one in sorted(servers.items())]
        return await asyncio.gather(*tries)


async def _try(name: str, settings: McpServerSettings, directory: Path) -> Tried:
    opener = await load_opener()
    began = time.monotonic()
    try:
        async with opener(name, settings, directory) as link:
            tools = await link.tools()
            return Tried(name=name, seconds=time.monotonic() - began, tools=tools)
    except McpFault as error:
        return Tried(name=name, fault=str(error), detail=error.detail)


def _show(result: Tried, settings: McpServerSettings) -> None:
    if result.fault:
        say(f"{result.name}: failed: {printable(result.fault)}")
        for line in printable(result.detail).splitlines():
            say(f"  | {line}")
        return
    say(f"{result.name}: ready after {result.seconds:.1f} s, {len(result.tools)} tools")
    for tool in result.tools:
        mark = "+" if is_wanted(tool, settings) else "-"
        help_text = " ".join(printable(tool.description).split())[:MAX_HELP]
        say(f"  {mark} {printable(tool.name)}  {help_text}".rstrip())


def _place(settings: McpServerSettings) -> str:
    """Where a server is; without what may be secret, as arguments and queries often are."""
    if settings.url is None:
        count = len(settings.args)
        return f"{settings.command} ({count} argument{'' if count == 1 else 's'})"
    url = urlsplit(settings.url)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
