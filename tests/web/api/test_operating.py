"""What an operator asks over the API: sessions, messages, schedules, the journal, the audit log."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from bot.app import App
from tests.agent.rig import Gate
from tests.web.api.conftest import Connect
from tests.web.api.test_agent import post, wait

ROOT = Path(__file__).parents[3]


async def test_sessions_and_their_messages_are_read_page_by_page(owner: httpx.AsyncClient) -> None:
    for chat in ("a", "b", "c"):
        for text in ("one", "two"):
            await wait(owner, await post(owner, text, session=chat))

    first = (await owner.get("/api/sessions", params={"limit": 2})).json()
    second = (await owner.get("/api/sessions", params={"limit": 2, "before": first["next"]})).json()
    newest = (await owner.get("/api/messages", params={"session": "api:default:a", "limit": 3})).json()
    older = (
        await owner.get("/api/messages", params={"session": "api:default:a", "before": newest["before"]})
    ).json()

    names = [one["session"] for page in (first, second) for one in page["sessions"]]
    assert names == ["api:default:c", "api:default:b", "api:default:a"]
    assert [line["text"] for page in (older, newest) for line in page["messages"]] == [
        *("one", "echo: one ", "two", "echo: two ")
    ]
    assert (second["next"], older["before"]) == (None, None)


async def test_a_schedule_is_made_paused_resumed_and_deleted(owner: httpx.AsyncClient) -> None:
    made = await owner.post("/api/schedules", json={"when": "in 2 hours", "text": "water the plants"})
    chat = {"chat": made.json()["chat"]}
    paused = await owner.post("/api/schedules/1/pause", params=chat)
    resumed = await owner.post("/api/schedules/1/resume", params=chat)
    listed = (await owner.get("/api/schedules")).json()["schedules"]
    deleted = await owner.delete("/api/schedules/1", params=chat)
    left = (await owner.get("/api/schedules", params=chat)).json()["schedules"]

    assert made.status_code == 201
    assert [answer.json()["isPaused"] for answer in (paused, resumed)] == [True, False]
    assert [(one["number"], one["text"]) for one in listed] == [(1, "water the plants")]
    assert (deleted.status_code, left) == (200, [])


async def test_a_time_that_nobody_understands_is_refused_with_the_reason(owner: httpx.AsyncClient) -> None:
    answer = await owner.post("/api/schedules", json={"when": "whenever", "text": "x"})

    assert answer.status_code == 400
    assert answer.json()["error"]


async def test_a_chat_key_changes_its_own_schedules_alone(connect: Connect) -> None:
    ann, bob = await connect("chat"), await connect("chat")
    chat = (await ann.post("/api/schedules", json={"when": "in 2 hours", "text": "x"})).json()["chat"]

    theirs = await bob.delete("/api/schedules/1", params={"chat": chat})
    seen = (await bob.get("/api/schedules", params={"chat": chat})).json()["schedules"]
    own = await ann.delete("/api/schedules/1", params={"chat": chat})

    assert (theirs.status_code, seen, own.status_code) == (404, [], 200)


async def test_the_status_and_the_journal_show_what_runs(owner: httpx.AsyncClient, gate: Gate) -> None:
    run = await post(owner)
    await gate.reached()

    status = (await owner.get("/api/status")).json()
    journal = (await owner.get("/api/journal")).json()
    retried = await owner.post(f"/api/journal/{run}/retry")

    assert [turn["run"] for turn in status["running"]] == [run]
    assert [(entry["run"], entry["state"]) for entry in journal] == [(run, "running")]
    assert retried.status_code == 404
    assert "parked" in retried.json()["error"]


@pytest.mark.parametrize(
    ("path", "word"),
    [("/api/agent", "message"), ("/v1/chat/completions", "messages"), ("/api/keys", "scopes")],
)
async def test_what_is_wrong_with_a_request_is_said(owner: httpx.AsyncClient, path: str, word: str) -> None:
    empty = await owner.post(path, json={})
    junk = await owner.post(path, content=b"{not json", headers={"Content-Type": "application/json"})

    assert (empty.status_code, junk.status_code) == (422, 422)
    assert word in str(empty.json()["error"])


async def test_a_field_that_is_not_known_is_refused(owner: httpx.AsyncClient) -> None:
    answer = await owner.post("/api/agent", json={"message": "hello", "sesion": "typo"})

    assert answer.status_code == 422
    assert "sesion" in answer.json()["error"]


async def test_a_store_that_fails_is_no_fault_of_ours_and_leaks_nothing(
    app: App, owner: httpx.AsyncClient
) -> None:
    await owner.get("/api/sessions")
    await app.store.__aexit__(None, None, None)
    answer = await owner.get("/api/sessions")
    await app.store.__aenter__()

    assert answer.status_code == 503
    assert "try again" in answer.json()["error"]


def test_the_api_costs_nothing_until_it_is_asked_for(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from pathlib import Path
from bot import App
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for

async def main():
    async with App(settings_for(Path(sys.argv[1])), backend=PlayedBackend()):
        heavy = {"fastapi", "prometheus_client", "opentelemetry", "bot.web.api.app", "bot.meters"}
        print("LOADED", *sorted(heavy & set(sys.modules)))

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert done.stdout.splitlines()[-1].split() == ["LOADED"]


async def test_who_waits_is_listed_and_a_wrong_code_lets_nobody_in(owner: httpx.AsyncClient) -> None:
    waiting = await owner.get("/api/pairings")
    refused = await owner.post("/api/pairings/000000", params={"role": "member"})
    junk = await owner.post("/api/pairings/000000", params={"role": "king"})

    assert waiting.json() == []
    assert (refused.status_code, junk.status_code) == (404, 422)
    assert "code" in refused.json()["error"]
