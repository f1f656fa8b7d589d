"""The token, and what Feishu's errors become."""

import asyncio
import inspect

import aiohttp
import pytest

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from channels.base import Content
from channels.feishu import errors
from channels.feishu.sdk import load
from channels.feishu.socket import socket_refusal
from tests.channels.feishu.conftest import Bot, Memory, made
from tests.simulators.feishu import FeishuSimulator


async def test_the_token_is_fetched_once_for_all_who_wait(poster: Bot, simulator: FeishuSimulator) -> None:
    addresses = [poster.address(f"chat {number}") for number in range(8)]
    await asyncio.gather(*(poster.adapter.post(one, Content(text="x"), key=one.chat) for one in addresses))

    assert len(simulator.api.tokens) == 1


async def test_a_token_that_is_refused_is_fetched_anew_once_and_the_message_shows_once(
    poster: Bot, simulator: FeishuSimulator
) -> None:
    address = poster.address()
    await poster.adapter.post(address, Content(text="before"), key="one")
    simulator.api.tokens.clear()

    await asyncio.gather(
        *(poster.adapter.post(address, Content(text=f"after {number}"), key=f"{number}") for number in (1, 2))
    )

    assert sorted(simulator.texts("ann")) == ["after 1", "after 2", "before"]
    assert len(simulator.api.tokens) == 1


async def test_a_token_is_renewed_before_it_ends() -> None:
    async with FeishuSimulator(token_seconds=0.0) as simulator:
        bot = made(simulator, Memory())
        with pytest.raises(ChannelError, match="Invalid access token") as caught:
            await bot.adapter.post(bot.address(), Content(text="x"), key="one")
        tokens = len(simulator.api.tokens)
        await bot.adapter.aclose()

    assert tokens == 2
    assert not caught.value.permanent


def all_below(kind: type[BaseException]) -> list[type[BaseException]]:
    found = [kind]
    for child in kind.__subclasses__():
        found += all_below(child)
    return found


@pytest.mark.parametrize("kind", all_below(aiohttp.ClientError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_http_client_has_a_counterpart(kind: type[aiohttp.ClientError]) -> None:
    with pytest.raises(ChannelError), errors.feishu_errors("a call"):
        raise kind.__new__(kind)


async def test_every_error_of_the_sdk_has_a_counterpart() -> None:
    client = await asyncio.to_thread(load)
    module = inspect.getmodule(client)
    assert module is not None
    kinds = [
        kind
        for kind in vars(module.sdk).values()
        if isinstance(kind, type) and issubclass(kind, Exception) and "lark_oapi" in kind.__module__
    ]

    assert len(kinds) >= 5
    for kind in kinds:
        assert isinstance(socket_refusal(kind.__new__(kind)), ChannelError)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (99991400, RateLimited),
        (230020, RateLimited),
        (200810, RateLimited),
        (230011, MessageGone),
        (200750, MessageGone),
        (230099, MarkupRefused),
        (230025, MarkupRefused),
        (230049, OutcomeUnknown),
        (300309, errors.StreamClosed),
        (300317, errors.OutOfOrder),
        (99991663, errors.StaleToken),
        (230013, ChannelError),
    ],
)
def test_codes_become_kinds_of_errors(code: int, kind: type[ChannelError]) -> None:
    error = errors.refusal(code, "said", method="m", headers={}, scope="chat")

    assert type(error) is kind


def test_no_code_means_two_things() -> None:
    tables = (
        errors.STALE_TOKEN,
        errors.METHOD_LIMITED,
        errors.LIMITED,
        errors.BUSY,
        errors.UNDER_WAY,
        errors.GONE,
        errors.MARKUP,
        errors.CLOSED_STREAM,
        errors.BEHIND,
        errors.PERMANENT,
    )

    assert len(frozenset().union(*tables)) == sum(len(table) for table in tables)
