"""The mark on every post by which it is found again, and the search for it."""

from typing import Final

from bot.messages import Address
from channels.slack.client import Client
from channels.slack.wire import History, Message

EVENT: Final = "switchboard_post"
PAGE: Final = 100
PAGES: Final = 10  # a thread is read from its beginning; past 1,000 replies nothing is found


def marker(key: str) -> dict[str, object]:
    """The metadata of a message; reading it back needs the scope `metadata.message:read`."""
    return {"event_type": EVENT, "event_payload": {"key": key}}


def key_of(message: Message) -> str | None:
    """The key under which a message was posted; empty where it was lost, `None` where it has no mark."""
    if message.metadata is None or message.metadata.event_type != EVENT:
        return None
    return str(message.metadata.event_payload.get("key", ""))


async def recent(client: Client, address: Address) -> list[Message]:
    """The last messages of a chat, or all of a thread, newest first.

    Source: docs.slack.dev, conversations.history gives the newest first, conversations.replies the oldest.
    """
    arguments = {"channel": address.chat, "limit": str(PAGE), "include_all_metadata": "true"}
    if address.thread is None:
        return list((await client.call("conversations.history", History, arguments)).messages)
    found: list[Message] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.call(
            "conversations.replies", History, {**arguments, "ts": address.thread, "cursor": cursor}
        )
        found.extend(page.messages)
        cursor = page.response_metadata.next_cursor if page.response_metadata is not None else ""
        if not page.has_more or not cursor:
            break
    return found[::-1]
