"""The look at a server, and the simulator itself, both through the vendor's own client."""

import asyncio
import sys
from pathlib import Path

import openai
import pytest
from pydantic import SecretStr

from bot.errors import ModelError, ModelUnavailable
from bot.models.probe import list_models
from bot.settings import OpenAISettings
from tests.simulators.model import ModelServer, Reply, call, fail, say


async def test_the_models_of_a_server_are_listed() -> None:
    async with ModelServer(key="k", models=("b", "a")) as server:
        names = await list_models(OpenAISettings(base_url=server.url, api_key=SecretStr("k")))

    assert names == ["a", "b"]


async def test_a_wrong_key_says_which_setting_to_check() -> None:
    async with ModelServer(key="k") as server:
        with pytest.raises(ModelError, match="BOT_OPENAI__API_KEY"):
            await list_models(OpenAISettings(base_url=server.url))


async def test_a_server_that_is_not_there_is_told() -> None:
    async with ModelServer() as server:
        url = server.url

    with pytest.raises(ModelUnavailable, match="can't be reached"):
        await list_models(OpenAISettings(base_url=url))


async def test_the_simulator_speaks_to_the_real_client() -> None:
    async with (
        ModelServer() as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        server.script(say("Hello there you"), call("add", '{"a": 12, "b": 30}'), fail(429, Retry_After="3"))
        stream = await client.chat.completions.create(
            model="sim-1", messages=[{"role": "user", "content": "x"}], stream=True
        )
        text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        async with client.chat.completions.stream(
            model="sim-1", messages=[{"role": "user", "content": "x"}]
        ) as events:
            completion = await events.get_final_completion()
        with pytest.raises(openai.RateLimitError) as refused:
            await client.chat.completions.create(model="sim-1", messages=[])
        server.script(Reply(tokens=("whole",), is_whole=True))
        answer = await client.chat.completions.create(model="m", messages=[])

    calls = completion.choices[0].message.tool_calls or []
    assert text == "Hello there you"
    assert [(made.function.name, made.function.arguments) for made in calls] == [
        ("add", '{"a": 12, "b": 30}')
    ]
    assert refused.value.response.headers["retry-after"] == "3"
    assert answer.choices[0].message.content == "whole"


async def test_the_simulator_runs_as_a_process_of_its_own() -> None:
    command = ("-m", "tests.simulators.model", "--tokens", "3")
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
    finally:
        process.kill()
        await process.wait()

    assert text == "echo: hi t1 t2"
