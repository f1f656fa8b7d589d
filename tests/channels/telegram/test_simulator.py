"""The simulated Telegram is as strict as the real one; what it lets pass, the real one does."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.simulators.telegram import TelegramSimulator

KEYBOARD = '{"inline_keyboard": [[{"text": "Yes", "callback_data": "%s"}]]}'


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as telegram:
        yield telegram


async def call(telegram: TelegramSimulator, method: str, **arguments: object) -> dict[str, Any]:  # as JSON is
    url = f"{telegram.url}/bot{telegram.token}/{method}"
    form = {name: str(value) for name, value in arguments.items()}
    async with aiohttp.ClientSession() as session, session.post(url, data=form) as response:
        found: dict[str, Any] = await response.json()
        return found


async def told(telegram: TelegramSimulator, method: str, **arguments: object) -> str:
    """What Telegram says to a call that it refuses."""
    found = await call(telegram, method, **arguments)
    assert not found["ok"]
    return str(found["description"])


async def test_a_chat_takes_a_message_a_second_and_says_when_the_next(telegram: TelegramSimulator) -> None:
    ann = telegram.world.chat("ann", is_direct=True).id
    bob = telegram.world.chat("bob", is_direct=True).id
    await call(telegram, "sendMessage", chat_id=ann, text="one")

    refused = await call(telegram, "sendMessage", chat_id=ann, text="two")
    other = await call(telegram, "sendMessage", chat_id=bob, text="two")

    assert (refused["error_code"], refused["parameters"]) == (429, {"retry_after": 1})
    assert other["ok"]
    assert telegram.texts("ann") == ["one"]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"text": "x" * 4_097}, "message is too long"),
        ({"text": "\N{GRINNING FACE}" * 2_049}, "message is too long"),
        ({"text": " \n "}, "message text is empty"),
        ({"text": "x", "chat_id": 42}, "chat not found"),
        ({"text": "x", "message_thread_id": 5}, "message thread not found"),
        ({"text": "x", "reply_markup": KEYBOARD % ("x" * 65)}, "BUTTON_DATA_INVALID"),
        ({"text": "abc", "entities": '[{"type": "bold", "offset": 1, "length": 3}]'}, "ends after the end"),
        (
            {"text": "\N{GRINNING FACE}", "entities": '[{"type": "bold", "offset": 1, "length": 1}]'},
            "in a middle",
        ),
        (
            {
                "text": "abcdef",
                "entities": '[{"type": "bold", "offset": 0, "length": 3},'
                '{"type": "italic", "offset": 2, "length": 3}]',
            },
            "ends after the end",
        ),
        ({"text": "abc", "entities": '[{"type": "odd", "offset": 0, "length": 1}]'}, "Unsupported type"),
    ],
)
async def test_a_message_against_the_rules_is_refused(
    telegram: TelegramSimulator, arguments: dict[str, object], answer: str
) -> None:
    ann = telegram.world.chat("ann", is_direct=True).id

    assert answer in await told(telegram, "sendMessage", **{"chat_id": ann, **arguments})
    assert telegram.texts("ann") == []


async def test_a_change_must_change_something_of_the_bots_own(telegram: TelegramSimulator) -> None:
    said = await telegram.user_says("ann", "mine")
    ann = telegram.world.chat("ann", is_direct=True).id
    where = {"chat_id": ann, "text": "x"}
    posted = await call(telegram, "sendMessage", **where)
    other = said.rpartition(":")[2]

    gone = await told(telegram, "editMessageText", **where, message_id=99)
    foreign = await told(telegram, "editMessageText", **where, message_id=other)
    telegram.api.has_rates = False
    same = await told(telegram, "editMessageText", **where, message_id=posted["result"]["message_id"])

    assert "message to edit not found" in gone
    assert "message can't be edited" in foreign
    assert "message is not modified" in same


async def test_an_update_stays_until_a_higher_offset_confirms_it(telegram: TelegramSimulator) -> None:
    await telegram.user_says("ann", "one")
    await telegram.user_says("ann", "two")

    first = (await call(telegram, "getUpdates"))["result"]
    again = (await call(telegram, "getUpdates", offset=first[0]["update_id"]))["result"]
    rest = (await call(telegram, "getUpdates", offset=first[0]["update_id"] + 1))["result"]

    assert first == again
    assert [update["message"]["text"] for update in rest] == ["two"]


async def test_polling_is_not_for_bots_with_a_webhook(telegram: TelegramSimulator) -> None:
    await call(telegram, "setWebhook", url="http://127.0.0.1:9/")

    assert "webhook is active" in await told(telegram, "getUpdates")


async def test_ids_are_the_same_at_every_run() -> None:
    first, second = TelegramSimulator(), TelegramSimulator()
    second.world.chat("others", is_direct=False)

    for name, direct in (("ann", True), ("team", False)):
        assert first.world.chat(name, is_direct=direct).id == second.world.chat(name, is_direct=direct).id
    assert first.world.chat("team", is_direct=False).id < 0 < first.world.chat("ann", is_direct=True).id
