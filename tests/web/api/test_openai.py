"""The endpoint that OpenAI's clients talk to, with the real client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from bot.app import App
from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    TokenUsageEvent,
    TurnInput,
)
from bot.web.api.completions import Said
from tests.agent.rig import Gate, PlayedBackend
from tests.web.api.conftest import Connect

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]


@asynccontextmanager
async def client_of(app: App) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client with a key that may chat."""
    _, key = await app.store.api_keys.create("openai", ["chat"])
    async with openai.AsyncOpenAI(base_url=f"{app.url}/v1", api_key=key, timeout=20) as client:
        yield client


async def fail(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """An answer that does not come."""
    yield ErrorEvent(content="the model is on holiday")


async def count(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """An answer of two model calls."""
    yield TokenUsageEvent(model="m", prompt=10, completion=2, cached=4)
    yield TokenUsageEvent(model="m", prompt=20, completion=3)
    yield MessageEvent(content="counted")
    yield DoneEvent()


async def test_the_agent_is_a_model_that_completes_chats(app: App) -> None:
    async with client_of(app) as client:
        models = [model.id async for model in client.models.list()]
        answer = await client.chat.completions.create(model=models[0], messages=HELLO)

    assert models == ["switchboard"]
    assert answer.choices[0].message.content == "echo: hello "
    assert answer.choices[0].finish_reason == "stop"


async def test_a_stream_brings_the_answer_as_it_grows(app: App, gate: Gate) -> None:
    pieces = []
    async with client_of(app) as client:
        stream = await client.chat.completions.create(model="x", messages=HELLO, stream=True)
        async for chunk in stream:
            pieces.append(chunk.choices[0].delta.content)
            if chunk.choices[0].delta.content == "one ":
                gate.open()

    assert pieces == ["", "one ", "two", None]


async def test_tokens_of_all_model_calls_are_added_up(app: App, backend: PlayedBackend) -> None:
    backend.play = count
    async with client_of(app) as client:
        whole = await client.chat.completions.create(model="x", messages=HELLO)
        stream = await client.chat.completions.create(
            model="x", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        usages = [chunk.usage async for chunk in stream]

    for usage in (whole.usage, usages[-1]):
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (30, 5, 35)


async def test_a_failed_run_is_an_error_that_the_client_does_not_try_again(
    app: App, backend: PlayedBackend
) -> None:
    backend.play = fail
    async with client_of(app) as client:
        with pytest.raises(openai.APIStatusError, match="on holiday"):
            await client.chat.completions.create(model="x", messages=HELLO)
        stream = await client.chat.completions.create(model="x", messages=HELLO, stream=True)
        with pytest.raises(openai.APIError, match="on holiday"):
            async for _ in stream:
                pass

    assert len(backend.turns) == 2


async def test_without_a_session_a_request_brings_its_own_history_and_leaves_none(
    app: App, backend: PlayedBackend
) -> None:
    talk: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "I have a cat."}]},
        {"role": "assistant", "content": "Nice."},
        {"role": "user", "content": "What have I?"},
    ]
    async with client_of(app) as client:
        await client.chat.completions.create(model="x", messages=talk)
        await client.chat.completions.create(model="x", messages=HELLO)
    first, second = (turn.messages[-1].content for turn in backend.turns)

    assert [word in first for word in ("Be brief.", "I have a cat.", "Nice.", "What have I?")] == [True] * 4
    assert "cat" not in str(backend.turns[1].messages)
    assert second.endswith("hello")


@pytest.mark.parametrize("way", ["session", "user", "header"])
async def test_with_a_session_or_a_user_the_talk_goes_on_where_it_was(
    way: str, app: App, backend: PlayedBackend
) -> None:
    async with client_of(app) as client:
        for text in ("I have a cat.", "What have I?"):
            said: list[ChatCompletionMessageParam] = [{"role": "user", "content": text}]
            if way == "user":
                await client.chat.completions.create(model="x", messages=said, user="ann@example.org")
            else:
                headers = {"X-Session": "pets"} if way == "session" else {"X-User": "ann"}
                await client.chat.completions.create(model="x", messages=said, extra_headers=headers)

    assert "I have a cat." in str(backend.turns[1].messages)
    assert backend.turns[0].session == backend.turns[1].session


async def test_a_request_that_can_not_be_answered_is_refused_as_openai_would(
    app: App, connect: Connect
) -> None:
    async with client_of(app) as client:
        with pytest.raises(openai.BadRequestError, match="last message"):
            await client.chat.completions.create(model="x", messages=[{"role": "assistant", "content": "hi"}])
        with pytest.raises(openai.UnprocessableEntityError):
            await client.chat.completions.create(model="x", messages=HELLO, n=2)
    reader = await connect("read")
    refused = await reader.post("/v1/chat/completions", json={"messages": HELLO})

    assert refused.status_code == 403
    assert refused.json()["error"]["type"] == "invalid_request_error"


async def test_a_wrong_key_is_an_authentication_error(app: App) -> None:
    async with openai.AsyncOpenAI(base_url=f"{app.url}/v1", api_key="swb_no_key", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()


def test_what_was_streamed_is_never_said_again_nor_taken_back() -> None:
    plain, begun_anew, torn = Said(), Said(), Said()

    assert [plain.grow("a", replaces=False), plain.grow("b", replaces=False), plain.end("abc")] == [
        "a",
        "b",
        "c",
    ]
    assert begun_anew.grow("ab", replaces=False) + begun_anew.grow("abc", replaces=True) == "abc"
    assert begun_anew.grow("xy", replaces=True) == ""
    assert begun_anew.end("xyz") == "\n\nxyz"
    torn.grow("a", replaces=False)
    torn.lose()
    assert (torn.grow("c", replaces=False), torn.end("abc")) == ("", "bc")
