"""The client of compatible servers, against a real server on loopback that behaves well or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.base import (
    CompleteToolCall,
    Finish,
    FunctionCall,
    ModelEvent,
    ModelProfile,
    ModelRequest,
    PromptMessage,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolSchema,
    Usage,
)
from bot.models.openai import OpenAIClient, Timeouts
from tests.simulators.model import Call, ModelServer, Reply, call, fail, say

KEY = "sk-very-secret-0123456789"
REQUEST = ModelRequest(
    model="sim-1", messages=(PromptMessage(role="user", content="hello"),), max_completion_tokens=64
)
QUICK = Timeouts(connect=2, first_token=0.2, silence=0.2, call=5)


@asynccontextmanager
async def connected(
    server: ModelServer, key: str | None = None, timeouts: Timeouts | None = None
) -> AsyncIterator[OpenAIClient]:
    profile = ModelProfile(window=1000, max_output=100)
    client = OpenAIClient(server.url, key, profile=profile, timeouts=timeouts or Timeouts())
    try:
        yield client
    finally:
        await client.aclose()


async def ask(
    reply: Reply, request: ModelRequest = REQUEST, timeouts: Timeouts | None = None
) -> list[ModelEvent]:
    async with ModelServer() as server, connected(server, timeouts=timeouts) as client:
        server.script(reply)
        return [event async for event in client.stream(request)]


def text_of(events: Iterable[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events: Iterable[ModelEvent]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, CompleteToolCall)]


def raw(*deltas: dict[str, Any], finish: str | None = "stop") -> Reply:
    """A stream of these deltas, in one write."""
    choices: list[dict[str, Any]] = [{"delta": delta} for delta in deltas]
    choices.append({"delta": {}, "finish_reason": finish})
    lines = [f"data: {json.dumps({'choices': [choice]})}\n\n".encode() for choice in choices]
    return Reply(raw=(b"".join([*lines, b"data: [DONE]\n\n"]),))


async def test_an_answer_comes_with_its_usage_and_its_end() -> None:
    events = await ask(say("Hello to you"))

    assert text_of(events) == "Hello to you"
    assert events[-2:] == [
        Usage(model="sim-1", prompt=11, completion=7, cached=5),
        Finish(reason="stop"),
    ]


async def test_the_request_is_what_the_api_asks_for() -> None:
    made = ToolCall(id="c1", function=FunctionCall(name="add", arguments="{}"))
    messages = (
        PromptMessage(role="assistant", content="", tool_calls=(made,)),
        PromptMessage(role="tool", content="3", tool_call_id="c1"),
    )
    tool = ToolSchema(name="add", description="Adds.", parameters=b'{"type":"object"}')
    request = ModelRequest(model="sim-1", messages=messages, max_completion_tokens=64, tools=(tool,))
    async with ModelServer(key=KEY) as server, connected(server, KEY) as client:
        [_ async for _ in client.stream(request)]
        sent = server.requests[0]

    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "sim-1",
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "add", "arguments": "{}"}, "type": "function"}
                ],
            },
            {"role": "tool", "content": "3", "tool_call_id": "c1"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 64,
        "tools": [
            {
                "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}},
                "type": "function",
            }
        ],
    }


async def test_half_a_character_in_a_prompt_does_not_stop_it() -> None:
    message = PromptMessage(role="user", content="half \ud83d of it")
    request = ModelRequest(model="sim-1", messages=(message,), max_completion_tokens=64)

    assert text_of(await ask(Reply(tokens=("fine",)), request)) == "fine"


async def test_without_a_key_none_is_sent() -> None:
    async with ModelServer() as server, connected(server) as client:
        [_ async for _ in client.stream(REQUEST)]

    assert "authorization" not in server.requests[0].headers


async def test_tokens_come_as_they_are_sent() -> None:
    gate = asyncio.Event()
    async with ModelServer() as server, connected(server) as client:
        server.script(Reply(tokens=("one", " two"), gate=gate))
        async with aclosing(client.stream(REQUEST)) as events:
            first = await anext(events)
            gate.set()
            rest = [event async for event in events]

    assert first == TextDelta(text="one")
    assert text_of(rest) == " two"


async def test_a_burst_of_tokens_is_one_event() -> None:
    events = await ask(raw(*({"content": f"{n} "} for n in range(50))))

    assert events == [TextDelta(text="".join(f"{n} " for n in range(50))), Finish(reason="stop")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart(field: str) -> None:
    events = await ask(raw({field: "let me see"}, {"content": "4"}))

    assert events[:2] == [ReasoningDelta(text="let me see"), TextDelta(text="4")]


async def test_a_refusal_is_told_apart() -> None:
    assert RefusalDelta(text="I won't.") in await ask(Reply(refusal="I won't."))


async def test_tool_calls_are_put_together_from_their_pieces() -> None:
    two = (Call(name="add", arguments='{"a": 1, "b": 2}', id="c1"), Call(name="now", arguments="", id="c2"))
    events = await ask(Reply(tokens=("Let me see.",), calls=two, finish="tool_calls"))

    assert calls_of(events) == [
        ToolCall(id="c1", function=FunctionCall(name="add", arguments='{"a": 1, "b": 2}')),
        ToolCall(id="c2", function=FunctionCall(name="now", arguments="{}")),
    ]
    assert events[-1] == Finish(reason="tool_calls")


def piece(name: str | None, arguments: object, **rest: object) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **rest}]}


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([piece("a", "{}", id="1"), piece("b", '{"x":1}', id="2")], id="whole, without index"),
        pytest.param(
            [piece("a", "{}", id="1", index=0), piece("b", '{"x":1}', id="2", index=0)], id="all at index 0"
        ),
        pytest.param([piece("a", {}), piece("b", {"x": 1})], id="objects, without ids"),
        pytest.param([piece("a", "{}"), piece("b", '{"x"'), piece(None, ":1}")], id="pieces, without ids"),
        pytest.param(
            [piece("a", "{}", index=0), piece("b", '{"x"', index=1), piece("b", ":1}", index=1)],
            id="names again",
        ),
        pytest.param(
            [piece("a", "{}", id="1", index=3), piece("b", '{"x":1}', id="1", index=5)], id="ids that repeat"
        ),
    ],
)
async def test_odd_servers_have_their_tool_calls_understood(pieces: list[dict[str, Any]]) -> None:
    calls = calls_of(await ask(raw(*pieces, finish="tool_calls")))

    assert [(made.function.name, json.loads(made.function.arguments)) for made in calls] == [
        ("a", {}),
        ("b", {"x": 1}),
    ]
    assert len({made.id for made in calls}) == 2
    assert all(0 < len(made.id) <= 40 for made in calls)


async def test_content_in_parts_is_joined() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "b"},
    ]

    assert text_of(await ask(raw({"content": parts}))) == "ab"


async def test_nulls_and_unknown_fields_are_passed_over() -> None:
    chunks = [
        {"choices": None, "usage": None, "error": None, "extra": [1]},
        {"choices": []},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": None, "tool_calls": None, "role": "assistant"}}]},
        {"choices": [{"delta": {"content": "ok"}, "finish_reason": ""}]},
        {"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": None}},
    ]
    body = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)

    assert await ask(Reply(raw=(body,))) == [
        TextDelta(text="ok"),
        Usage(model="sim-1", prompt=3, completion=0),
        Finish(reason="stop"),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_line_ends_and_comments_do_not_matter(newline: str) -> None:
    events = await ask(Reply(tokens=("你好", " 🌍"), newline=newline, has_comments=True))

    assert text_of(events) == "你好 🌍"


async def test_characters_may_be_cut_anywhere() -> None:
    reply = raw({"content": "placeholder"})
    body = (reply.raw or (b"",))[0].replace(b"placeholder", "naïve 🌍".encode())

    assert text_of(await ask(Reply(raw=tuple(body[at : at + 1] for at in range(len(body)))))) == "naïve 🌍"


async def test_a_server_that_never_says_done_is_fine() -> None:
    assert text_of(await ask(Reply(tokens=("a", "b"), ends=False, has_usage=False))) == "ab"


async def test_a_server_that_cannot_stream_is_fine() -> None:
    reply = Reply(tokens=("all at once",), calls=(Call(name="add", id="c1"),), is_whole=True, finish="stop")
    events = await ask(reply)

    assert text_of(events) == "all at once"
    assert [made.id for made in calls_of(events)] == ["c1"]
    assert events[-1] == Finish(reason="stop")


async def test_a_kept_connection_that_the_server_has_closed_costs_nothing_but_a_new_one() -> None:
    answer = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(answer)
    served = 0

    async def serve_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"}")
        served += 1
        writer.write(head + answer)
        await reader.readexactly(1)  # of the next request on this connection, which is refused by hanging up
        writer.transport.abort()

    async with await asyncio.start_server(serve_once, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client = OpenAIClient(url, profile=ModelProfile(window=10, max_output=1), timeouts=Timeouts())
        texts = [text_of([event async for event in client.stream(REQUEST)]) for _ in range(2)]
        await client.aclose()

    assert texts == ["a", "a"]
    assert served == 2


async def test_connections_are_used_again() -> None:
    async with ModelServer() as server, connected(server) as client:
        for _ in range(5):
            [_ async for _ in client.stream(REQUEST)]
        sockets = server.connections

    assert sockets == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(Reply(tokens=("a", "b", "c"), cut_after=1), "broke|can't be reached", id="cut"),
        pytest.param(Reply(tokens=("a",), finish=None, ends=False), "broke off", id="no end"),
        pytest.param(Reply(raw=(b"data: {nonsense\n\n",)), "not an answer", id="junk"),
        pytest.param(Reply(raw=(b'data: {"choices": 7}\n\n',)), "not an answer", id="other shape"),
        pytest.param(Reply(raw=(b"\x00\xff" * 50,)), "broke off", id="noise"),
        pytest.param(Reply(raw=(b"",)), "broke off", id="nothing"),
        pytest.param(
            Reply(tokens=("a", "b"), error_after=1, error={"message": "overloaded"}), "gave up", id="error"
        ),
        pytest.param(Reply(raw=(b"data: " + b"x" * (9 << 20),)), "far more", id="endless line"),
    ],
)
async def test_a_server_that_fails_half_way_is_worth_another_try(reply: Reply, words: str) -> None:
    with pytest.raises(ModelUnavailable, match=words):
        await ask(reply)


async def test_a_web_page_is_not_taken_for_a_model() -> None:
    with pytest.raises(ModelError, match=r"web page.*BOT_OPENAI__BASE_URL"):
        await ask(Reply(raw=(b"<html>Log in</html>",), content_type="text/html"))


async def test_silence_before_the_first_token_ends_the_call() -> None:
    with pytest.raises(ModelUnavailable, match="sent no token in time"):
        await ask(Reply(tokens=("a",), hang_after=0), timeouts=QUICK)


async def test_silence_between_tokens_ends_the_call() -> None:
    with pytest.raises(ModelUnavailable, match="fell silent"):
        await ask(Reply(tokens=("a", "b"), hang_after=1), timeouts=QUICK)


async def test_a_call_that_never_ends_is_ended() -> None:
    timeouts = Timeouts(connect=2, first_token=5, silence=5, call=0.3)

    with pytest.raises(ModelUnavailable, match="took too long"):
        await ask(Reply(tokens=("a",) * 1000, delay=0.01), timeouts=timeouts)


async def test_a_server_that_takes_the_request_and_says_nothing_is_given_up() -> None:
    is_left = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        is_left.set()

    async with await asyncio.start_server(swallow, "127.0.0.1", 0) as silent:
        url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/v1"
        client = OpenAIClient(url, profile=ModelProfile(window=10, max_output=1), timeouts=QUICK)
        with pytest.raises(ModelUnavailable, match="did not begin to answer"):
            await anext(client.stream(REQUEST))
        await client.aclose()
        await is_left.wait()


async def test_a_server_that_is_not_there_is_worth_another_try() -> None:
    async with ModelServer() as server:
        url = server.url
    client = OpenAIClient(url, profile=ModelProfile(window=10, max_output=1), timeouts=QUICK)

    with pytest.raises(ModelUnavailable, match="can't be reached"):
        await anext(client.stream(REQUEST))
    await client.aclose()


async def test_both_forms_of_retry_after_reach_the_error() -> None:
    with pytest.raises(ModelUnavailable) as seconds:
        await ask(fail(429, Retry_After="7"))
    with pytest.raises(ModelUnavailable) as date:
        await ask(fail(429, Retry_After="Sat, 21 Nov 2099 12:00:00 GMT"))
    with pytest.raises(ModelUnavailable) as millis:
        await ask(fail(503, retry_after_ms="1500"))

    assert seconds.value.retry_after == 7
    assert date.value.retry_after is not None
    assert date.value.retry_after > 1e6
    assert millis.value.retry_after == 1.5


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_passing_statuses_are_worth_another_try(status: int) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await ask(fail(status))

    assert caught.value.status == status


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fail(401, f"Incorrect key {KEY}"), "check BOT_OPENAI__API_KEY"),
        (fail(403), "check BOT_OPENAI__API_KEY"),
        (fail(404), "check BOT_MODEL and BOT_OPENAI__BASE_URL"),
        (fail(400, "no such tool\nat all"), "no such tool at all"),
        (fail(429, "out of money", code="insufficient_quota"), "plan and billing"),
        (fail(307, Location="http://elsewhere.invalid/"), "has moved"),
        (Reply(tokens=("a",), error_after=0, error={"message": "bad", "code": 401}), "BOT_OPENAI__API_KEY"),
    ],
)
async def test_final_refusals_say_what_to_do(reply: Reply, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        await ask(reply)

    assert not isinstance(caught.value, ModelUnavailable)


@pytest.mark.parametrize(
    "reply",
    [
        fail(400, "too much", code="context_length_exceeded"),
        fail(400, "This model's maximum context length is 4097 tokens."),
        fail(413, "prompt is too long: 300000 tokens"),
        Reply(tokens=("a",), error_after=0, error={"message": "x", "code": "context_length_exceeded"}),
    ],
)
async def test_a_prompt_that_does_not_fit_is_told_apart(reply: Reply) -> None:
    with pytest.raises(ContextOverflow):
        await ask(reply)


async def test_the_key_never_stands_in_an_error() -> None:
    async with ModelServer() as server, connected(server, KEY) as client:
        server.script(fail(400, f"your key {KEY} and {'x' * 500}"), fail(401, f"wrong key {KEY}"))
        with pytest.raises(ModelError) as refused:
            await anext(client.stream(REQUEST))
        with pytest.raises(ModelError) as unknown:
            await anext(client.stream(REQUEST))

    assert KEY not in str(refused.value)
    assert len(str(refused.value)) < 300
    assert KEY not in str(unknown.value)


async def test_what_a_server_does_not_know_is_left_out_from_then_on() -> None:
    async with (
        ModelServer(unknown=("stream_options", "max_completion_tokens")) as server,
        connected(server) as client,
    ):
        for _ in range(2):
            assert text_of([event async for event in client.stream(REQUEST)]) == "echo: hello"

    last = server.requests[-1].body
    assert len(server.requests) == 4
    assert "stream_options" not in last
    assert last["max_tokens"] == 64


async def test_a_limit_that_is_too_high_does_not_change_how_we_speak() -> None:
    refusal = fail(400, "max_completion_tokens is too large")
    async with ModelServer() as server, connected(server) as client:
        server.script(refusal, refusal)
        with pytest.raises(ModelError, match="too large"):
            await anext(client.stream(REQUEST))
        [_ async for _ in client.stream(REQUEST)]

    assert server.requests[-1].body["max_completion_tokens"] == 64


async def test_leaving_early_frees_the_server() -> None:
    async with ModelServer() as server, connected(server) as client:
        server.script(Reply(tokens=("a", "b"), hang_after=1))
        async with aclosing(client.stream(REQUEST)) as events:
            await anext(events)
        async with asyncio.timeout(5):
            await server.idle()


async def test_a_call_in_flight_can_be_cancelled() -> None:
    async with ModelServer() as server, connected(server) as client:
        server.script(Reply(tokens=("a",), hang_after=0))
        task = asyncio.create_task(anext(client.stream(REQUEST)))
        await server.received(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert text_of([event async for event in client.stream(REQUEST)]) == "echo: hello"


async def test_a_scripted_call_is_what_the_helpers_say() -> None:
    made = calls_of(await ask(call("now", '{"zone": "UTC"}')))

    assert made == [ToolCall(id="call_now", function=FunctionCall(name="now", arguments='{"zone": "UTC"}'))]
