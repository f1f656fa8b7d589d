"""The simulated Slack refuses what Slack refuses."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.simulators.slack import SlackSimulator


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator(ack_seconds=0.2) as simulator:
        yield simulator


@pytest.fixture
def web(slack: SlackSimulator) -> AsyncWebClient:
    return AsyncWebClient(token=slack.bot_token, base_url=f"{slack.url}/api/", retry_handlers=[])


def button(number: int, *, label: str = "Go", value: str = "v") -> dict[str, object]:
    text = {"type": "plain_text", "text": label}
    return {"type": "button", "action_id": f"a{number}", "text": text, "value": value}


def row(*buttons: dict[str, object]) -> list[dict[str, object]]:
    return [{"type": "actions", "elements": list(buttons)}]


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        ([{"type": "markdown", "text": "x" * 12_001}], "msg_blocks_too_long"),
        ([{"type": "markdown", "text": "x" * 6_001}] * 2, "msg_blocks_too_long"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}], "invalid_blocks"),
        ([{"type": "markdown", "text": "x"}] * 51, "invalid_blocks"),
        ([{"type": "mystery"}], "invalid_blocks"),
        (row(button(1, label="x" * 76)), "invalid_blocks"),
        (row(button(1, value="x" * 2_001)), "invalid_blocks"),
        (row(button(1), button(1)), "invalid_blocks"),
        (row(*[button(number) for number in range(26)]), "invalid_blocks"),
    ],
)
async def test_blocks_over_the_limits_are_refused(
    slack: SlackSimulator, web: AsyncWebClient, blocks: list[dict[str, object]], code: str
) -> None:
    chat = slack.world.chat("ann", is_direct=True)

    with pytest.raises(SlackApiError, match=code):
        await web.chat_postMessage(channel=chat.id, text="x", blocks=blocks)


async def test_an_update_takes_less_text_than_a_post(slack: SlackSimulator, web: AsyncWebClient) -> None:
    chat = slack.world.chat("ann", is_direct=True)
    posted = await web.chat_postMessage(channel=chat.id, text="x" * 39_000)

    with pytest.raises(SlackApiError, match="msg_too_long"):
        await web.chat_update(channel=chat.id, ts=posted["ts"], text="x" * 4_001)


async def test_too_many_posts_in_one_channel_are_refused(slack: SlackSimulator, web: AsyncWebClient) -> None:
    ann, bob = (slack.world.chat(name, is_direct=True).id for name in ("ann", "bob"))
    for _ in range(5):
        await web.chat_postMessage(channel=ann, text="x")

    with pytest.raises(SlackApiError) as caught:
        await web.chat_postMessage(channel=ann, text="x")

    assert caught.value.response.status_code == 429
    assert int(caught.value.response.headers["Retry-After"]) in range(1, 6)
    await web.chat_postMessage(channel=bob, text="x")


async def test_a_ticket_opens_one_socket(slack: SlackSimulator, web: AsyncWebClient) -> None:
    url = (await web.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        assert (await socket.receive_json())["type"] == "hello"

        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_an_event_comes_four_times_and_a_press_once(slack: SlackSimulator, web: AsyncWebClient) -> None:
    url = (await web.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url), asyncio.timeout(5):
        await slack.user_says("ann", "hello")
        await slack.push.settled()
        await slack.slash("ann", "help")
        await slack.push.settled()

    events = [("events_api", attempt) for attempt in range(4)]
    assert slack.push.deliveries == [*events, ("slash_commands", 0)]


async def test_a_response_url_works_five_times(slack: SlackSimulator) -> None:
    await slack.slash("ann", "help")
    (token,) = slack.response_urls
    async with aiohttp.ClientSession() as session:
        statuses = []
        for _ in range(6):
            async with session.post(f"{slack.url}/response/{token}", json={"text": "x"}) as response:
                statuses.append(response.status)

    assert statuses == [200] * 5 + [404]


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        ("**bold** and *it* and `a*b*`", "bold and it and a*b*"),
        ("# Head\n[a](https://b.example)", "Head\na"),
        ("```py\nx = '**'\n```\nend", "x = '**'\nend"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ],
)
async def test_people_see_markdown_without_its_signs(
    slack: SlackSimulator, web: AsyncWebClient, markdown: str, seen: str
) -> None:
    chat = slack.world.chat("ann", is_direct=True)
    await web.chat_postMessage(channel=chat.id, text="x", blocks=[{"type": "markdown", "text": markdown}])

    assert slack.texts("ann") == [seen]
