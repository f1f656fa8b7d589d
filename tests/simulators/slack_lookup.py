"""What the arguments of a call to Slack name; what they name wrongly is refused in Slack's words."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.simulators.slack_looks import Wrong
from tests.simulators.slack_world import Chat, Post, World

Arguments = dict[str, Any]  # as they come off the wire
Answer = dict[str, Any]
Method = Callable[[Arguments], Awaitable[Answer]]


async def read_arguments(request: web.Request) -> Arguments:
    """What was passed, as JSON or as a form."""
    arguments: Arguments = dict(request.query)
    if request.content_type == "application/json":
        arguments.update(json.loads(await request.text() or "{}"))
    else:
        arguments.update(await request.post())
    return arguments


def find_chat(world: World, arguments: Arguments, *, name: str = "channel") -> Chat:
    """The chat that an argument names."""
    chat = world.chats.get(arguments.get(name) or "")
    if chat is None:
        raise Wrong("channel_not_found")
    if not chat.has_bot:
        raise Wrong("not_in_channel")
    if chat.is_archived:
        raise Wrong("is_archived")
    return chat


def find_thread(world: World, chat: Chat, arguments: Arguments) -> str | None:
    """The time stamp of the root of the thread that is named, if one is."""
    thread: str | None = arguments.get("thread_ts")
    if thread is not None and f"{chat.id}:{thread}" not in world.posts:
        raise Wrong("thread_not_found")
    return thread


def find_post(world: World, arguments: Arguments, *, stamp: str) -> Post:
    """The message with a time stamp, in the chat that is named."""
    if not stamp.replace(".", "", 1).isdigit():
        raise Wrong("bad_timestamp")
    post = world.posts.get(f"{find_chat(world, arguments).id}:{stamp}")
    if post is None:
        raise Wrong("message_not_found")
    world.refresh(post)
    return post
