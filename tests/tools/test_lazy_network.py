"""The network of the tools: made when it is first needed, once, and closed with the bot."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from aiohttp import web

from bot.tools.lazy_network import LazyNetwork
from bot.tools.lazy_network import Network as AnyNetwork
from security.network import Network
from tests.tools.serving import serve

Make = Callable[[], AbstractAsyncContextManager[AnyNetwork]]


async def echo(request: web.Request) -> web.Response:
    """What was asked, and how."""
    body = await request.text()
    return web.Response(text=f"{request.method} {request.path} {request.headers.get('X-Own')} {body}")


class Workshop:
    """Makes networks that reach one server, and counts what becomes of them."""

    def __init__(self, port: int) -> None:
        self.allow = f"127.0.0.1:{port}"
        self.url = f"http://127.0.0.1:{port}/page"
        self.threads: list[threading.Thread] = []
        self.is_open: list[bool] = []

    def make(self) -> AbstractAsyncContextManager[Network]:
        self.threads.append(threading.current_thread())
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Network]:
        number = len(self.is_open)
        self.is_open.append(True)
        try:
            async with Network(allow=[self.allow]) as network:
                yield network
        finally:
            self.is_open[number] = False

    async def ask(self, network: LazyNetwork) -> str:
        page = await network.get(self.url, headers={"X-Own": "a"}, max_bytes=1_000, seconds=5)
        return page.body.decode()


@pytest.fixture
async def workshop() -> AsyncIterator[Workshop]:
    async with serve(echo) as port:
        yield Workshop(port)


async def test_nothing_is_made_before_it_is_needed(workshop: Workshop) -> None:
    async with LazyNetwork(workshop.make):
        pass

    assert workshop.threads == []


async def test_pages_are_fetched_and_apis_called_as_they_were_asked_for(workshop: Workshop) -> None:
    async with LazyNetwork(workshop.make) as network:
        fetched = await workshop.ask(network)
        called = await network.call(
            "PUT", workshop.url, headers={"X-Own": "b"}, body=b"data", max_bytes=1_000, seconds=5
        )

    assert fetched == "GET /page a "
    assert called.body == b"PUT /page b data"


async def test_the_limits_hold_behind_it(workshop: Workshop) -> None:
    async with LazyNetwork(workshop.make) as network:
        page = await network.get(workshop.url, max_bytes=3, seconds=5)

    assert page.body == b"GET"


async def test_many_who_need_it_at_once_share_one_that_is_made_in_a_thread(workshop: Workshop) -> None:
    async with LazyNetwork(workshop.make) as network, asyncio.TaskGroup() as group:
        asked = [group.create_task(workshop.ask(network)) for _ in range(10)]

    assert {task.result() for task in asked} == {"GET /page a "}
    assert len(workshop.threads) == 1
    assert workshop.threads[0] is not threading.main_thread()


async def test_it_is_closed_with_its_owner_also_after_an_error(workshop: Workshop) -> None:
    async def use() -> None:
        async with LazyNetwork(workshop.make) as network:
            await workshop.ask(network)
            assert workshop.is_open == [True]
            raise LookupError("the bot breaks")

    with pytest.raises(LookupError):
        await use()

    assert workshop.is_open == [False]


async def test_one_that_could_not_be_made_is_tried_again_with_the_next_call(workshop: Workshop) -> None:
    faults = [ImportError("no aiohttp"), OSError("no files left")]

    def make() -> AbstractAsyncContextManager[Network]:
        if faults:
            raise faults.pop(0)
        return workshop.make()

    async with LazyNetwork(make) as network:
        with pytest.raises(ImportError, match="no aiohttp"):
            await workshop.ask(network)
        with pytest.raises(OSError, match="no files left"):
            await workshop.ask(network)
        text = await workshop.ask(network)

    assert text == "GET /page a "
    assert workshop.is_open == [False]


async def test_who_is_stopped_while_it_is_made_holds_up_nobody(workshop: Workshop) -> None:
    is_being_made, may_go_on = threading.Event(), threading.Event()

    def make() -> AbstractAsyncContextManager[Network]:
        is_being_made.set()
        may_go_on.wait(5)
        return workshop.make()

    async with LazyNetwork(make) as network:
        stopped = asyncio.create_task(workshop.ask(network))
        await asyncio.to_thread(is_being_made.wait, 5)
        stopped.cancel()
        may_go_on.set()
        text = await workshop.ask(network)

    assert stopped.cancelled()
    assert text == "GET /page a "
    assert not any(workshop.is_open)
