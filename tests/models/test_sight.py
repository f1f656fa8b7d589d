"""Servers that take no pictures still answer; one broken picture makes nobody blind."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from bot.errors import ContextOverflow, ModelError
from bot.models.base import ModelProfile, ModelRequest, PromptMessage, TextDelta
from bot.models.openai import OpenAIClient, Timeouts
from bot.models.picture_files import FilePicture, parse_picture
from bot.models.sight import ASK_AGAIN, MAX_REFUSED, Refusal, Sight
from tests.pictures import GIF, JPEG, png
from tests.simulators.model import ModelServer, Reply, Request, fail

LEFT_OUT = "[picture left out: the model cannot see]"
# What servers are known to answer where a model takes no pictures.
BLIND = {
    "openai": (400, "Invalid content type. image_url is only supported by certain models."),
    "vllm": (400, "At most 0 image(s) may be provided in one request."),
    "vllm, older": (400, "llama-3 is not a multimodal model"),
    "deepseek": (422, "messages[0]: unknown variant `image_url`, expected `text` at line 1 column 99"),
    "openrouter": (404, "No endpoints found that support image input"),
    "groq": (400, "messages.0.content must be a string"),
    "mistral": (422, "Input should be a valid string; type image_url"),
    "llama.cpp": (500, "image input is not supported - hint: you may need to provide the mmproj"),
    "ollama": (400, "this model does not support images"),
    "proxy": (415, "Unsupported content type: this route does not accept multimodal content"),
}
BROKEN = (
    "You uploaded an unsupported image. Please make sure your image has one of the following formats: png.",
    "Could not process image",
    "Invalid image data: it does not decode, so the vision model can not support it",
    "Image dimensions exceed what the vision model can support",
)


def picture_of(data: bytes) -> FilePicture:
    picture = parse_picture(data)
    assert picture is not None
    return picture


PNG, OTHER = picture_of(png()), picture_of(GIF)


def asking(*pictures: FilePicture, model: str = "m") -> ModelRequest:
    message = PromptMessage(role="user", content="what is it?", pictures=pictures)
    return ModelRequest(model=model, messages=(message,), max_completion_tokens=64)


class Clock:
    """A time that a test turns."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Talk:
    """A client, and the server that it talks to."""

    def __init__(self, server: ModelServer, client: OpenAIClient) -> None:
        self.server = server
        self.client = client

    async def ask(self, *pictures: FilePicture, model: str = "m") -> str:
        events = [event async for event in self.client.stream(asking(*pictures, model=model))]
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    @property
    def shown(self) -> list[int]:
        """How many pictures each request had."""
        return [len(request.pictures) for request in self.server.requests]


@asynccontextmanager
async def talking(
    eyes: Callable[[Request], Reply | None] | None = None,
    *,
    sees: bool = True,
    sight: Sight | None = None,
    unknown: tuple[str, ...] = (),
) -> AsyncIterator[Talk]:
    profile = ModelProfile(window=1000, max_output=100, sees=sees)
    async with ModelServer(eyes=eyes, unknown=unknown) as server:
        client = OpenAIClient(server.url, profile=profile, timeouts=Timeouts(), sight=sight)
        try:
            yield Talk(server, client)
        finally:
            await client.aclose()


async def test_a_model_that_sees_is_sent_the_pictures_as_they_are() -> None:
    async with talking() as talk:
        answer = await talk.ask(PNG, OTHER)

    assert talk.server.requests[0].pictures == [PNG.data, OTHER.data]
    assert answer == "echo: what is it?"


@pytest.mark.parametrize("server", BLIND)
async def test_a_model_that_refuses_pictures_answers_without_and_is_not_asked_again(server: str) -> None:
    async with talking(lambda request: fail(*BLIND[server])) as talk:
        first = await talk.ask(PNG)
        second = await talk.ask(OTHER)

    assert first == second == f"echo: what is it?\n{LEFT_OUT}"
    assert talk.shown == [1, 0, 0]


async def test_pictures_never_go_to_a_model_that_is_known_to_see_nothing() -> None:
    async with talking(sees=False) as talk:
        answer = await talk.ask(PNG)

    assert LEFT_OUT in answer
    assert talk.shown == [0]


async def test_another_model_of_the_same_server_is_shown_pictures_all_the_same() -> None:
    def eyes(request: Request) -> Reply | None:
        return fail(*BLIND["openai"]) if request.body["model"] == "m" else None

    async with talking(eyes) as talk:
        await talk.ask(PNG)
        answer = await talk.ask(PNG, model="other")

    assert LEFT_OUT not in answer
    assert talk.shown == [1, 0, 1]


