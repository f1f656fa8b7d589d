"""An MCP server with mail that anybody may have sent; started as a program it talks over stdio."""

import asyncio
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations


def mail(directory: Path) -> MCPServer:
    """Make the server: mail is read from files, and sent into files."""
    server = MCPServer("mail")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def inbox(name: str) -> str:
        """Read a mail."""
        return (directory / name).read_text()

    @server.tool()
    def send(text: str) -> str:
        """Send a mail."""
        with (directory / "sent").open("a") as file:
            file.write(text + "\n")
        return "sent"

    return server


if __name__ == "__main__":
    asyncio.run(mail(Path(sys.argv[1])).run_stdio_async())
