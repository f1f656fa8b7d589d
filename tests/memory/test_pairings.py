"""Who waits to be let in, as it is kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.commands.pairing import Request
from bot.messages import Address
from memory.database import DATABASE, Database
from memory.pairings import Pairings
from tests.commands.desk import message

REQUEST = Request(
    code="ABCDEFGH",
    kind="user",
    subject="telegram:default:42",
    name="Ann",
    address=Address(channel="telegram", chat="42"),
    asked_at=100.0,
    told_at=100.0,
    expires_at=200.0,
    message=message("hello"),
)
CHAT = replace(REQUEST, kind="chat", code="BBBBBBBB", asked_at=50.0, expires_at=300.0)


@pytest.fixture
async def pairings(home: Path) -> AsyncIterator[Pairings]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Pairings(database)


async def test_a_request_is_kept_as_it_is_with_its_message(pairings: Pairings) -> None:
    await pairings.put(REQUEST)

    assert await pairings.get(REQUEST.key) == REQUEST


async def test_a_person_and_a_chat_of_the_same_id_wait_beside_each_other(pairings: Pairings) -> None:
    await pairings.put(REQUEST)
    await pairings.put(CHAT)

    assert await pairings.open(100.0) == [CHAT, REQUEST]


async def test_a_request_takes_the_place_of_the_one_before(pairings: Pairings) -> None:
    await pairings.put(REQUEST)
    await pairings.put(replace(REQUEST, said=2))

    assert [one.said for one in await pairings.open(100.0)] == [2]


async def test_what_has_expired_is_kept_no_longer(pairings: Pairings) -> None:
    await pairings.put(REQUEST)
    await pairings.put(CHAT)
    left = await pairings.open(200.0)

    assert left == [CHAT]
    assert await pairings.get(REQUEST.key) is None


async def test_what_is_dropped_is_gone(pairings: Pairings) -> None:
    await pairings.put(REQUEST)
    await pairings.drop(REQUEST.key)
    await pairings.drop("user nobody")

    assert await pairings.open(0.0) == []
