"""People and what is remembered of them and of groups, over the API."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from bot.app import App
from bot.long_term import Fact, Origin, Scope
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for
from tests.memory.people.conftest import ANN, ANN_AT_WORK, BOB, said
from tests.web.api.conftest import Connect

GROUP = "/api/chats/telegram:default:-100/memories"


@pytest.fixture
async def ann(app: App) -> str:
    """Where Ann is found; Bob is known, too."""
    await app.store.people.note(said(ANN, name="Ann"))
    await app.store.people.note(said(BOB, name="Bob"))
    return f"/api/people/{ANN}"


async def learn(app: App, scope: Scope, *texts: str) -> None:
    memories = app.remembering.memories
    assert memories is not None
    await memories.learn(scope, [Fact(text=text) for text in texts], Origin(how="learned", by=ANN))


async def test_people_are_listed_found_and_read_page_by_page(owner: httpx.AsyncClient, ann: str) -> None:
    first = (await owner.get("/api/people", params={"limit": 1})).json()
    second = (await owner.get("/api/people", params={"before": first["before"]})).json()
    found = (await owner.get("/api/people", params={"text": "an"})).json()
    shown = (await owner.get(ann)).json()

    names = [one["name"] for page in (first, second) for one in page["people"]]
    assert names == ["Bob", "Ann"]
    assert (second["before"], found["people"]) == (None, [shown])
    assert (shown["identities"], shown["zone"]) == ([ANN], "")
    assert (await owner.get(f"/api/people/{shown['id']}")).json() == shown


async def test_somebody_is_named_and_noted(app: App, owner: httpx.AsyncClient, ann: str) -> None:
    change = {"name": "Ann of Boats", "language": "pt-br", "zone": "europe/berlin", "notes": "pays on time"}
    changed = (await owner.patch(ann, json=change)).json()
    taken_back = (await owner.patch(ann, json={"notes": "", "zone": ""})).json()

    assert [changed[name] for name in change] == ["Ann of Boats", "pt-BR", "Europe/Berlin", "pays on time"]
    assert [taken_back[name] for name in change] == ["Ann of Boats", "pt-BR", "", ""]
    assert app.store.people.habits(ANN).language == "pt-BR"


@pytest.mark.parametrize("change", [{"zone": "Europe/Berln"}, {"language": "klingonish"}, {"nme": "x"}])
async def test_what_can_not_be_is_refused(owner: httpx.AsyncClient, ann: str, change: Any) -> None:
    answer = await owner.patch(ann, json=change)

    assert answer.status_code == 422
    assert next(iter(change)) in answer.json()["error"]


async def test_identities_are_linked_and_parted(app: App, owner: httpx.AsyncClient, ann: str) -> None:
    linked = await owner.post(f"{ann}/link", json={"identity": ANN_AT_WORK})
    again = await owner.post(f"{ann}/link", json={"identity": ANN_AT_WORK})
    strange = await owner.post(f"{ann}/unlink", json={"identity": BOB})
    parted = (await owner.post(f"{ann}/unlink", json={"identity": ANN_AT_WORK})).json()
    alone = await owner.post(f"{ann}/unlink", json={"identity": ANN})
    audited = (await owner.get("/api/audit", params={"action": "person *"})).json()["events"]

    assert linked.json()["identities"] == [ANN, ANN_AT_WORK]
    assert (again.status_code, strange.status_code, alone.status_code) == (409, 404, 409)
    assert (parted["person"]["identities"], parted["left"]["identities"]) == ([ANN_AT_WORK], [ANN])
    assert [one["action"] for one in audited] == ["person unlink", "person link"]
    assert app.store.people.key_of(ANN) == ANN


async def test_who_is_not_known_is_not_found(owner: httpx.AsyncClient, ann: str) -> None:
    paths = ["/api/people/99", "/api/people/telegram:44", "/api/people/telegram:44/memories"]

    assert [(await owner.get(path)).status_code for path in paths] == [404, 404, 404]


@pytest.mark.parametrize("of_group", [True, False])
async def test_memories_are_added_changed_found_and_forgotten(
    owner: httpx.AsyncClient, ann: str, of_group: bool
) -> None:
    path = GROUP if of_group else f"{ann}/memories"
    made = await owner.post(path, json={"text": "likes  boats"})
    again = await owner.post(path, json={"text": "Likes boats!"})
    await owner.post(path, json={"text": "likes trees"})
    changed = (await owner.patch(f"{path}/1", json={"text": "likes ships"})).json()
    first = (await owner.get(path, params={"limit": 1})).json()
    second = (await owner.get(path, params={"limit": 1, "before": first["before"]})).json()
    found = (await owner.get(path, params={"text": "ships"})).json()
    gone = await owner.delete(f"{path}/1")
    missing = [await owner.delete(f"{path}/1"), await owner.patch(f"{path}/1", json={"text": "x"})]
    rest = (await owner.delete(path)).json()

    assert (made.status_code, made.json()["text"], made.json()["by"]) == (201, "likes boats", "api:default")
    assert again.status_code == 409
    assert (changed["text"], changed["previous"]) == ("likes ships", "likes boats")
    assert [page["memories"][0]["number"] for page in (first, second)] == [2, 1]
    assert [one["text"] for one in found["memories"]] == ["likes ships"]
    assert (gone.status_code, [one.status_code for one in missing]) == (200, [404, 404])
    assert rest == {"forgotten": 1}


async def test_a_memory_that_says_nothing_is_refused(owner: httpx.AsyncClient, ann: str) -> None:
    answer = await owner.post(f"{ann}/memories", json={"text": " … "})

    assert (answer.status_code, "says nothing" in answer.json()["error"]) == (422, True)


async def test_the_memories_of_a_linked_person_are_those_of_all_channels(
    app: App, owner: httpx.AsyncClient, ann: str
) -> None:
    await learn(app, Scope(kind="person", key=ANN), "likes boats")
    await learn(app, Scope(kind="person", key=BOB), "likes rain")
    await learn(app, Scope(kind="chat", key="telegram:default:-100"), "meets on Mondays")
    await owner.post(f"{ann}/link", json={"identity": ANN_AT_WORK})
    at_work = (await owner.get(f"/api/people/{ANN_AT_WORK}/memories")).json()["memories"]

    assert [(one["text"], one["by"], one["how"]) for one in at_work] == [("likes boats", ANN, "learned")]


async def test_keys_do_what_their_scopes_say(connect: Connect, ann: str) -> None:
    chat, reader, operator = await connect("chat"), await connect("read"), await connect("operate")
    body = {"identity": ANN_AT_WORK}

    looks = [(await one.get(f"{ann}/memories")).status_code for one in (chat, reader, operator)]
    lists = [(await one.get("/api/people")).status_code for one in (chat, reader)]
    adds = [
        (await one.post(path, json={"text": f"likes {number}"})).status_code
        for path in (f"{ann}/memories", GROUP)
        for number, one in enumerate((chat, reader, operator))
    ]
    names = [(await one.patch(ann, json={"name": "x"})).status_code for one in (reader, operator)]
    links = [(await one.post(f"{ann}/link", json=body)).status_code for one in (reader, operator)]

    assert (looks, lists) == ([403, 200, 403], [403, 200])
    assert adds == [403, 403, 201, 403, 403, 201]
    assert (names, links) == ([403, 200], [403, 403])


async def test_who_may_not_ask_does_not_learn_who_is_known(connect: Connect, ann: str) -> None:
    chat = await connect("chat")
    unknown = "/api/people/telegram:44"
    body = {"identity": ANN_AT_WORK}

    answers = [
        answer.status_code
        for person in (ann, unknown)
        for answer in (
            await chat.get(person),
            await chat.patch(person, json={"name": "x"}),
            await chat.post(f"{person}/link", json=body),
            await chat.post(f"{person}/unlink", json=body),
            await chat.get(f"{person}/memories"),
            await chat.post(f"{person}/memories", json={"text": "x"}),
            await chat.patch(f"{person}/memories/1", json={"text": "x"}),
            await chat.delete(f"{person}/memories/1"),
            await chat.delete(f"{person}/memories"),
        )
    ]

    assert answers == [403] * 18


@pytest.fixture
async def forgetful(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a bot without a memory."""
    home = tmp_path_factory.mktemp("forgetful")
    settings = settings_for(home, memory={"backend": "off"})
    async with (
        App(settings, backend=PlayedBackend()) as app,
        httpx.AsyncClient(base_url=app.url or "", timeout=20) as client,
    ):
        yield client


async def test_a_bot_without_memory_says_so(forgetful: httpx.AsyncClient) -> None:
    answer = await forgetful.get(GROUP)

    assert (answer.status_code, "BOT_MEMORY__BACKEND" in answer.json()["error"]) == (409, True)
