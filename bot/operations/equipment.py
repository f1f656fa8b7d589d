"""What `doctor` says of channels and tools: what is on, and what each still lacks."""

import asyncio
import shutil
from importlib.util import find_spec

from bot.app import find_channels, find_sandbox_fault
from bot.operations.report import Report
from bot.settings import Settings
from bot.settings.mcp import McpServerSettings

SEARCH_PACKAGE = "ddgs"
MCP_PACKAGE = "mcp"
INSTALL = "pip install 'switchboard-bot[{extra}]'"


def show_channels(report: Report, settings: Settings) -> None:
    """The page, the terminal and the platforms."""
    report.good("terminal: python -m bot chat")
    if settings.web.enabled:
        door = "open to this machine only" if settings.web.token is None else "guarded by BOT_WEB__TOKEN"
        report.good(f"web: http://{settings.web.host}:{settings.web.port}/chat, {door}")
    else:
        report.good("web: off (BOT_WEB__ENABLED=false)")
    for name, (accounts, fault) in find_channels(settings).items():
        if not accounts:
            report.good(f"{name}: off (docs/channels.md says what it needs)")
        elif fault is not None:
            report.missing(f"{name}: {fault}")
        else:
            report.good(f"{name}: on ({', '.join(accounts)})")


def show_tools(report: Report, settings: Settings) -> None:
    """What the agent works with."""
    fault = asyncio.run(find_sandbox_fault(settings)) if settings.data_dir.is_dir() else None
    if fault is not None:
        report.note(fault)
    elif settings.data_dir.is_dir():
        report.good("commands: can be run")
    if settings.search.url is not None:
        report.good("web search: by BOT_SEARCH__URL")
    elif find_spec(SEARCH_PACKAGE) is not None:
        report.good("web search: by public engines")
    else:
        report.note(f"web pages and search: {INSTALL.format(extra='web')}, or set BOT_SEARCH__URL")
    if settings.mcp and find_spec(MCP_PACKAGE) is None:
        report.missing(f"MCP servers: {INSTALL.format(extra='mcp')}")
    for name, server in settings.mcp.items():
        _show_server(report, name, server)


def _show_server(report: Report, name: str, server: McpServerSettings) -> None:
    if not server.is_enabled:
        report.good(f"MCP server {name}: off")
    elif server.command is not None and shutil.which(server.command) is None:
        report.missing(f"MCP server {name}: there is no program {server.command!r}")
    else:
        report.good(f"MCP server {name}: `python -m bot mcp test {name}` tries it")
