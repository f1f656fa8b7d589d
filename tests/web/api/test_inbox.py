"""The inbox over the API: what is shown to whom, and what operators do."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from bot.app import App
from bot.messages import Address, Sender
from bot.tools.base import ToolContext
from tests.agent.rig import Gate, PlayedBackend
from tests.factories import inbound
from tests.memory.inbox.talking import ANN, BOB, talk
from tests.web.api.conftest import Connect
from tests.web.api.test_agent import post, wait

MAIN = "/api/inbox/" + quote("api:default:main", safe="")


async def said(client: httpx.AsyncClient, text: str = "hello", session: str = "main") -> None:
    """Somebody says something and is answered."""
    await wait(client, await post(client, text, session=session))


async def listed(client: httpx.AsyncClient, **wanted: Any) -> list[str]:
    """The chats of a page."""
    answer = await client.get("/api/inbox", params=wanted)
    assert answer.status_code == 200, answer.text
    return [one["chat"] for one in answer.json()["conversations"]]


async def shown(client: httpx.AsyncClient) -> dict[str, Any]:
    """The main conversation."""
    answer = await client.get(MAIN)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_list_is_read_page_by_page(owner: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await said(owner, session=name)

    first = (await owner.get("/api/inbox", params={"limit": 2})).json()
    second = (await owner.get("/api/inbox", params={"limit": 2, "cursor": first["next"]})).json()

    chats = [one["chat"] for page in (first, second) for one in page["conversations"]]
    assert chats == ["api:default:c", "api:default:b", "api:default:a"]
    assert second["next"] is None


@pytest.mark.parametrize("cursor", ["x", "äöü", "e30=", "bm9uc2Vuc2U="])
async def test_a_cursor_that_no_page_has_given_is_refused(owner: httpx.AsyncClient, cursor: str) -> None:
    answer = await owner.get("/api/inbox", params={"cursor": cursor})

    assert answer.status_code == 400
    assert "cursor" in answer.json()["error"]


async def test_a_conversation_has_all_that_an_operator_looks_for(owner: httpx.AsyncClient) -> None:
    await said(owner, "is it raining?")
    found = await shown(owner)
    counts = (await owner.get("/api/inbox/counts")).json()

    assert (found["chat"], found["channel"], found["person"]) == ("api:default:main", "api", "Owner")
    assert (found["state"], found["unread"], found["last"]["role"]) == ("open", 2, "assistant")
    assert found["waitingSince"] is None
    assert counts["states"] == {"open": 1, "waiting": 0, "handled": 0, "muted": 0}
    assert counts["unread"] == 1


async def test_the_turn_that_is_being_done_is_shown_and_stopped(owner: httpx.AsyncClient, gate: Gate) -> None:
    run = await post(owner)
    await gate.reached()
    during = await shown(owner)
    stopped = await owner.post(f"{MAIN}/stop")
    await wait(owner, run)
    again = await owner.post(f"{MAIN}/stop")

    assert during["runId"] == run
    assert during["waitingSince"] is not None
    assert (stopped.json(), again.json()) == ({"cancelled": True}, {"cancelled": False})


async def test_filters_say_which_conversations_are_wanted(owner: httpx.AsyncClient) -> None:
    await said(owner, session="main")
    await said(owner, session="other")
    for path, body in (
        ("state", {"state": "handled"}),
        ("labels", {"labels": ["vip"]}),
        ("assignee", {"assignee": "Olga"}),
        ("read", {}),
    ):
        assert (await owner.put(f"{MAIN}/{path}", json=body)).status_code == 200

    main, other = ["api:default:main"], ["api:default:other"]
    assert await listed(owner, state="handled") == main
    assert await listed(owner, label="vip") == main
    assert await listed(owner, assignee="Olga") == main
    assert await listed(owner, assignee="") == other
    assert await listed(owner, unread=True) == other
    assert await listed(owner, text="OTHER") == other
    assert await listed(owner, channel=["slack", "telegram"]) == []
    assert await listed(owner, direct=False) == []
    assert (await owner.get("/api/inbox/labels")).json() == {"labels": ["vip"]}


async def test_lines_and_tools_of_a_conversation_are_read(owner: httpx.AsyncClient) -> None:
    for text in ("one", "two"):
        await said(owner, text)

    newest = (await owner.get(f"{MAIN}/lines", params={"limit": 1})).json()
    newer = (await owner.get(f"{MAIN}/lines", params={"after": 2})).json()
    run = newest["messages"][0]["runId"]
    tools = await owner.get(f"{MAIN}/tools", params={"run": [run]})

    assert newest["before"] == 4
    assert [line["text"] for line in newer["messages"]] == ["two", "echo: two "]
    assert tools.json() == {"calls": []}


async def test_what_was_said_is_found_in_all_conversations(owner: httpx.AsyncClient) -> None:
    await said(owner, "a red bicycle", session="a")
    await said(owner, "a red car", session="b")
    hits = (await owner.get("/api/inbox/search", params={"q": "red bicycle"})).json()["hits"]

    assert {one["message"]["text"] for one in hits[:2]} == {"a red bicycle", "echo: a red bicycle "}
    assert {one["chat"] for one in hits[:2]} == {"api:default:a"}


async def test_notes_are_written_read_and_taken_away(owner: httpx.AsyncClient) -> None:
    await said(owner)
    note = await owner.post(f"{MAIN}/notes", json={"text": "be kind"})
    read = (await owner.get(f"{MAIN}/notes")).json()["notes"]
    path = f"{MAIN}/notes/{note.json()['id']}"
    gone = [(await owner.delete(path)).status_code for _ in range(2)]

    assert note.status_code == 201
    assert [(one["by"], one["text"]) for one in read] == [("Owner", "be kind")]
    assert gone == [200, 404]


async def test_an_operator_takes_over_answers_and_hands_back(
    owner: httpx.AsyncClient, connect: Connect, backend: PlayedBackend
) -> None:
    olga = await connect("read", "operate")
    await said(owner)
    taken = await olga.put(f"{MAIN}/taken")
    await said(owner, "are you a person?")
    during = await shown(olga)
    refused = await owner.put(f"{MAIN}/taken")
    reply = await olga.post(f"{MAIN}/reply", json={"text": "Yes.", "asOperator": True})
    after = await shown(olga)
    handed = await olga.delete(f"{MAIN}/taken")
    await said(owner, "good")

    assert [one.status_code for one in (taken, refused, reply, handed)] == [200, 409, 200, 200]
    assert (during["state"], during["takenBy"], after["state"]) == ("waiting", "test", "open")
    assert "test answers there already" in refused.json()["error"]
    assert len(backend.turns) == 2
    assert "Yes." in str(backend.turns[-1].messages)


async def test_what_can_not_be_done_is_a_conflict_that_says_why(owner: httpx.AsyncClient) -> None:
    await said(owner)
    back = await owner.delete(f"{MAIN}/taken")
    retry = await owner.post(f"{MAIN}/retry")
    question = await owner.post("/api/inbox/questions/none", json={"text": "yes"})

    assert [one.status_code for one in (back, retry, question)] == [409, 409, 409]
    assert all(one.json()["error"] for one in (back, retry, question))


@pytest.mark.parametrize("path", ["", "/lines", "/notes", "/tools?run=x"])
async def test_a_conversation_that_is_not_there_is_not_found(owner: httpx.AsyncClient, path: str) -> None:
    for chat in ("api:default:none", "none", "api%3Adefault%3Amain%23sub"):
        assert (await owner.get(f"/api/inbox/{chat}{path}")).status_code == 404


async def test_a_question_is_seen_and_answered_in_the_persons_stead(
    app: App, owner: httpx.AsyncClient
) -> None:
    await said(owner)
    context = ToolContext(message=inbound("paint it", session="api:default:main"))
    asking = asyncio.create_task(
        app.loop.questions.ask(context, "Which colour?", options=("red", "blue"), seconds=10)
    )
    await asyncio.sleep(0)  # it is asked
    waiting = (await owner.get("/api/inbox/questions")).json()["questions"]
    elsewhere = await owner.get("/api/inbox/questions", params={"chat": "api:default:other"})
    answered = await owner.post(f"/api/inbox/questions/{waiting[0]['id']}", json={"text": "blue"})

    assert (waiting[0]["text"], waiting[0]["options"]) == ("Which colour?", ["red", "blue"])
    assert elsewhere.json() == {"questions": []}
    assert (answered.status_code, await asking) == (200, "blue")


async def test_a_draft_is_seen_by_who_asked_and_nowhere_else(owner: httpx.AsyncClient) -> None:
    await said(owner)
    before = await shown(owner)
    draft = await owner.post(f"{MAIN}/draft")

    assert draft.status_code == 200
    assert draft.json()["text"]
    assert (await shown(owner))["messages"] == before["messages"]


async def test_canned_replies_are_kept_by_name(owner: httpx.AsyncClient) -> None:
    for text in ("We open at 9.", "We open at 8."):
        await owner.put("/api/inbox/canned/hours", json={"text": text})
    kept = (await owner.get("/api/inbox/canned")).json()["replies"]
    gone = [(await owner.delete("/api/inbox/canned/hours")).status_code for _ in range(2)]

    assert kept == [{"name": "hours", "text": "We open at 8."}]
    assert gone == [200, 404]


async def test_a_broadcast_is_looked_at_before_it_is_sent(owner: httpx.AsyncClient) -> None:
    nobody = await owner.post("/api/inbox/broadcasts/preview", json={"text": "hello all"})
    unknown = await owner.post("/api/inbox/broadcasts", json={"ticket": "none"})
    going = await owner.get("/api/inbox/broadcasts")
    stopped = await owner.delete("/api/inbox/broadcasts/none")

    assert (nobody.status_code, unknown.status_code) == (409, 409)
    assert "look at it again" in unknown.json()["error"]
    assert going.json() == {"broadcasts": []}
    assert stopped.json() == {"cancelled": False}


async def test_each_act_takes_the_scope_that_it_is_worth(owner: httpx.AsyncClient, connect: Connect) -> None:
    await said(owner)
    reader, operator, chatter = await connect("read"), await connect("operate"), await connect("chat")
    text = {"text": "hello"}

    looks = [(await one.get("/api/inbox")).status_code for one in (reader, operator, chatter)]
    acts = [(await one.post(f"{MAIN}/notes", json=text)).status_code for one in (reader, operator, chatter)]
    steers = [
        (await operator.request(method, path, json=body)).status_code
        for method, path, body in (
            ("PUT", f"{MAIN}/block", None),
            ("PUT", f"{MAIN}/dock", {"target": "a:b:c"}),
            ("DELETE", f"{MAIN}/dock", None),
            ("POST", "/api/inbox/broadcasts/preview", text),
            ("POST", "/api/inbox/broadcasts", {"ticket": "x"}),
        )
    ]

    assert looks == [200, 403, 403]
    assert acts == [403, 201, 403]
    assert steers == [403] * 5


async def test_acts_are_audited_under_the_key_and_without_what_was_said(
    app: App, owner: httpx.AsyncClient, connect: Connect
) -> None:
    await said(owner)
    operator = await connect("operate")
    await operator.post(f"{MAIN}/reply", json={"text": "a secret word"})
    await operator.put(f"{MAIN}/state", json={"state": "handled"})
    events = (await owner.get("/api/audit", params={"limit": 20})).json()["events"]

    (key,) = await app.store.api_keys.all()
    done = [one["action"] for one in events if one["actor"] == f"api:{key.id}"]
    assert {"reply", "mark"} <= {action.split()[-1] for action in done}
    assert "secret word" not in str(events)


async def test_a_person_is_blocked_and_heard_again(app: App, owner: httpx.AsyncClient) -> None:
    await talk(app.store)
    await app.store.chats.note_chat(Address(channel="telegram", chat="ann"), Sender(id="7", name="Ann"))
    path = "/api/inbox/" + quote(ANN, safe="")
    blocked = await owner.put(f"{path}/block")
    rules = dict(app.store.rules.of("user"))
    unblocked = await owner.delete(f"{path}/block")

    assert (blocked.status_code, unblocked.status_code) == (200, 200)
    assert rules == {"telegram:default:7": "block"}
    assert dict(app.store.rules.of("user")) == {}


async def test_answers_are_docked_to_another_chat_and_back(app: App, owner: httpx.AsyncClient) -> None:
    for chat in (ANN, BOB):
        await talk(app.store, chat=chat)
    path = "/api/inbox/" + quote(ANN, safe="")
    onto_itself = await owner.put(f"{path}/dock", json={"target": ANN})
    docked = await owner.put(f"{path}/dock", json={"target": BOB})
    during = (await owner.get(path)).json()["dockedTo"]
    undocked = await owner.delete(f"{path}/dock")

    assert [one.status_code for one in (onto_itself, docked, undocked)] == [409, 200, 200]
    assert during == BOB
    assert (await owner.get(path)).json()["dockedTo"] is None


@pytest.mark.parametrize("name", ["taken", "state", "read", "assignee", "labels", "block", "dock"])
async def test_a_canned_reply_may_be_called_like_an_act(owner: httpx.AsyncClient, name: str) -> None:
    path = f"/api/inbox/canned/{name}"
    kept = await owner.put(path, json={"text": "We open at nine."})
    listed = (await owner.get("/api/inbox/canned")).json()
    gone = await owner.delete(path)

    assert (kept.status_code, gone.status_code) == (200, 200)
    assert [one["name"] for one in listed["replies"]] == [name]
