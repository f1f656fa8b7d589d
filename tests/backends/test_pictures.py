"""Pictures that tools give are seen at the next step, by whatever server; what is too much is left out."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bot.agent.estimate import estimate_picture
from bot.backends.base import AgentEvent, DoneEvent, ToolResultEvent, TurnInput
from bot.backends.draft import Draft
from bot.backends.native import NativeBackend
from bot.messages import RunId, SessionKey
from bot.models.base import FunctionCall, ModelProfile, Picture, PromptMessage, ToolCall
from bot.models.openai import OpenAIClient, Timeouts
from bot.models.pictures import MAX_SHOWN
from tests.backends.conformance.rig import PlayedTools, Remarks, result, shown, turn_of
from tests.pictures import GIF, png
from tests.simulators.model import Call, ModelServer, Reply, fail, say

PNG = Picture(mime="image/png", data=png(100, 100), width=100, height=100)
SMALL = Picture(mime="image/gif", data=GIF, width=21, height=13)


def wants(*names: str) -> Reply:
    """A step that calls these tools."""
    calls = tuple(Call(name=name, id=f"c{number}") for number, name in enumerate(names))
    return Reply(calls=calls, finish="tool_calls")


@asynccontextmanager
async def backend_on(server: ModelServer) -> AsyncIterator[NativeBackend]:
    profile = ModelProfile(window=10_000, max_output=500, sees=True)
    backend = NativeBackend(OpenAIClient(server.url, profile=profile, timeouts=Timeouts()), model="sim-1")
    try:
        yield backend
    finally:
        await backend.aclose()


async def answer(server: ModelServer, turn: TurnInput) -> list[AgentEvent]:
    async with backend_on(server) as backend:
        return [event async for event in backend.run(turn)]


def roles(server: ModelServer, request: int) -> list[str]:
    return [part["role"] for part in server.requests[request].body["messages"]]


async def test_pictures_follow_behind_all_results_of_their_step() -> None:
    tools = PlayedTools(a=result("one", pictures=(PNG,)), b=result("two", pictures=(SMALL,)))
    async with ModelServer() as server:
        server.script(wants("a", "b"), wants("c"), say("A red square."))
        events = await answer(server, turn_of(tools=tools, steering=Remarks()))

    assert shown(events) == "A red square."
    assert roles(server, 1) == ["user", "assistant", "tool", "tool", "user"]
    assert server.requests[1].pictures == server.requests[2].pictures == [PNG.data, SMALL.data]
    assert "1 from `a`, 1 from `b`" in server.requests[1].last_user_text


async def test_what_people_say_meanwhile_stands_behind_the_pictures() -> None:
    class Chatty(PlayedTools):
        async def call(self, call: ToolCall) -> ToolResultEvent:
            remarks.remarks.append("and in blue?")
            return await super().call(call)

    remarks = Remarks()
    async with ModelServer() as server:
        server.script(wants("a"), say("Done."))
        await answer(server, turn_of(tools=Chatty(a=result("one", pictures=(PNG,))), steering=remarks))

    assert roles(server, 1) == ["user", "assistant", "tool", "user", "user"]
    assert server.requests[1].last_user_text == "and in blue?"


async def test_a_server_that_takes_no_pictures_gets_the_results_all_the_same() -> None:
    tools = PlayedTools(a=result("one", pictures=(PNG,)))
    refusal = fail(400, "this model does not support images")
    async with ModelServer(eyes=lambda request: refusal) as server:
        server.script(wants("a"), wants("b"), say("I can't see it."))
        events = await answer(server, turn_of(tools=tools))

    assert isinstance(events[-1], DoneEvent)
    assert [len(request.pictures) for request in server.requests] == [0, 1, 0, 0]
    assert "[picture left out: the model cannot see]" in server.requests[-1].last_user_text


async def test_the_pictures_of_a_person_are_sent_at_each_step(tmp_path: Path) -> None:
    question = PromptMessage(role="user", content="what is it?", pictures=(PNG,))
    async with ModelServer() as server:
        server.script(wants("a"), say("Red."))
        await answer(server, turn_of((question,), tools=PlayedTools()))

    assert [request.pictures for request in server.requests] == [[PNG.data], [PNG.data]]
    first, second = (request.body["messages"][0] for request in server.requests)
    assert first == second
    assert "pictures" not in json.dumps(server.requests[0].body)


def draft_of(*messages: PromptMessage, tokens: int = 100) -> Draft:
    return Draft(
        TurnInput(
            session=SessionKey("s"),
            run=RunId("r"),
            messages=messages,
            prompt_tokens=tokens,
            tools=PlayedTools(),
        )
    )


def gave(*pictures: Picture) -> Sequence[ToolResultEvent]:
    call = ToolCall(id="c", function=FunctionCall(name="read", arguments="{}"))
    return [ToolResultEvent(call=call, content="", pictures=pictures)]


def test_the_prompt_counts_its_pictures_by_size() -> None:
    bare, small, large = draft_of(), draft_of(), draft_of()
    wide = Picture(mime="image/png", data=b"", width=2_000, height=2_000)
    for draft, pictures in ((bare, ()), (small, (SMALL,)), (large, (wide,))):
        draft.next_step(gave(*pictures))

    assert small.prompt_tokens - bare.prompt_tokens >= estimate_picture(21, 13)
    assert large.prompt_tokens - small.prompt_tokens == estimate_picture(2_000, 2_000) - estimate_picture(
        21, 13
    )


def test_a_turn_of_many_steps_does_not_gather_pictures_without_end() -> None:
    draft = draft_of()
    tokens = []
    for _ in range(50):
        draft.next_step(gave(PNG, SMALL))
        tokens.append(draft.prompt_tokens)
        assert sum(len(message.pictures) for message in draft.messages) <= MAX_SHOWN
        assert draft.messages[-1].pictures == (PNG, SMALL)

    assert max(tokens) < MAX_SHOWN * estimate_picture(100, 100) + 50 * 100


def test_what_people_say_counts_with_its_pictures() -> None:
    draft = draft_of(tokens=0)
    draft.hear((PromptMessage(role="user", content="", pictures=(PNG,)),))
    before = draft.prompt_tokens
    draft.refit((PromptMessage(role="user", content="", pictures=(PNG, PNG)),))

    assert before >= estimate_picture(100, 100)
    assert draft.prompt_tokens - before == estimate_picture(100, 100)
