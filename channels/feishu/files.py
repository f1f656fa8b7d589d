"""Files, both ways."""

import asyncio
import json
from pathlib import Path
from typing import Final

import aiohttp

from bot.errors import ChannelError
from bot.messages import Address, Attachment
from channels.feishu.api import Api, Form
from channels.feishu.sending import Sending, request_id
from channels.feishu.wire import File, Image

# Source: open.feishu.cn, im-v1/file/create (30 MB) and im-v1/image/create (10 MB).
MAX_UPLOAD: Final = 30 * 1024 * 1024
MAX_IMAGE: Final = 10 * 1024 * 1024
CHUNK: Final = 256 * 1024

IMAGES: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tiff", ".ico", ".heic"})
# How Feishu calls the kinds of files; others are a `stream` of bytes.
TYPES: Final = {
    ".opus": "opus",
    ".ogg": "opus",
    ".mp4": "mp4",
    ".pdf": "pdf",
    ".doc": "doc",
    ".docx": "doc",
    ".xls": "xls",
    ".xlsx": "xls",
    ".ppt": "ppt",
    ".pptx": "ppt",
}
MESSAGES: Final = {"opus": "audio", "mp4": "media"}


class Files:
    """Sends files, and fetches those that came."""

    def __init__(self, api: Api, sending: Sending) -> None:
        self._api = api
        self._sending = sending

    async def upload(self, address: Address, attachment: Attachment, *, key: str) -> str:
        """Send the file at `attachment.path`: an image, a voice note, a video, or as a file.

        It is uploaded anew at every try; only the message that shows it is recognised.
        """
        path = Path(attachment.path or "")
        name = attachment.name or path.name
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise ChannelError(f"feishu: can't read the file ({error.strerror})", permanent=True) from error
        if attachment.kind == "image" and len(data) <= MAX_IMAGE and _ending(name) in IMAGES:
            kind, content = "image", {"image_key": await self._put_image(name, data)}
        else:
            kind, content = await self._put_file(name, data)
        shown = json.dumps(content)
        return await self._sending.send(address, kind, shown, request=request_id(key))

    async def _put_image(self, name: str, data: bytes) -> str:
        form: Form = {"image_type": "message", "image": (name, data)}
        return (await self._api.call("POST", "/im/v1/images", Image, form=form)).image_key

    async def _put_file(self, name: str, data: bytes) -> tuple[str, dict[str, str]]:
        """Give Feishu a file; gives the kind of message that shows it, and its content."""
        type_ = TYPES.get(_ending(name), "stream")
        form: Form = {"file_type": type_, "file_name": name, "file": (name, data)}
        made = await self._api.call("POST", "/im/v1/files", File, form=form)
        return MESSAGES.get(type_, "file"), {"file_key": made.file_key}

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write the file behind `attachment.url` (`text.resource`) to `target`, whole or not at all."""
        message, _, rest = (attachment.url or "").partition("/")
        key, _, kind = rest.rpartition("/")
        if not (message and key and kind in ("image", "file")):
            raise ChannelError("feishu: the attachment names no file", permanent=True)
        path = f"/im/v1/messages/{message}/resources/{key}"
        try:
            async with self._api.fetch(path, {"type": kind}) as response:
                await _save(response, target, max_bytes)
        except BaseException:
            await asyncio.to_thread(target.unlink, missing_ok=True)
            raise


async def _save(response: aiohttp.ClientResponse, target: Path, max_bytes: int) -> None:
    """Write an answer to a file, as long as it is not too long.

    Raises:
        ChannelError: It is (permanent).
    """
    size = response.content_length or 0
    file = await asyncio.to_thread(target.open, "wb")
    try:
        async for chunk in response.content.iter_chunked(CHUNK):
            size = max(size, file.tell() + len(chunk))
            if size > max_bytes:
                raise ChannelError(f"the file has more than {max_bytes / 1e6:.0f} MB", permanent=True)
            await asyncio.to_thread(file.write, chunk)
    finally:
        await asyncio.to_thread(file.close)


def _ending(name: str) -> str:
    return Path(name).suffix.lower()
