"""One session for the direct chats of somebody who is linked, where that is wanted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.messages import RunId, SessionKey
from memory.people.sharing import SharedSessions
from memory.store import Store
from tests.memory.people.conftest import ANN, ANN_AT_WORK, BOB, said

HOME, WORK, BOBS = (SessionKey(f"{name.replace(':', ':default:')}") for name in (ANN, ANN_AT_WORK, BOB))
NOBODYS = RunId("none")


@pytest.fixture
async def shared(home: Path) -> AsyncIterator[Store]:
    """A store in which Ann's two chats and one of Bob are known, and Ann's are linked."""
    async with Store(home, synchronous="NORMAL", share_sessions=True) as store:
        for who in (ANN, ANN_AT_WORK, BOB):
            await store.people.note(said(who))
        assert isinstance(store.sessions, SharedSessions)
        await store.sessions.join(await store.people.link(ANN, ANN_AT_WORK), ANN)
        yield store


async def where(store: Store) -> list[SessionKey]:
    """The sessions in which the chats go on: Ann's at home, at work, and Bob's."""
    return [await store.sessions.current(chat) for chat in (HOME, WORK, BOBS)]


async def test_linked_chats_go_on_where_the_first_one_is(shared: Store) -> None:
    assert await where(shared) == [HOME, HOME, BOBS]


async def test_a_new_session_of_one_chat_is_that_of_the_other(shared: Store) -> None:
    told: list[tuple[SessionKey, SessionKey]] = []
    shared.sessions.on_switch = lambda chat, session: told.append((chat, session))
    fresh = await shared.sessions.begin(WORK)
    again = await shared.sessions.begin(HOME)
    await shared.sessions.resume(WORK, fresh)

    assert told[:4] == [(WORK, fresh), (HOME, fresh), (HOME, again), (WORK, again)]
    assert await where(shared) == [fresh, fresh, BOBS]


async def test_the_shared_session_is_listed_in_both_chats(shared: Store) -> None:
    accepted = await shared.journal.accept(replace(said(ANN), text="boats"))
    at_work = await shared.sessions.of_chat(WORK)

    assert accepted.session == HOME
    assert [(one.session, one.is_current) for one in at_work] == [(HOME, True)]
    assert [one.session for one in await shared.sessions.of_chat(BOBS)] == [BOBS]


@pytest.mark.parametrize("how", ["delete", "erase"])
async def test_chats_stay_together_when_their_session_is_gone(shared: Store, how: str) -> None:
    if how == "delete":
        await shared.sessions.delete(HOME, HOME, but=NOBODYS)
    else:
        await shared.sessions.erase(WORK, but=NOBODYS)
    home, work, bobs = await where(shared)

    assert home == work != HOME
    assert bobs == BOBS


async def test_who_parts_goes_on_alone(shared: Store) -> None:
    assert isinstance(shared.sessions, SharedSessions)
    fresh = await shared.sessions.begin(WORK)
    await shared.sessions.part(*await shared.people.unlink(ANN_AT_WORK))

    assert await where(shared) == [HOME, fresh, BOBS]


async def test_those_who_are_left_stay_together(shared: Store) -> None:
    assert isinstance(shared.sessions, SharedSessions)
    await shared.sessions.join(await shared.people.link(ANN, BOB), ANN)
    together = await where(shared)
    await shared.sessions.part(*await shared.people.unlink(ANN))

    assert together == [HOME, HOME, HOME]
    home, work, bobs = await where(shared)
    assert home == HOME
    assert work == bobs != HOME


async def test_conversations_over_the_api_stay_apart(shared: Store) -> None:
    assert isinstance(shared.sessions, SharedSessions)
    for chat in ("main", "other"):
        await shared.people.note(said("api:k1", chat=chat))
    await shared.sessions.join(await shared.people.link(ANN, "api:k1"), ANN)
    kept = [await shared.sessions.current(SessionKey(f"api:default:{chat}")) for chat in ("main", "other")]

    assert kept == ["api:default:main", "api:default:other"]
