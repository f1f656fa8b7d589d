"""Who may use the API, and for what."""

import asyncio
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from bot.agent.control import is_admin
from bot.app import App
from bot.errors import ConfigError
from bot.messages import Role
from bot.operations import keys
from bot.web.api.app import ROUTERS
from bot.web.api.asking import message_of
from bot.web.api.base import SCOPES, Caller
from tests.agent.rig import Gate
from tests.web.api.conftest import Connect
from tests.web.api.test_agent import post, wait

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{sorted(route.methods)} {route.path}")
def test_every_route_names_the_scope_that_it_needs(route: APIRoute) -> None:
    names = {dependency.call.__qualname__ for dependency in route.dependant.dependencies if dependency.call}

    assert "need.<locals>.check" in names


async def test_a_key_may_do_what_its_scopes_say_and_nothing_else(connect: Connect) -> None:
    wanted = {
        "read": ("GET", "/api/status"),
        "chat": ("GET", "/v1/models"),
        "operate": ("POST", "/api/journal/none/retry"),
        "admin": ("GET", "/api/keys"),
    }
    found = {}
    for scope in SCOPES:
        client = await connect(scope)
        found[scope] = {
            name
            for name, (method, path) in wanted.items()
            if (await client.request(method, path)).status_code != 403
        }

    assert found == {"read": {"read"}, "chat": {"chat"}, "operate": {"operate"}, "admin": set(SCOPES)}


async def test_nobody_comes_in_without_a_key_or_with_a_wrong_one(app: App, connect: Connect) -> None:
    client = await connect()
    wrong = ("swb_", "swb_none_x", "swb_" + "x" * 5_000, "other")
    answers = [await client.get("/api/status", headers={"Authorization": f"Bearer {text}"}) for text in wrong]
    _, text = await app.store.api_keys.create("one", ["read"])
    near = await client.get("/api/status", headers={"Authorization": f"Bearer {text[:-1]}"})

    assert {answer.status_code for answer in answers} <= {401, 429}
    assert near.status_code == 401


async def test_a_revoked_key_is_refused_from_the_next_request_on(app: App, connect: Connect) -> None:
    client = await connect("read")
    (key,) = await app.store.api_keys.all()
    before = await client.get("/api/status")
    await app.store.api_keys.revoke(key.id)
    after = await client.get("/api/status")

    assert (before.status_code, after.status_code) == (200, 401)


async def test_a_key_opens_the_api_and_not_the_page(connect: Connect) -> None:
    client = await connect("admin")

    assert (await client.get("/chat")).status_code == 401


async def test_what_makes_a_key_work_is_nowhere_in_the_data(app: App, tmp_path: Path) -> None:
    key, text = await app.store.api_keys.create("secret", ["chat"])
    _, id_, secret = text.split("_", 2)  # which may have more of them in it
    assert id_ == key.id

    files = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]

    assert files
    assert not any(secret.encode() in file.read_bytes() for file in files)


async def test_a_chat_key_sees_its_own_talks_alone(connect: Connect, gate: Gate) -> None:
    gate.open()
    ann, bob, reader = await connect("chat"), await connect("chat"), await connect("read")
    run = await post(ann, "a secret of Ann's")
    await wait(ann, run)
    session = (await ann.get(f"/api/runs/{run}")).json()["session"]

    theirs = [
        (await bob.get(f"/api/runs/{run}")).status_code,
        (await bob.post("/api/agent/wait", json={"runId": run})).status_code,
        (await bob.post(f"/api/runs/{run}/cancel")).status_code,
        (await bob.get("/api/messages", params={"session": session})).status_code,
    ]
    lists = [(await client.get("/api/sessions")).json()["sessions"] for client in (ann, bob, reader)]

    assert theirs == [404, 404, 404, 404]
    assert [len(sessions) for sessions in lists] == [1, 0, 1]


async def test_two_keys_that_name_the_same_talk_have_one_each(connect: Connect) -> None:
    ann, bob = await connect("chat"), await connect("chat")
    for client in (ann, bob):
        await wait(client, await post(client, session="plans"))
        (session,) = (await client.get("/api/sessions")).json()["sessions"]

        assert session["messages"] == 2


async def test_keys_are_made_and_revoked_over_the_api_and_that_is_audited(
    owner: httpx.AsyncClient, connect: Connect
) -> None:
    made = (await owner.post("/api/keys", json={"name": "ci", "scopes": ["read"]})).json()
    listed = (await owner.get("/api/keys")).json()["keys"]
    gone = await owner.delete(f"/api/keys/{made['key']['id']}")
    again = await owner.delete(f"/api/keys/{made['key']['id']}")
    events = (await owner.get("/api/audit", params={"action": "key *"})).json()["events"]

    assert made["text"].startswith("swb_")
    assert [(key["name"], key["scopes"]) for key in listed] == [("ci", ["read"])]
    assert (gone.status_code, again.status_code) == (200, 404)
    assert [event["action"] for event in events] == ["key revoke", "key create"]


async def test_the_command_line_makes_lists_and_revokes_keys_of_a_running_bot(
    app: App,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BOT_HOME", str(tmp_path / "home"))
    client = await connect()
    await asyncio.to_thread(keys.create, "script", ["read"])
    text = capsys.readouterr().out.splitlines()[0]
    headers = {"Authorization": f"Bearer {text}"}
    before = await client.get("/api/status", headers=headers)
    (key,) = await app.store.api_keys.all()
    await asyncio.to_thread(keys.revoke, key.id)
    await asyncio.to_thread(keys.show)

    assert before.status_code == 200
    assert (await client.get("/api/status", headers=headers)).status_code == 401
    assert "revoked" in capsys.readouterr().out


def test_a_scope_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="read, chat, operate, admin"):
        keys.create("x", ["root"])


async def test_a_key_speaks_with_the_rights_of_its_scopes(connect: Connect) -> None:
    texts = {}
    for scopes in (("chat",), ("admin",)):
        client = await connect(*scopes)
        texts[scopes] = (await wait(client, await post(client, "/admin restrictions")))["text"]

    assert "are answered" not in texts[("chat",)]
    assert "are answered" in texts[("admin",)]


def test_nobody_becomes_an_admin_by_the_name_a_key_gives_them() -> None:
    admins = {"api:boss"}
    key = Caller(account="0a1b2c", name="boss", scopes=("chat", "operate"))
    message = message_of(key, "hello", chat="main", user="boss")

    assert not is_admin(message, admins)
    assert message.sender.role is Role.MEMBER


async def test_nothing_waits_to_be_delivered_where_who_asks_reads_the_answer(
    app: App, owner: httpx.AsyncClient
) -> None:
    await wait(owner, await post(owner))

    assert await app.store.outbox.pending("api", "default") == []
