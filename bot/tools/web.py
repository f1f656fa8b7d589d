"""`web_fetch`: reads a page of the web for the model, which may know it but must not obey it."""

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final, Protocol

from pydantic import Field

from bot.messages import Attachment, Frozen, new_id
from bot.tools.base import Place, Tool, ToolContext, ToolFault, ToolOutput
from bot.tools.declare import declare
from bot.tools.decoding import picture_type
from bot.tools.reading import Article, Reader, decode, looks_like_text

MAX_BYTES: Final = 5_000_000
FETCH_SECONDS: Final = 20.0
TOOL_SECONDS: Final = 40.0  # fetching, and then reading
WINDOW: Final = 20_000  # characters of a page that the model gets at a time
MAX_LINE: Final = 300  # characters of a title

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
# Control characters, and tag characters, with which text is hidden from people but not from models.
UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]")


class Page(Frozen, frozen=True, kw_only=True):
    """What a server answered.

    Attributes:
        url: Where it came from in the end.
        mime: In lower case, without parameters; empty where the server did not say.
        charset: As the server says, which need not be right.
        body: Unpacked.
        is_cut: There is more of the body.
        location: Where a redirect leads, as the server wrote it; it has no body.
    """

    url: str
    status: int
    mime: str = ""
    charset: str | None = None
    body: bytes = b""
    is_cut: bool = False
    location: str | None = None


class Fetcher(Protocol):
    """Gets pages, from hosts that may be reached."""

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int, seconds: float
    ) -> Page:
        """Get a page, following redirects; at most `max_bytes` of it.

        Args:
            headers: Sent to the host of `url` only.
            seconds: For all of it.

        Raises:
            ToolFault: The host may not be reached, or did not answer as it should.
        """


class WebTools:
    """The tool, over a network that knows where it may go.

    Args:
        media: The directory of files that belong to messages; pictures are put there.
    """

    def __init__(self, fetcher: Fetcher, *, media: Path, reader: Reader | None = None) -> None:
        self._fetcher = fetcher
        self._media = media
        self._reader = reader or Reader()

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.fetch,
                name="web_fetch",
                group="web",
                risk="network",
                effects=("reads_untrusted",),
                source="web",
                place=Place(kind="url", argument="url"),
                timeout=TOOL_SECONDS,
                is_idempotent=True,
            ),
        )

    async def fetch(
        self,
        url: str,
        context: ToolContext,
        as_text: bool = True,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> ToolOutput:
        """Read a web page, text file or picture.

        Args:
            url: Begins with http:// or https://.
            as_text: false gives the HTML source.
            offset: Character to go on from.
        """
        page = await self._fetcher.get(url, max_bytes=MAX_BYTES, seconds=FETCH_SECONDS)
        if page.status >= HTTPStatus.BAD_REQUEST:
            raise ToolFault(f"The server answers {status_line(page.status)}. {_advice(page.status)}")
        if (mime := picture_type(page.body)) is not None:
            return await self._show(page, mime, context)
        if not looks_like_text(page.mime, page.body):
            return ToolOutput(text=visible(f"URL: {one_line(page.url)}\n\nNot text: {_kind_and_size(page)}."))
        article = await self._read(page, as_text=as_text)
        return ToolOutput(text=_tell(page, article, offset))

    async def _read(self, page: Page, *, as_text: bool) -> Article:
        text = await asyncio.to_thread(decode, page.body, page.charset)
        is_html = page.mime in HTML or (not page.mime and text.lstrip()[:1] == "<")
        return await self._reader.read(text, page.url) if is_html and as_text else Article(text=text)

    async def _show(self, page: Page, mime: str, context: ToolContext) -> ToolOutput:
        if page.is_cut:
            raise ToolFault(f"The picture is larger than {MAX_BYTES // 1_000_000} MB: find a smaller one.")
        path = self._media / context.message.id / f"web-{new_id()}.{mime.removeprefix('image/')}"
        await asyncio.to_thread(_save, path, page.body)
        image = Attachment(kind="image", name=path.name, mime=mime, size=len(page.body), path=str(path))
        return ToolOutput(text=visible(f"URL: {one_line(page.url)}\n\nA picture."), images=(image,))


def visible(text: str) -> str:
    """What people would see of a text of the network; that it is foreign, `Screen` says to the model."""
    return UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """A title or the like, on one line and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"


def status_line(status: int) -> str:
    """A status as people say it: `404 Not Found`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _advice(status: int) -> str:
    match status:
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return "Check the address, or search for the page."
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN | HTTPStatus.TOO_MANY_REQUESTS:
            return "It does not let us in: use another source."
    return "Try again later, or use another source."


def _tell(page: Page, article: Article, offset: int) -> str:
    """A window of the text, with what there is to know about the page."""
    total = len(article.text)
    if offset and offset >= total:
        raise ToolFault(f"The text ends at character {total}: give a smaller offset.")
    window = article.text[offset : offset + WINDOW]
    facts = [f"URL: {one_line(page.url)}"]
    facts += [f"Title: {one_line(article.title)}"] if article.title else []
    facts += [f"Date: {one_line(article.date)}"] if article.date else []
    parts = [visible("\n".join(facts) + f"\n\n{window or '(the page has no text)'}")]
    if page.is_cut:
        parts.append(f"Only the first {MAX_BYTES // 1_000_000} MB of the page were read.")
    if offset + len(window) < total:
        end = offset + len(window)
        parts.append(f"Characters {offset} to {end} of {total}; call again with offset={end} for more.")
    return "\n".join(parts)


def _kind_and_size(page: Page) -> str:
    size = f"{'more than ' if page.is_cut else ''}{len(page.body):,} bytes"
    return f"{one_line(page.mime) or 'unknown type'}, {size}"


def _save(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as file:
        path.chmod(0o600)
        file.write(body)
