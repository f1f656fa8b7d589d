"""A server by the SDK; started as a program it talks over stdio."""

import asyncio
import base64
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def workshop() -> MCPServer:
    """Make the server."""
    server = MCPServer("workshop")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def fail(reason: str) -> str:
        """Fail."""
        raise ToolError(reason)

    @server.tool()
    async def wait(directory: str, seconds: float = 30) -> str:
        """Wait, and leave files that tell how it went."""
        (Path(directory) / "begun").touch()
        try:
            await asyncio.sleep(seconds)
        except BaseException:
            (Path(directory) / "cancelled").touch()
            raise
        return "waited"

    @server.tool()
    def everything() -> CallToolResult:
        """Give each kind of content."""
        data = base64.b64encode(PIXEL).decode()
        return CallToolResult(
            content=[
                TextContent(text="Look:"),
                ImageContent(data=data, mime_type="image/jpeg"),
                ImageContent(data="no base64!", mime_type="image/png"),
                ImageContent(data=base64.b64encode(b"<svg/>").decode(), mime_type="image/png"),
                EmbeddedResource(resource=TextResourceContents(uri="notes://1", text="a note")),
                EmbeddedResource(resource=BlobResourceContents(uri="notes://../2", blob=data)),
                ResourceLink(uri="https://example.org/report", name="report"),
            ]
        )

    @server.tool()
    def structured() -> CallToolResult:
        """Give nothing but structured content."""
        return CallToolResult(content=[], structured_content={"degrees": 21})

    @server.tool()
    def long(signs: int) -> CallToolResult:
        """Give a long text."""
        return CallToolResult(content=[TextContent(text="x" * signs)])

    @server.tool()
    async def grow(context: Context) -> str:
        """Get one more tool, and tell so in both ways that the protocol has had."""
        server.add_tool(lambda: "new", name="grown", description="New.")
        await context.notify_tools_changed()
        await context.session.send_tool_list_changed()
        return "grown"

    return server


if __name__ == "__main__":
    workshop().run()
