"""What a provider can keep of a prompt: request after request of a whole bot begins like the one before."""

import json
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from bot.agent.estimate import estimate_schema
from bot.agent.history import estimate_tokens
from bot.messages import Role, Sender
from bot.models.base import ToolSchema
from tests.simulators.model import Reply, Request, call, say
from tests.test_agent import ANN, Talk, talking

SHARE = 0.9  # of the bytes of a request
NOTES = "You keep the notes"  # how the prompt of a summary begins
MOST = 2_000  # tokens
STRANGER = Sender(id="eve", name="Eve", role=Role.MEMBER)


def lists_files_first(request: Request) -> Reply:
    """Every other turn lists the files before it answers; a summary is three words."""
    last = request.body["messages"][-1]
    if NOTES in request.body["messages"][0]["content"]:
        return say("They talked much.")
    if last["role"] == "user" and last["content"].endswith("even"):
        return call("list", '{"path": "."}')
    return say(f"This is my answer to what you have said: {last['content'][:40]}")


async def talk_for(talk: Talk, turns: int) -> None:
    talk.model.respond = lists_files_first
    await talk.app.settled()  # the tools of the sandbox come a moment after the start
    for number in range(turns):
        await talk.answer(f"Here is question number {number}, which is {'odd' if number % 2 else 'even'}")


def shares(requests: list[Request]) -> list[float]:
    """How much of each request but the first are the first bytes of the one before."""
    return [same_bytes(before.raw, after.raw) / len(after.raw) for before, after in pairwise(requests)]


def same_bytes(before: bytes, after: bytes) -> int:
    """How many bytes the beginnings have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def is_summary(request: Request) -> bool:
    return NOTES in request.body["messages"][0]["content"]


async def test_each_request_of_a_talk_begins_like_the_one_before(home: Path) -> None:
    async with talking(home, context_top_k=200) as talk:
        await talk_for(talk, 50)
        requests = talk.model.requests

    assert len(requests) == 75
    assert min(shares(requests)) >= SHARE
    assert "question number 0," in str(requests[-1].body["messages"][1])


async def test_a_summary_changes_how_requests_begin_once_for_many_turns(home: Path) -> None:
    changes = {"context_top_k": 200, "context_tokens": 900, "compaction": {"summary_tokens": 100}}
    async with talking(home, **changes) as talk:
        await talk_for(talk, 50)
        requests = [request for request in talk.model.requests if not is_summary(request)]
        summaries = len(talk.model.requests) - len(requests)

    changed = sum(share < SHARE for share in shares(requests))
    assert 2 <= summaries <= 8
    assert changed <= summaries


@pytest.mark.parametrize("sender", [STRANGER, ANN], ids=["stranger", "trusted"])
async def test_what_is_sent_with_every_message_of_a_chat_is_short(home: Path, sender: Sender) -> None:
    async with talking(home, tools={"admin_profile": "chat"}) as talk:
        await talk.answer("hello", sender)
        (request,) = talk.model.requests

    system, tools = request.body["messages"][0]["content"], request.body["tools"]
    written = json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()
    assert len(tools) > 15
    assert estimate_tokens(system) + sum(map(estimate_schema, map(schema_of, tools))) <= MOST
    assert (len(system.encode()) + len(written)) / 4 <= MOST


def schema_of(tool: dict[str, Any]) -> ToolSchema:
    """A tool as it was before it went out."""
    function = tool["function"]
    parameters = json.dumps(function["parameters"], separators=(",", ":")).encode()
    return ToolSchema(name=function["name"], description=function["description"], parameters=parameters)