@pytest.mark.parametrize("words", BROKEN)
async def test_a_broken_picture_is_left_out_at_every_step_and_makes_the_model_blind_for_nothing_else(
    words: str,
) -> None:
    broken = picture_of(JPEG)

    def eyes(request: Request) -> Reply | None:
        return fail(400, words) if broken.data in request.pictures else None

    async with talking(eyes) as talk:
        await talk.ask(broken)
        await talk.ask(broken)
        answer = await talk.ask(PNG)
        together = await talk.ask(PNG, broken)

    assert LEFT_OUT not in answer
    assert "2 pictures left out" in together
    assert talk.shown == [1, 0, 0, 1, 2, 0]


async def test_a_model_that_has_taken_a_picture_is_never_blind() -> None:
    replies = iter([None, fail(*BLIND["openai"]), None])
    async with talking(lambda request: next(replies)) as talk:
        await talk.ask(PNG)
        await talk.ask(OTHER)
        await talk.ask(PNG)

    assert talk.shown == [1, 1, 0, 1]


async def test_a_model_that_was_blind_is_shown_a_picture_again_after_a_while() -> None:
    clock = Clock()
    replies = iter([fail(*BLIND["openai"]), None])
    async with talking(lambda request: next(replies), sight=Sight(clock=clock)) as talk:
        await talk.ask(PNG)
        clock.now += ASK_AGAIN
        await talk.ask(OTHER)

    assert talk.shown == [1, 0, 1]


async def test_a_request_that_is_too_large_goes_out_without_its_pictures() -> None:
    async with talking(lambda request: fail(413, "Request Entity Too Large")) as talk:
        answer = await talk.ask(PNG)

    assert LEFT_OUT in answer


async def test_where_people_are_sure_that_the_model_sees_a_refusal_is_an_error() -> None:
    async with talking(lambda request: fail(*BLIND["ollama"]), sight=Sight(is_sure=True)) as talk:
        for _ in range(2):
            with pytest.raises(ModelError, match="does not support images"):
                await talk.ask(PNG)

    assert talk.shown == [1, 1]


async def test_a_refusal_that_is_not_about_pictures_is_told_as_it_is() -> None:
    async with talking(lambda request: fail(400, "the temperature is too high")) as talk:
        with pytest.raises(ModelError, match="temperature"):
            await talk.ask(PNG)

    assert talk.shown == [1]


async def test_what_fails_without_pictures_as_well_is_no_reason_not_to_show_them() -> None:
    async with talking() as talk:
        talk.server.script(*[fail(404, "there is no model image-9")] * 2)
        with pytest.raises(ModelError, match="does not know this model"):
            await talk.ask(PNG)
        await talk.ask(PNG)

    assert talk.shown == [1, 0, 1]


async def test_a_prompt_that_is_too_long_with_its_pictures_is_an_overflow() -> None:
    async with talking(lambda request: fail(400, "image tokens: maximum context length is 9")) as talk:
        with pytest.raises(ContextOverflow):
            await talk.ask(PNG)


async def test_an_old_server_learns_about_both_in_one_call() -> None:
    unknown = ("max_completion_tokens", "stream_options")
    async with talking(lambda request: fail(*BLIND["groq"]), unknown=unknown) as talk:
        answer = await talk.ask(PNG)
        before = len(talk.server.requests)
        await talk.ask(PNG)

    assert LEFT_OUT in answer
    assert talk.server.requests[-1].body["max_tokens"] == 64
    assert len(talk.server.requests) == before + 1


async def test_many_turns_with_pictures_at_once_each_send_their_own() -> None:
    pictures = [picture_of(png(width)) for width in range(1, 17)]
    async with talking() as talk:
        await asyncio.gather(*(talk.ask(picture) for picture in pictures))

    sent = [request.pictures for request in talk.server.requests]
    assert sorted(sent) == sorted([[picture.data] for picture in pictures])


def test_what_was_refused_is_kept_for_a_while_and_then_forgotten() -> None:
    sight, refusal = Sight(), Refusal(400, b"Could not process image", ModelError("no"))
    pictures = [replace(PNG, data=number.to_bytes(2, "big")) for number in range(MAX_REFUSED + 1)]
    for picture in pictures:
        sight.refused("m", (picture,), refusal)

    assert [sight.may_show("m", (picture,)) for picture in (pictures[0], pictures[1], pictures[-1])] == [
        True,
        False,
        False,
    ]


async def test_a_message_without_pictures_is_not_changed_by_any_of_this() -> None:
    async with talking(sees=False) as talk:
        await talk.ask()

    assert json.loads(talk.server.requests[0].raw)["messages"] == [{"role": "user", "content": "what is it?"}]
