"""The files that people send: fetched to our disk, checked, and voice notes put into words."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from msgspec.structs import replace

from bot.errors import ChannelError, ModelError
from bot.messages import Attachment, InboundMessage
from channels.base import ChannelAdapter

log = logging.getLogger(__name__)

DOWNLOAD_SECONDS: Final = 60.0
MAX_FILES: Final = 20  # of one message; what is beyond is told of
MB: Final = 1_000_000

# How files begin that say of themselves what they are; others are taken at their word.
SIGNATURES: Final = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "application/pdf": b"%PDF",
}

Transcribe: TypeAlias = Callable[[Path], Awaitable[str]]


class Platforms(Protocol):
    """Finds who can fetch a file."""

    def adapter(self, channel: str, account: str) -> ChannelAdapter | None: ...

    def max_file_bytes(self, channel: str) -> int: ...


class Media:
    """Fetches what came with messages, into a directory a message; what is there is not fetched again.

    Args:
        transcribe: Puts a voice note into words; `None` keeps it as a file.
    """

    def __init__(
        self, directory: Path, platforms: Platforms, *, transcribe: Transcribe | None = None
    ) -> None:
        self._directory = directory
        self._platforms = platforms
        self._transcribe = transcribe

    async def fetch(self, message: InboundMessage) -> InboundMessage:
        """See `bot.agent.seams.MediaSource`."""
        place = self._directory / message.id
        fetched = [
            await self._fetch(message, attachment, place / f"{number}-{_safe_name(attachment)}", number)
            for number, attachment in enumerate(message.attachments, 1)
        ]
        return replace(message, attachments=tuple(fetched))

    async def _fetch(
        self, message: InboundMessage, attachment: Attachment, target: Path, number: int
    ) -> Attachment:
        if attachment.path is not None:
            return attachment
        try:
            size = await asyncio.to_thread(_size, target)
            if size is None:
                size = await self._download(message, attachment, target, number)
        except (ChannelError, TimeoutError, OSError) as error:
            fault = _fault_of(error)
            log.warning(
                "file not fetched", extra={"channel": message.address.channel, "cause": type(error).__name__}
            )
            return replace(attachment, fault=fault, url=None)
        found = replace(attachment, path=str(target), size=size, url=None)
        return await self._put_into_words(found, target)

    async def _download(
        self, message: InboundMessage, attachment: Attachment, target: Path, number: int
    ) -> int:
        """Bring a file to disk, whole or not at all; gives its size in bytes."""
        address = message.address
        adapter = self._platforms.adapter(address.channel, address.account)
        most = self._platforms.max_file_bytes(address.channel)
        if adapter is None:
            raise ChannelError(f"channel {address.channel!r} is off", permanent=True)
        if number > MAX_FILES:
            raise ChannelError(f"only the first {MAX_FILES} files of a message are taken", permanent=True)
        if attachment.size is not None and attachment.size > most:
            raise ChannelError(
                f"it has {attachment.size / MB:.1f} MB, and at most {most / MB:.0f} are taken", permanent=True
            )
        part = target.with_name(f"{target.name}.part")
        await asyncio.to_thread(part.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                await adapter.download(attachment, part, max_bytes=most)
            return await asyncio.to_thread(_take_over, part, target, attachment.mime)
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    async def _put_into_words(self, attachment: Attachment, path: Path) -> Attachment:
        if attachment.kind != "voice" or self._transcribe is None:
            return attachment
        try:
            return replace(attachment, transcript=await self._transcribe(path))
        except ModelError as error:
            log.warning("voice note not transcribed", extra={"cause": str(error)})
            return attachment


def _fault_of(error: ChannelError | TimeoutError | OSError) -> str:
    """Why a file could not be fetched; of our disk, people learn nothing."""
    match error:
        case ChannelError():
            return str(error)
        case TimeoutError():
            return "it did not come in time"
    return "it could not be saved"


def _safe_name(attachment: Attachment) -> str:
    """A name that is nothing but a name, on any file system."""
    name = Path(attachment.name.replace("\\", "/")).name or attachment.kind
    name = re.sub(r"[^\w.\- ]", "_", name).strip(". ")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return _cut(name, 160) or attachment.kind
    return f"{_cut(stem, 160)}.{_cut(ending, 32)}"


def _cut(text: str, most: int) -> str:
    """As much of a name as file systems take, which count bytes."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _take_over(part: Path, target: Path, mime: str) -> int:
    """Give a file its name, unless it is not what it says it is; gives its size in bytes."""
    begins = SIGNATURES.get(mime)
    with part.open("rb") as file:
        head = file.read(16)
    if begins is not None and not head.startswith(begins):
        raise ChannelError(f"it is not the {mime} that it says it is", permanent=True)
    part.rename(target)
    return target.stat().st_size
