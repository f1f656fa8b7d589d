"""Files to and from Slack."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp

from bot.errors import ChannelError, OutcomeUnknown
from bot.messages import Address, Attachment
from channels.slack.client import Client
from channels.slack.errors import Refused, slack_errors
from channels.slack.wire import Done, FileInfo, UploadTarget

MAX_UPLOAD: Final = 100 * 2**20  # Slack takes 1 GB
CHUNK: Final = 2**16
HOPS: Final = 3
TRANSFER: Final = aiohttp.ClientTimeout(total=600, connect=10, sock_read=60)
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
BY_ID: Final = "slack:"  # how the `url` of a file begins of which only the id is known
MOST: Final = 200


class Files:
    """Sends files, and fetches those that people sent."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sent: OrderedDict[str, str] = OrderedDict()

    async def upload(self, address: Address, attachment: Attachment, *, key: str) -> str:
        """Send a file; gives the file's id, as Slack does not say which message shows it.

        Source: docs.slack.dev, "Working with files": ask for a URL, post the bytes, complete. Only the last
        of these shows anything, so only its outcome matters.
        """
        path = Path(attachment.path or "")
        name = attachment.name or path.name
        length = await asyncio.to_thread(_size, path)
        with _nothing_is_unknown():
            arguments = {"filename": name, "length": str(length)}
            target = await self._client.call("files.getUploadURLExternal", UploadTarget, arguments)
            await self._send(path, target.upload_url)
        self._remember(key, target.file_id)
        arguments_of_completion = {
            "files": [{"id": target.file_id, "title": name}],
            "channel_id": address.chat,
            "thread_ts": address.thread,
        }
        await self._client.call("files.completeUploadExternal", Done, arguments_of_completion)
        return target.file_id

    def sent(self, key: str) -> str | None:
        """The id of the file that was to be sent under a key, in this process."""
        return self._sent.get(key)

    async def delete(self, file_id: str) -> None:
        """Take a file back; one that is gone already is no error."""
        try:
            await self._client.call("files.delete", Done, {"file": file_id})
        except Refused as error:
            if error.code not in ("file_not_found", "file_deleted"):
                raise

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write a file that somebody sent to `target`."""
        url = await self._url(attachment)
        try:
            with _nothing_is_unknown(), slack_errors("download"):
                for _ in range(HOPS):
                    onward = await self._fetch(url, attachment, target, max_bytes)
                    if onward is None:
                        return
                    url = onward
        except ChannelError:
            await asyncio.to_thread(target.unlink, missing_ok=True)
            raise
        raise ChannelError("slack download: too many redirects", permanent=True)

    async def _send(self, path: Path, url: str) -> None:
        file = await asyncio.to_thread(path.open, "rb")
        with file, slack_errors("upload"):
            async with self._client.session.post(url, data=file, timeout=TRANSFER) as response:
                if response.status != 200:
                    raise ChannelError(f"slack upload: status {response.status}")

    async def _url(self, attachment: Attachment) -> str:
        url = attachment.url or ""
        if not url.startswith(BY_ID):
            return url
        info = await self._client.call("files.info", FileInfo, {"file": url.removeprefix(BY_ID)})
        return info.file.url_private_download or info.file.url_private or ""

    async def _fetch(self, url: str, attachment: Attachment, target: Path, max_bytes: int) -> str | None:
        """Fetch one URL; gives where it leads on to, if it does."""
        self._check(url)
        headers = {"Authorization": f"Bearer {self._client.token}"}
        session = self._client.session
        async with session.get(url, headers=headers, allow_redirects=False, timeout=TRANSFER) as response:
            if response.status in REDIRECTS:
                return urljoin(url, response.headers.get("Location", ""))
            if response.status != 200:
                permanent = response.status in (401, 403, 404, 410)
                raise ChannelError(f"slack download: status {response.status}", permanent=permanent)
            if response.content_type == "text/html" and attachment.mime != "text/html":
                raise ChannelError(
                    "slack download: got a sign-in page, not the file; the app needs the scope files:read",
                    permanent=True,
                )
            await _write(response, target, max_bytes)
        return None

    def _check(self, url: str) -> None:
        """Refuse to take the token anywhere but to Slack."""
        parts, home = urlsplit(url), urlsplit(self._client.base_url)
        if (parts.scheme, parts.netloc) == (home.scheme, home.netloc):
            return
        host = parts.hostname or ""
        if parts.scheme != "https" or not (host == "slack.com" or host.endswith(".slack.com")):
            raise ChannelError("slack download: the file is not on Slack", permanent=True)

    def _remember(self, key: str, file_id: str) -> None:
        self._sent[key] = file_id
        while len(self._sent) > MOST:
            self._sent.popitem(last=False)


@contextmanager
def _nothing_is_unknown() -> Iterator[None]:
    """What shows nothing to anybody has failed, if its answer is lost."""
    try:
        yield
    except OutcomeUnknown as error:
        raise ChannelError(str(error)) from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise ChannelError(f"slack upload: {path.name!r} can't be read", permanent=True) from error


async def _write(response: aiohttp.ClientResponse, target: Path, max_bytes: int) -> None:
    if (response.content_length or 0) > max_bytes:
        raise ChannelError(f"slack download: larger than {max_bytes} bytes", permanent=True)
    size = 0
    file = await asyncio.to_thread(target.open, "wb")
    with file:
        async for chunk in response.content.iter_chunked(CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise ChannelError(f"slack download: larger than {max_bytes} bytes", permanent=True)
            await asyncio.to_thread(file.write, chunk)
