"""`web_search`: asks a SearXNG server of the operator's, or else public search engines."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from importlib import import_module
from typing import Annotated, Any, Final, Protocol
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from bot.messages import Frozen
from bot.tools.base import Place, Tool, ToolFault
from bot.tools.declare import declare
from bot.tools.web import Fetcher, one_line, status_line, visible

SEARCH_SECONDS: Final = 15.0
ENGINE_SECONDS: Final = 5  # that public engines get; some of them are asked one after another
MAX_BYTES: Final = 2_000_000
MAX_HITS: Final = 20
MAX_QUERY: Final = 500  # characters
MAX_SNIPPET: Final = 500


class Hit(Frozen, frozen=True, kw_only=True):
    """A page that was found."""

    title: str
    url: str
    snippet: str = ""


class Engine(Protocol):
    """Finds pages."""

    async def search(self, query: str, count: int) -> list[Hit]:
        """Give up to `count` pages, best first.

        Raises:
            ToolFault: It could not be asked, or does not answer.
        """


class SearchTools:
    """The tool, over an engine."""

    def __init__(self, engine: Engine, *, seconds: float = SEARCH_SECONDS) -> None:
        self._engine = engine
        self._seconds = seconds

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.search,
                name="web_search",
                group="web",
                risk="network",
                effects=("reads_untrusted",),
                source="web",
                place=Place(kind="name", argument="query"),
                is_idempotent=True,
            ),
        )

    async def search(
        self,
        query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)],
        count: Annotated[int, Field(ge=1, le=MAX_HITS)] = 5,
    ) -> str:
        """Search the web; read what was found with web_fetch."""
        try:
            async with asyncio.timeout(self._seconds):
                hits = await self._engine.search(query, count)
        except TimeoutError as error:
            raise ToolFault(f"The search took longer than {self._seconds:g} s: try again later.") from error
        if not hits:
            return "Nothing was found: try other or fewer words."
        lines = [f"{number}. {_tell(hit)}" for number, hit in enumerate(hits[:count], 1)]
        return visible("\n".join(lines))


class _SearxHit(msgspec.Struct):
    title: str | None = None
    url: str | None = None
    content: str | None = None


class _SearxAnswer(msgspec.Struct):
    results: list[_SearxHit]


class SearxNG:
    """Asks a SearXNG server.

    Args:
        url: Its root.
        fetcher: Must let through the server's host, which mostly is a private one.

    Source: SearXNG documentation, Search API.
    """

    def __init__(self, url: str, fetcher: Fetcher) -> None:
        self._url = url.rstrip("/")
        self._fetcher = fetcher

    async def search(self, query: str, count: int) -> list[Hit]:
        """See `Engine`."""
        url = f"{self._url}/search?{urlencode({'q': query, 'format': 'json'})}"
        page = await self._fetcher.get(url, max_bytes=MAX_BYTES, seconds=SEARCH_SECONDS)
        if page.status == HTTPStatus.FORBIDDEN:
            raise ToolFault(
                "The search server does not give JSON: "
                "its operator must add json to search.formats in settings.yml."
            )
        if page.status != HTTPStatus.OK:
            raise ToolFault(f"The search server answers {status_line(page.status)}: try again later.")
        try:
            found = msgspec.json.decode(page.body, type=_SearxAnswer).results
        except msgspec.DecodeError as error:
            raise ToolFault("What BOT_SEARCH__URL names does not answer like a SearXNG server.") from error
        return [
            Hit(title=hit.title or hit.url, url=hit.url, snippet=hit.content or "")
            for hit in found
            if hit.url
        ][:count]


class PublicEngines:
    """Asks public search engines, which may refuse to be asked by programs at any time.

    Args:
        proxy: The proxy to go through.
    """

    def __init__(self, *, proxy: str | None = None) -> None:
        self._proxy = proxy

    async def search(self, query: str, count: int) -> list[Hit]:
        """See `Engine`; the threads of a search that is given up end by their own time limit."""
        return await asyncio.to_thread(self._search, query, count)

    def _search(self, query: str, count: int) -> list[Hit]:
        try:
            ddgs = import_module("ddgs")
            faults = import_module("ddgs.exceptions").DDGSException
        except ImportError as error:
            raise ToolFault(
                "There is no search engine: the operator can name a SearXNG server in BOT_SEARCH__URL, "
                "or install one: pip install 'switchboard-bot[web]'."
            ) from error
        # `Any`: ddgs gives dicts, whose keys depend on the engine that answered
        search: Callable[..., list[dict[str, Any]]] = ddgs.DDGS(
            proxy=self._proxy, timeout=ENGINE_SECONDS
        ).text
        try:
            found = search(query, max_results=count)
        except faults as error:
            if "No results" in str(error):
                return []
            raise ToolFault(
                "The public search engines do not answer: try again later. "
                "A SearXNG server in BOT_SEARCH__URL would be more reliable."
            ) from error
        return [
            Hit(title=str(hit.get("title", "")), url=str(hit["href"]), snippet=str(hit.get("body", "")))
            for hit in found
            if hit.get("href")
        ]


def _tell(hit: Hit) -> str:
    lines = [one_line(hit.title), one_line(hit.url), " ".join(hit.snippet.split())[:MAX_SNIPPET]]
    return "\n   ".join(line for line in lines if line)
