"""What MCP servers answer, as our tools give it; files that come along are put on our disk."""

import asyncio
import base64
import binascii
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from bot.messages import Attachment, new_id
from bot.tools.base import ToolFault, ToolOutput
from bot.tools.decoding import picture_type
from bot.tools.mcp_schema import encode_json

MAX_TEXT = 50_000
MAX_FILES = 16  # of one result
MAX_KEPT = 256 * 2**20  # bytes of all results together


class Shelf:
    """A directory for files of results; the oldest are deleted when they get too many.

    Names are ours: nothing that a server says becomes part of a path.

    Args:
        max_bytes: Of all files together.
    """

    def __init__(self, directory: Path, *, max_bytes: int = MAX_KEPT) -> None:
        self._directory = directory
        self._max_bytes = max_bytes

    async def keep(self, content: str, mime: str) -> Attachment | None:
        """Keep a file that came in base64; none where it can't be read."""
        return await asyncio.to_thread(self._keep, content, mime)

    def _keep(self, content: str, mime: str) -> Attachment | None:
        try:
            data = base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            return None
        seen = picture_type(data)  # what is said of it may be wrong
        mime = seen or mime
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(len(data))
        path = self._directory / f"{new_id()}{mimetypes.guess_extension(mime) or '.bin'}"
        path.write_bytes(data)
        kind = mime.partition("/")[0]
        return Attachment(
            kind="image" if seen else "audio" if kind == "audio" else "file",
            name=path.name,
            mime=mime,
            size=len(data),
            path=str(path),
        )

    def _make_room(self, size: int) -> None:
        files = sorted(self._directory.iterdir(), key=lambda file: file.name)  # ids grow with time
        sizes = {file: file.stat().st_size for file in files if file.is_file()}
        kept = sum(sizes.values()) + size
        for file, its_size in sizes.items():
            if kept <= self._max_bytes:
                return
            file.unlink(missing_ok=True)
            kept -= its_size


async def read_result(result: CallToolResult, shelf: Shelf) -> ToolOutput:
    """Turn the answer to a call into ours.

    Raises:
        ToolFault: The server says that the call has failed.
    """
    if result.is_error:
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        raise ToolFault(_cut("\n".join(texts).strip() or "The call has failed; the server does not say why."))
    parts, images = await _read_blocks(result.content, shelf)
    if result.structured_content is not None and not any(
        isinstance(one, TextContent) for one in result.content
    ):
        parts.append(encode_json(result.structured_content).decode())
    text = "\n\n".join(part for part in parts if part.strip())
    return ToolOutput(text=_cut(text) or "(It is done; there is nothing to show.)", images=tuple(images))


async def _read_blocks(blocks: Sequence[ContentBlock], shelf: Shelf) -> tuple[list[str], list[Attachment]]:
    parts: list[str] = []
    files: list[Attachment] = []
    for block in blocks:
        match block:
            case TextContent():
                parts.append(block.text)
            case ResourceLink():
                parts.append(f"[link: {block.title or block.name} {block.uri}]")
            case EmbeddedResource(resource=TextResourceContents() as resource):
                parts.append(f"[{resource.uri}]\n{resource.text}")
            case _ if len(files) >= MAX_FILES:
                parts.append("[one more file, which was left out]")
            case ImageContent() | AudioContent():
                parts.append(await _put(block.data, block.mime_type, "", files, shelf))
            case EmbeddedResource(resource=BlobResourceContents() as resource):
                mime = resource.mime_type or "application/octet-stream"
                parts.append(await _put(resource.blob, mime, f"{resource.uri} ", files, shelf))
    return parts, [file for file in files if file.kind == "image"]


async def _put(content: str, mime: str, name: str, files: list[Attachment], shelf: Shelf) -> str:
    """Keep a file, and give the words for it."""
    file = await shelf.keep(content, mime)
    if file is None:
        return f"[{name}a file that can't be read]"
    files.append(file)
    return f"[{name}{file.kind}, saved as {file.path}]"


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[cut here: {len(text) - MAX_TEXT:,} more characters]"
