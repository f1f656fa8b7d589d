"""Runs over the API: a message in, a run out, and everything that can be asked about it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from bot.app import App
from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    ToolUseEvent,
    TurnInput,
)
from bot.messages import Missed
from bot.models.base import FunctionCall, ToolCall
from bot.web.api.runs import Grown
from tests.agent.rig import Gate, PlayedBackend
from tests.factories import chunk_of, inbound
from tests.web.api.conftest import Connect

SSE = {"Accept": "text/event-stream"}


async def post(client: httpx.AsyncClient, text: str = "hello", **more: object) -> str:
    """Hand the agent a message; gives the run."""
    answer = await client.post("/api/agent", json={"message": text, **more})
    assert answer.status_code == 202, answer.text
    run: str = answer.json()["runId"]
    return run


async def wait(client: httpx.AsyncClient, run: str, milliseconds: int = 10_000) -> dict[str, Any]:
    """Wait for a run."""
    answer = await client.post("/api/agent/wait", json={"runId": run, "timeoutMs": milliseconds})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def events_of(
    client: httpx.AsyncClient, run: str, **headers: str
) -> list[tuple[int, str, dict[str, Any]]]:
    """What the stream of a run tells, up to its end: number, name and data."""
    found = []
    async with client.stream("GET", f"/api/runs/{run}", headers=SSE | headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = (await answer.aread()).decode()
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


async def test_a_message_comes_back_at_once_as_a_run_that_can_be_waited_for(
    owner: httpx.AsyncClient, gate: Gate
) -> None:
    posted = await owner.post("/api/agent", json={"message": "hello"})
    early = await wait(owner, posted.json()["runId"], 0)
    gate.open()
    late = await wait(owner, posted.json()["runId"])

    assert set(posted.json()) == {"runId", "acceptedAt", "session"}
    assert early["status"] == "timeout"
    assert (late["status"], late["text"]) == ("ok", "one two")
    assert late["startedAt"] <= late["endedAt"]
    assert "error" not in late


async def test_a_run_that_was_over_before_anybody_waited_is_known(owner: httpx.AsyncClient) -> None:
    run = await post(owner)
    await wait(owner, run)

    again = await wait(owner, run, 0)
    state = (await owner.get(f"/api/runs/{run}")).json()

    assert again["status"] == "ok"
    assert (state["status"], state["text"], state["session"]) == ("done", "echo: hello ", "api:default:main")


async def test_a_run_that_fails_says_why(owner: httpx.AsyncClient, backend: PlayedBackend) -> None:
    async def fail(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield ErrorEvent(content="the model is on holiday")

    backend.play = fail

    result = await wait(owner, await post(owner))

    assert result["status"] == "error"
    assert "on holiday" in result["error"]


async def test_what_is_sent_twice_with_one_key_is_done_once(
    owner: httpx.AsyncClient, backend: PlayedBackend
) -> None:
    first = await post(owner, idempotencyKey="order 7")
    second = await post(owner, idempotencyKey="order 7")
    await wait(owner, first)

    assert second == first
    assert len(backend.turns) == 1


async def test_people_behind_one_key_talk_each_for_themselves(
    connect: Connect, backend: PlayedBackend
) -> None:
    client = await connect("chat")
    for user in ("ann", "bob"):
        await wait(client, await post(client, f"I am {user}", user=user))

    sessions = {turn.session for turn in backend.turns}

    assert len(sessions) == 2
    assert "I am ann" not in str(backend.turns[1].messages)


async def test_an_unknown_run_is_not_found_however_it_is_asked_for(owner: httpx.AsyncClient) -> None:
    state = await owner.get("/api/runs/none")
    stream = await owner.get("/api/runs/none", headers=SSE)
    waited = await owner.post("/api/agent/wait", json={"runId": "none"})

    assert [answer.status_code for answer in (state, stream, waited)] == [404, 404, 404]
    assert "no such run" in state.json()["error"]


async def test_the_stream_of_a_run_tells_of_all_that_happens_in_it(
    owner: httpx.AsyncClient, backend: PlayedBackend
) -> None:
    call = ToolCall(id="c1", function=FunctionCall(name="look", arguments='{"at":"it"}'))

    async def work(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield ThinkingEvent(content="hm")
        yield ToolUseEvent(call=call)
        yield ToolResultEvent(call=call, content="seen")
        yield TokenUsageEvent(model="m", prompt=5, completion=7)
        yield MessageEvent(content="I saw it")
        yield DoneEvent()

    backend.play = work

    told = await events_of(owner, await post(owner))

    data = [(name, one) for _, name, one in told]
    assert data[0] == ("lifecycle", {"phase": "start", "attempt": 1})
    assert ("thinking", {"text": "hm"}) in data
    assert [one["phase"] for name, one in data if name == "tool"] == ["start", "result"]
    assert ("usage", {"model": "m", "prompt": 5, "completion": 7, "cached": 0}) in data
    assert "".join(one["delta"] for name, one in data if name == "assistant") == "I saw it"
    assert data[-1] == ("lifecycle", {"phase": "end", "reason": "done", "text": "I saw it"})
    assert [number for number, *_ in told] == sorted({number for number, *_ in told})


async def test_a_stream_shows_the_answer_as_it_grows(owner: httpx.AsyncClient, gate: Gate) -> None:
    run = await post(owner)
    grown = ""
    async with asyncio.timeout(10), owner.stream("GET", f"/api/runs/{run}", headers=SSE) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: ") and "delta" in line:
                grown += json.loads(line[6:])["delta"]
                gate.open()
            if '"phase":"end"' in line:
                break

    assert grown == "one two"


async def test_who_comes_back_to_a_stream_gets_only_what_came_after(owner: httpx.AsyncClient) -> None:
    run = await post(owner)
    every = await events_of(owner, run)

    rest = await events_of(owner, run, **{"Last-Event-ID": str(every[0][0])})

    assert rest == every[1:]


async def test_a_run_can_be_cancelled_and_keeps_what_was_said(owner: httpx.AsyncClient, gate: Gate) -> None:
    run = await post(owner)
    await gate.reached()

    answer = await owner.post(f"/api/runs/{run}/cancel")
    again = await owner.post(f"/api/runs/{run}/cancel")
    result = await wait(owner, run)

    assert (answer.json(), again.json()) == ({"cancelled": True}, {"cancelled": False})
    assert result["status"] == "error"
    assert result["text"].startswith("one ")


async def test_a_message_that_waits_can_be_cancelled_and_the_running_one_goes_on(
    owner: httpx.AsyncClient, gate: Gate, app: App
) -> None:
    first = await post(owner, "first")
    await gate.reached()
    second = await post(owner, "second")

    answer = await owner.post(f"/api/runs/{second}/cancel")
    gate.open()
    results = [await wait(owner, run) for run in (first, second)]

    assert answer.json() == {"cancelled": True}
    assert [result["status"] for result in results] == ["ok", "error"]


async def test_a_cancelled_run_is_in_the_audit_log_with_who_did_it(
    owner: httpx.AsyncClient, gate: Gate
) -> None:
    run = await post(owner)
    await gate.reached()
    await owner.post(f"/api/runs/{run}/cancel")

    events = (await owner.get("/api/audit", params={"action": "kill_*"})).json()["events"]

    assert [(event["actor"], event["runId"]) for event in events] == [("api:default", run)]


async def test_what_was_taken_up_by_a_running_turn_ends_with_that_turn(
    owner: httpx.AsyncClient, backend: PlayedBackend
) -> None:
    gate = Gate()

    async def work(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        await gate.wait()
        added = await turn.steering.take()
        yield MessageEvent(content=f"both, {len(added)} added")
        yield DoneEvent()

    backend.play = work
    first = await post(owner, "first")
    await gate.reached()
    second = await post(owner, "second")
    stream = asyncio.create_task(events_of(owner, second))
    gate.open()
    told = await stream

    assert (await wait(owner, first))["text"] == "both, 1 added"
    assert {"phase": "taken_up", "by": first} in [data for *_, data in told]
    assert told[-1][2]["text"] == "both, 1 added"


def test_the_pieces_of_an_answer_are_the_whole_of_it_whatever_was_missed() -> None:
    message = inbound("hello")
    torn, anew, early = Grown(), Grown(), Grown()
    torn.note(chunk_of(message, "a"))
    torn.note(Missed(count=1))
    anew.note(chunk_of(message, "a"))
    anew.note(chunk_of(message, "b", replaces=True))
    early.note(chunk_of(message, "a"))

    assert torn.rest("abc") == {"delta": "abc", "replaces": True}
    assert anew.rest("b") is None
    assert early.rest("abc") == {"delta": "bc", "replaces": False}
