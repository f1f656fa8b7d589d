"""Files that people sent, and files to send."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import aiohttp

from bot.errors import ChannelError, OutcomeUnknown
from bot.messages import Attachment
from channels.discord.errors import discord_errors
from channels.discord.rest import Rest

MAX_UPLOAD: Final = 10 * 2**20  # Source: Discord API reference, "Uploading Files"
CHUNK: Final = 2**16
TRANSFER: Final = aiohttp.ClientTimeout(total=600, connect=10, sock_read=60)
SHELVES: Final = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


async def open_file(attachment: Attachment) -> BinaryIO:
    """Open a file that is to be sent.

    Raises:
        ChannelError: It can't be read (permanent).
    """
    path = Path(attachment.path or "")
    try:
        return await asyncio.to_thread(path.open, "rb")
    except OSError as error:
        raise ChannelError(f"discord upload: {path.name!r} can't be read", permanent=True) from error


async def download(rest: Rest, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
    """Write a file that somebody sent to `target`; see `ChannelAdapter.download`."""
    url = attachment.url or ""
    _check(url, rest.base_url)
    try:
        with _nothing_is_unknown(), discord_errors("download"):
            async with rest.session.get(url, allow_redirects=False, timeout=TRANSFER) as response:
                _judge(response, attachment)
                await _write(response, target, max_bytes)
    except ChannelError:
        await asyncio.to_thread(target.unlink, missing_ok=True)
        raise


def _check(url: str, home: str) -> None:
    """Refuse to go anywhere but to Discord."""
    parts, own = urlsplit(url), urlsplit(home)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return
    if parts.scheme != "https" or parts.netloc not in SHELVES:
        raise ChannelError("discord download: the file is not on Discord", permanent=True)


def _judge(response: aiohttp.ClientResponse, attachment: Attachment) -> None:
    if response.status != 200:
        is_temporary = response.status >= 500 or response.status == 429
        raise ChannelError(f"discord download: status {response.status}", permanent=not is_temporary)
    if response.content_type == "text/html" and attachment.mime != "text/html":
        raise ChannelError("discord download: got a page, not the file", permanent=True)


async def _write(response: aiohttp.ClientResponse, target: Path, max_bytes: int) -> None:
    too_large = ChannelError(f"discord download: larger than {max_bytes} bytes", permanent=True)
    if (response.content_length or 0) > max_bytes:
        raise too_large
    size = 0
    file = await asyncio.to_thread(target.open, "wb")
    with file:
        async for chunk in response.content.iter_chunked(CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise too_large
            await asyncio.to_thread(file.write, chunk)


@contextmanager
def _nothing_is_unknown() -> Iterator[None]:
    """What shows nothing to anybody has failed, if its answer is lost."""
    try:
        yield
    except OutcomeUnknown as error:
        raise ChannelError(str(error)) from error
