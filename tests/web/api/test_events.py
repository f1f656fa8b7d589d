"""`/ws/events` with a real WebSocket client: live, resumed, and only what a key may see."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bot.app import App
from tests.agent.rig import inbound
from tests.web.api.conftest import TOKEN, Connect
from tests.web.api.test_agent import post, wait


def events(app: App, query: str = "", token: str = TOKEN) -> connect:
    """A connection to the events."""
    url = f"{app.url}/ws/events{query}".replace("http", "ws", 1)
    return connect(url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None)


class Reader:
    """Reads items off a connection, however many come in a frame."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._items: list[dict[str, Any]] = []

    async def item(self) -> dict[str, Any]:
        """The next item."""
        async with asyncio.timeout(10):
            while not self._items:
                self._items += json.loads(await self._socket.recv())
        return self._items.pop(0)

    async def until_end(self) -> list[dict[str, Any]]:
        """The items until a turn is saved and its answer is whole; which comes first is not said."""
        items: list[dict[str, Any]] = []
        while not {"agent_end", "end"} <= {item.get("event", {}).get("type") for item in items}:
            items.append(await self.item())
        return items


async def test_a_reader_sees_a_turn_of_another_channel_as_it_happens(app: App) -> None:
    async with events(app) as socket:
        reader = Reader(socket)
        welcome = await reader.item()
        await app.bus.publish(inbound("hello"))
        told = await reader.until_end()

    kinds = [one["event"]["type"] for one in told]
    assert welcome["type"] == "welcome"
    assert {"inbox_update", "agent_start", "end", "agent_end"} <= set(kinds)
    assert [one["seq"] for one in told] == list(range(welcome["seq"] + 1, welcome["seq"] + 1 + len(told)))


async def test_a_reader_that_comes_back_gets_what_it_missed_and_nothing_twice(app: App) -> None:
    async with events(app) as socket:
        reader = Reader(socket)
        await reader.item()
        await app.bus.publish(inbound("hello"))
        first = await reader.item()
    await app.bus.publish(inbound("there", "other"))
    async with events(app, f"?after={first['seq']}") as socket:
        reader = Reader(socket)
        await reader.item()
        (second, *_) = await reader.until_end()

    assert second["seq"] == first["seq"] + 1


async def test_a_reader_of_long_ago_is_told_that_it_missed_something(app: App) -> None:
    async with events(app, "?after=5") as socket:
        reader = Reader(socket)
        frames = [await reader.item(), await reader.item()]

    assert [one["type"] for one in frames] == ["welcome", "missed"]


async def test_a_reader_may_ask_for_one_session_without_growing_text(app: App) -> None:
    async with events(app, "?session=web:default:b&text=0") as socket:
        reader = Reader(socket)
        await reader.item()
        for chat in ("a", "b"):
            await app.bus.publish(inbound("hello", chat))
        told = [await reader.item()]
        while told[-1]["event"]["type"] != "agent_end":
            told.append(await reader.item())

    assert {one["event"]["session"] for one in told} == {"web:default:b"}
    assert {"chunk", "end"}.isdisjoint(one["event"]["type"] for one in told)


async def test_a_chat_key_hears_of_its_own_talks_alone(app: App, connect: Connect) -> None:
    client = await connect("chat")
    token = client.headers["authorization"].removeprefix("Bearer ")
    async with events(app, token=token) as socket:
        reader = Reader(socket)
        await reader.item()
        await app.bus.publish(inbound("of somebody else"))
        await wait(client, await post(client))
        told = await reader.until_end()

    assert {one["event"]["session"].split(":")[0] for one in told} == {"api"}


async def test_a_stranger_and_a_wrong_number_are_turned_away(app: App, owner: httpx.AsyncClient) -> None:
    for token in ("swb_none_none", "nothing"):
        with pytest.raises(InvalidStatus, match="403"):
            await events(app, token=token).__aenter__()
    async with events(app, "?after=x") as socket:
        with pytest.raises(ConnectionClosed, match="number"):
            await socket.recv()


async def test_open_streams_do_not_hold_up_the_end_of_the_bot(app: App) -> None:
    async with events(app) as socket:
        reader = Reader(socket)
        await reader.item()
        async with asyncio.timeout(3):
            await app.__aexit__(None, None, None)
            with pytest.raises(ConnectionClosed):
                await socket.recv()
