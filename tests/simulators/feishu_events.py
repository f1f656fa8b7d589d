"""What Feishu's events look like.

Sources: open.feishu.cn, im-v1/message/events/receive, "Event structure" (version 2.0).
"""

import json
import time
import uuid
from typing import Any

from tests.simulators.feishu_push import Event
from tests.simulators.feishu_world import APP_ID, TENANT, Post


def wrap(kind: str, event: dict[str, Any], *, token: str, is_callback: bool) -> Event:
    """An event with its header; callbacks count time in microseconds, others in milliseconds."""
    identifier = uuid.uuid4().hex
    header = {
        "event_id": identifier,
        "event_type": kind,
        "create_time": str(int(time.time() * (1_000_000 if is_callback else 1_000))),
        "token": token,
        "app_id": APP_ID,
        "tenant_key": TENANT,
    }
    body = json.dumps({"schema": "2.0", "header": header, "event": event}, ensure_ascii=False)
    return Event(id=identifier, body=body.encode(), is_callback=is_callback)


def message_event(post: Post) -> dict[str, Any]:
    """What an app is told of a message: not the name of its sender."""
    message: dict[str, Any] = {
        "message_id": post.id,
        "create_time": str(int(post.made_at * 1000)),
        "update_time": str(int((post.changed_at or post.made_at) * 1000)),
        "chat_id": post.chat.id,
        "chat_type": "p2p" if post.chat.is_direct else "group",
        "message_type": post.kind,
        "content": post.content,
    }
    places = {"root_id": post.root, "parent_id": post.parent, "thread_id": post.thread_id}
    message |= {name: value for name, value in places.items() if value is not None}
    if post.mentions:
        message["mentions"] = post.mentions
    sender = {
        "sender_id": {"open_id": post.sender, "union_id": f"on_{post.sender[3:]}"},
        "sender_type": "app" if post.is_bot else "user",
        "tenant_key": TENANT,
    }
    return {"sender": sender, "message": message}


def mention(number: int, person: str, name: str) -> dict[str, Any]:
    """Somebody who is named in a text by the key `@_user_<number>`."""
    return {"key": f"@_user_{number}", "id": {"open_id": person}, "name": name, "tenant_key": TENANT}
