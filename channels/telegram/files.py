"""Files, both ways."""

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from telegram import Message

from bot.errors import ChannelError
from bot.messages import Address, Attachment
from channels.telegram.client import Client
from channels.telegram.errors import telegram_errors
from channels.telegram.parse import message_name
from channels.telegram.sending import Sending, topic

# Source: Bot API, "Sending files" and getFile.
MAX_UPLOAD: Final = 50 * 2**20
MAX_PHOTO: Final = 10 * 2**20
MAX_DOWNLOAD: Final = 20 * 2**20
CHUNK: Final = 2**16
TRANSFER: Final = aiohttp.ClientTimeout(total=300, connect=10, sock_read=30)
TOO_LARGE: Final = "it has more than 20 MB, which is the most that Telegram gives to bots"

# What Telegram takes for each kind; anything else goes as a document.
PHOTOS: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
VOICES: Final = frozenset({"audio/ogg", "audio/opus", "audio/mpeg", "audio/mp4", "audio/x-m4a"})
AUDIOS: Final = frozenset({"audio/mpeg", "audio/mp4", "audio/x-m4a"})
VIDEOS: Final = frozenset({"video/mp4"})
NOT_AS_PHOTO: Final = ("photo_invalid_dimensions", "image_process_failed", "photo_ext_invalid")

Send = Callable[..., Awaitable[Message]]


class Files:
    """Sends files, and fetches those that people sent."""

    def __init__(self, client: Client, sending: Sending) -> None:
        self._client = client
        self._sending = sending

    async def upload(self, address: Address, attachment: Attachment) -> str:
        """Send the file at `attachment.path` as its kind is shown best; gives our id of its message."""
        path = Path(attachment.path or "")
        name = attachment.name or path.name
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise ChannelError(
                f"telegram: {name!r} can't be read ({error.strerror})", permanent=True
            ) from error
        field = way_of(attachment, name, len(data))
        try:
            return await self._send(address, field, data, name)
        except ChannelError as error:
            if field != "photo" or not any(part in str(error).lower() for part in NOT_AS_PHOTO):
                raise
        return await self._send(address, "document", data, name)

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write a file that somebody sent to `target`, whole or not at all."""
        if (attachment.size or 0) > MAX_DOWNLOAD:
            raise ChannelError(TOO_LARGE, permanent=True)
        url = await self._url(attachment.url or "")
        try:
            async with aiohttp.ClientSession(timeout=TRANSFER) as session:
                await self._fetch(session, url, attachment, target, max_bytes)
        except (aiohttp.ClientError, TimeoutError) as error:
            await asyncio.to_thread(target.unlink, missing_ok=True)
            # without its cause: the words of the client hold the URL, and that holds the token
            raise ChannelError(f"telegram: the file did not come ({type(error).__name__})") from None
        except ChannelError:
            await asyncio.to_thread(target.unlink, missing_ok=True)
            raise

    async def _send(self, address: Address, field: str, data: bytes, name: str) -> str:
        method = f"send_{field}"
        send: Send = getattr(self._client.bot, method)
        arguments: dict[str, Any] = {field: data, "filename": name, "message_thread_id": topic(address)}
        async with self._sending.calls(address, method) as chat:
            sent = await send(chat, **arguments)
        return message_name(sent.chat.id, sent.message_id)

    async def _url(self, file_id: str) -> str:
        """Where a file is, for an hour; the URL holds the token and goes nowhere but to Telegram."""
        try:
            with telegram_errors("getFile"):
                file = await self._client.bot.get_file(file_id)
        except ChannelError as error:
            if "too big" in str(error):
                raise ChannelError(TOO_LARGE, permanent=True) from error
            raise
        root, path = self._client.file_root, file.file_path or ""
        if not path.startswith(f"{root}/"):
            raise ChannelError("telegram: the file is not at the Bot API's address", permanent=True)
        return f"{root}/{quote(path.removeprefix(root + '/'))}"

    async def _fetch(
        self, session: aiohttp.ClientSession, url: str, attachment: Attachment, target: Path, max_bytes: int
    ) -> None:
        async with session.get(url, allow_redirects=False) as response:
            if response.status != 200:
                is_gone = response.status in (400, 401, 403, 404, 410) or 300 <= response.status < 400
                raise ChannelError(f"telegram: status {response.status} for a file", permanent=is_gone)
            if response.content_type == "text/html" and attachment.mime != "text/html":
                raise ChannelError("telegram: got a page instead of the file", permanent=True)
            await _write(response, target, max_bytes)


def way_of(attachment: Attachment, name: str, size: int) -> str:
    """As which kind Telegram shows a file best: `photo`, `voice`, `audio`, `video` or `document`."""
    mime = attachment.mime
    if mime == "application/octet-stream":
        mime = mimetypes.guess_type(name)[0] or mime
    if mime in PHOTOS and size <= MAX_PHOTO and attachment.kind == "image":
        return "photo"
    if attachment.kind == "voice" and mime in VOICES:
        return "voice"
    if attachment.kind in ("audio", "voice") and mime in AUDIOS:
        return "audio"
    return "video" if attachment.kind == "video" and mime in VIDEOS else "document"


async def _write(response: aiohttp.ClientResponse, target: Path, max_bytes: int) -> None:
    size = response.content_length or 0
    file = await asyncio.to_thread(target.open, "wb")
    with file:
        written = 0
        while size <= max_bytes and (chunk := await response.content.read(CHUNK)):
            written += len(chunk)
            size = max(size, written)
            await asyncio.to_thread(file.write, chunk)
    if size > max_bytes:
        raise ChannelError(f"it has more than {max_bytes / 1e6:.0f} MB", permanent=True)
