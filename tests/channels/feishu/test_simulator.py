"""The simulator enforces Feishu's rules; asked without the adapter."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.simulators import feishu_wire as wire
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.feishu_cards import markdown_text
from tests.simulators.feishu_world import APP_ID, APP_SECRET


class Caller:
    """Calls the open API by hand."""

    def __init__(self, simulator: FeishuSimulator, session: aiohttp.ClientSession) -> None:
        self.simulator = simulator
        self._session = session
        self.token = ""

    async def call(self, verb: str, path: str, body: object = None, **query: str) -> tuple[int, Any]:
        """Call; gives the code and the data."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.simulator.url}/open-apis{path}"
        async with self._session.request(verb, url, json=body, headers=headers, params=query) as response:
            answer = await response.json()
            return answer["code"], answer.get("data") or answer

    async def say(self, chat: str, content: object, *, kind: str = "interactive", uuid: str = "") -> Any:
        """Send a message."""
        place = self.simulator.world.chat(chat, is_direct=True)
        body = {"receive_id": place.id, "msg_type": kind, "content": json.dumps(content), "uuid": uuid}
        return await self.call("POST", "/im/v1/messages", body, receive_id_type="chat_id")

    async def card(self, **changes: Any) -> str:
        """Make a card entity."""
        body = {"type": "card_json", "data": json.dumps(card(**changes))}
        code, data = await self.call("POST", "/cardkit/v1/cards", body)
        assert code == 0
        return str(data["card_id"])


def card(*elements: dict[str, Any], is_streaming: bool = True) -> dict[str, Any]:
    """A card of some elements; of one that can grow unless others are given."""
    shown = list(elements) or [{"tag": "markdown", "element_id": "answer", "content": "One"}]
    config = {"streaming_mode": is_streaming, "update_multi": True}
    return {"schema": "2.0", "config": config, "body": {"elements": shown}}


TABLE = {"tag": "table", "columns": [{"name": "a"}], "rows": [{"a": "1"}]}


@pytest.fixture
async def caller(simulator: FeishuSimulator) -> AsyncIterator[Caller]:
    async with aiohttp.ClientSession() as session:
        caller = Caller(simulator, session)
        keys = {"app_id": APP_ID, "app_secret": APP_SECRET}
        _, answer = await caller.call("POST", "/auth/v3/tenant_access_token/internal", keys)
        caller.token = answer["tenant_access_token"]
        yield caller


async def test_without_a_good_token_nothing_is_done(caller: Caller) -> None:
    caller.token = "t-other"

    assert (await caller.say("ann", card()))[0] == 99991663


async def test_one_uuid_is_one_message(caller: Caller, simulator: FeishuSimulator) -> None:
    first = await caller.say("ann", card(), uuid="same")
    second = await caller.say("ann", card(), uuid="same")

    assert first == second
    assert len(simulator.chat("ann")) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (card({"tag": "markdown", "content": "x" * 40_000}), 230025),
        (card(*[TABLE] * 6), 230099),
        (card({"tag": "unheard-of"}), 230099),
        ({**card(), "schema": "1.0"}, 230099),
        ({"type": "card", "data": {"card_id": "7"}}, 200740),
    ],
)
async def test_cards_that_are_not_allowed_are_refused(caller: Caller, content: object, code: int) -> None:
    assert (await caller.say("ann", content))[0] == code


async def test_numbers_of_operations_must_rise_over_all_kinds(caller: Caller) -> None:
    identifier = await caller.card()
    content = f"/cardkit/v1/cards/{identifier}/elements/answer/content"
    grown = await caller.call("PUT", content, {"content": "One two", "sequence": 5})
    again = await caller.call("PUT", content, {"content": "One two three", "sequence": 5})
    body = {"settings": json.dumps({"config": {}}), "sequence": 4}
    lower = await caller.call("PATCH", f"/cardkit/v1/cards/{identifier}/settings", body)

    assert [grown[0], again[0], lower[0]] == [0, 300317, 300317]


async def test_text_grows_only_while_the_card_streams_and_where_there_is_an_element(caller: Caller) -> None:
    closed, open_ = await caller.card(is_streaming=False), await caller.card()
    body = {"content": "x", "sequence": 1}

    codes = [
        (await caller.call("PUT", f"/cardkit/v1/cards/{identifier}/elements/{element}/content", body))[0]
        for identifier, element in ((closed, "answer"), (open_, "other"), (open_, "answer"))
    ]

    assert codes == [300309, 300313, 0]


async def test_a_card_entity_is_sent_once_and_not_changed_as_a_message(caller: Caller) -> None:
    content = {"type": "card", "data": {"card_id": await caller.card()}}
    code, message = await caller.say("ann", content)
    twice, _ = await caller.say("ann", content)
    patched, _ = await caller.call(
        "PATCH", f"/im/v1/messages/{message['message_id']}", {"content": json.dumps(card())}
    )

    assert (code, twice, patched) == (0, 230099, 230001)


async def test_rates_are_kept(caller: Caller) -> None:
    codes = [(await caller.say("ann", {"text": "x"}, kind="text"))[0] for _ in range(6)]
    identifier = await caller.card()
    path = f"/cardkit/v1/cards/{identifier}/elements/answer/content"
    grown = [
        (await caller.call("PUT", path, {"content": "x", "sequence": number}))[0] for number in range(1, 12)
    ]

    assert codes == [0] * 5 + [230020]
    assert grown == [0] * 10 + [99991400]


async def test_a_socket_needs_a_ticket_and_answers_pings(simulator: FeishuSimulator) -> None:
    async with aiohttp.ClientSession() as session:
        keys = {"AppID": APP_ID, "AppSecret": APP_SECRET}
        async with session.post(f"{simulator.url}/callback/ws/endpoint", json=keys) as response:
            url = (await response.json())["data"]["URL"]
        ping = wire.Frame(method=wire.CONTROL, headers={"type": "ping"})
        async with session.ws_connect(url) as socket:
            await socket.send_bytes(wire.encode(ping))
            pong = wire.decode((await socket.receive()).data)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)

    assert pong.headers == {"type": "pong"}
    assert json.loads(pong.payload)["PingInterval"] == 120


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("# A *b* **c** `d*e*`", "A b c d*e*"),
        ("[text](https://example.org) ~~x~~", "text x"),
        ("1 &#60; 2 &#38;&#38; 2 &gt; 1", "1 < 2 && 2 > 1"),
        ("```python\na = '**'\n```\nafter", "a = '**'\nafter"),
        ("\\*not\\* 2*3*4 snake_case_name", "*not* 2*3*4 snake_case_name"),
        ("<at id=all></at> hi", "@all hi"),
    ],
)
def test_markdown_is_read_as_people_see_it(markdown: str, read: str) -> None:
    assert markdown_text(markdown) == read


def test_frames_survive_their_encoding() -> None:
    frame = wire.Frame(seq_id=2**40, log_id=7, headers={"type": "event", "ключ": "値"}, payload=b"\x00" * 300)

    assert wire.decode(wire.encode(frame)) == frame
