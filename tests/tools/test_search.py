"""`web_search`: over a SearXNG server, and what is said when nobody can be asked."""

import asyncio
import json
import socket
import sys
from collections.abc import Mapping

import pytest
from aiohttp import web

from bot.tools.base import ToolFault
from bot.tools.search import Engine, Hit, PublicEngines, SearchTools, SearxNG
from security.network import Network
from tests.tools.serving import Answer, serve


class Found:
    """An engine that finds the same pages for everybody."""

    def __init__(self, *hits: Hit) -> None:
        self._hits = list(hits)

    async def search(self, query: str, count: int) -> list[Hit]:
        return self._hits


class Asleep:
    """An engine that never answers."""

    async def search(self, query: str, count: int) -> list[Hit]:
        await asyncio.Event().wait()
        return []


async def ask(answer: Answer, query: str = "tea", count: int = 5) -> str:
    """Search on a SearXNG server on loopback that the operator has named."""
    async with serve(answer) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        return await SearchTools(SearxNG(f"http://127.0.0.1:{port}/", network)).search(query, count)


def gives(body: str, status: int = 200) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=body, status=status, content_type="application/json")

    return answer


def results(*hits: Mapping[str, object]) -> str:
    return json.dumps({"query": "tea", "number_of_results": 0, "results": hits})


async def test_pages_are_found_with_title_address_and_snippet() -> None:
    asked: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append({"path": request.path, **request.query})
        hits: list[Mapping[str, object]] = [
            {"title": "Tea", "url": "https://tea.example/", "content": "All  about\ntea.", "score": 1.5},
            {"title": None, "url": "https://b.example/", "content": None},
            {"title": "No address"},
        ]
        return web.Response(text=results(*hits), content_type="application/json")

    text = await ask(answer, "tea & biscuits")

    assert asked == [{"path": "/search", "q": "tea & biscuits", "format": "json"}]
    assert "1. Tea\n   https://tea.example/\n   All about tea.\n2. https://b.example/" in text
    assert "No address" not in text


async def test_no_more_pages_are_told_of_than_were_asked_for() -> None:
    hits = [{"title": f"t{number}", "url": f"https://{number}.example/"} for number in range(9)]

    text = await ask(gives(results(*hits)), count=2)

    assert "t1" in text
    assert "t2" not in text


async def test_an_engine_that_gives_too_much_is_cut() -> None:
    hits = [Hit(title="t" * 5_000, url="https://x.example/" + "u" * 5_000, snippet="s" * 5_000)] * 30

    text = await SearchTools(Found(*hits)).search("tea", 20)

    assert text.count("https://x.example/") == 20
    assert len(text) < 25_000


async def test_nothing_found_is_told_as_such() -> None:
    assert "Nothing was found" in await ask(gives(results()))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (gives("<html>", 403), "json to search.formats"),
        (gives("busy", 429), "429 Too Many Requests"),
        (gives("<html>hello</html>"), "does not answer like a SearXNG server"),
        (gives("{}"), "does not answer like a SearXNG server"),
        (gives('{"results": [{"url": 5}]}'), "does not answer like a SearXNG server"),
    ],
)
async def test_a_search_server_that_does_not_work_is_told_as_such(answer: Answer, why: str) -> None:
    with pytest.raises(ToolFault, match=why):
        await ask(answer)


async def test_an_engine_that_never_answers_is_given_up() -> None:
    with pytest.raises(ToolFault, match=r"longer than 0\.05 s"):
        await SearchTools(Asleep(), seconds=0.05).search("tea")


async def test_public_engines_that_can_not_be_reached_are_told_as_such() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        engine: Engine = PublicEngines(proxy=f"http://127.0.0.1:{held.getsockname()[1]}")

        with pytest.raises(ToolFault, match="do not answer: try again later"):
            await SearchTools(engine).search("tea")


async def test_without_an_engine_it_is_said_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)

    with pytest.raises(ToolFault, match=r"BOT_SEARCH__URL.*switchboard-bot\[web\]"):
        await SearchTools(PublicEngines()).search("tea")


def test_the_tool_takes_reasonable_questions_only() -> None:
    (tool,) = SearchTools(Asleep()).tools()

    assert (tool.name, tool.group, tool.risk) == ("web_search", "web", "network")
    for wrong in (
        {"query": ""},
        {"query": "x" * 501},
        {"query": "x", "count": 21},
        {"query": "x", "count": 0},
    ):
        with pytest.raises(ValueError, match="validation error"):
            tool.arguments(**wrong)
