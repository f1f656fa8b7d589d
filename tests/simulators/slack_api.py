"""The methods of Slack's Web API that the simulator serves.

Rules, each from the method's page on docs.slack.dev: a bearer token in the header,
`apps.connections.open` with the app's own; errors come as 200 with `ok: false`, but too many calls as 429
with `Retry-After`; a `text` is cut at 40,000 characters, in `chat.update` refused above 4,000; metadata
needs an event type. Rates: postMessage 1 a second in a channel (short bursts pass), update and
reactions.add 50 a minute, reactions.remove, startStream and stopStream 20, appendStream 100, history and
replies 50. Measured by developers: an open stream refuses `chat.update` and `chat.delete`; a closed one
takes no more; it closes after five minutes; white space at the beginning of an appended piece is lost.
"""

import time
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.simulators.platform import Budget
from tests.simulators.slack_forms import Modals
from tests.simulators.slack_looks import Wrong, check_blocks
from tests.simulators.slack_lookup import (
    Answer,
    Arguments,
    Method,
    find_chat,
    find_post,
    find_thread,
    read_arguments,
)
from tests.simulators.slack_shelf import Shelf
from tests.simulators.slack_world import BOT_ID, BOT_USER, TEAM, Post, World

RATES: dict[str, tuple[int, float]] = {
    "chat.postMessage": (5, 5.0),
    "chat.postEphemeral": (100, 60.0),
    "chat.update": (50, 60.0),
    "chat.delete": (50, 60.0),
    "chat.startStream": (20, 60.0),
    "chat.stopStream": (20, 60.0),
    "chat.appendStream": (100, 60.0),
    "conversations.history": (50, 60.0),
    "conversations.replies": (50, 60.0),
    "reactions.add": (50, 60.0),
    "reactions.remove": (20, 60.0),
    "users.info": (100, 60.0),
    "views.open": (100, 60.0),
    "files.getUploadURLExternal": (100, 60.0),
    "files.completeUploadExternal": (100, 60.0),
}
PER_CHAT = frozenset({"chat.postMessage"})
READS = frozenset({"conversations.history", "conversations.replies", "users.info", "files.info"})


class Api:
    """Serves methods on a world.

    Args:
        changed: Told of a message that the bot made (`posted`), changed or deleted.
    """

    def __init__(
        self,
        world: World,
        *,
        tokens: dict[str, str],
        has_rates: bool,
        ticket: Callable[[], str],
        base: Callable[[], str],
        changed: Callable[[str, Post], None],
    ) -> None:
        self.world = world
        self.shelf = Shelf(world, base=base, changed=changed)
        self.modals = Modals()
        self.refused: dict[str, str] = {}  # by method: the error that it always answers
        self._tokens = tokens
        self._budgets = {name: Budget(*rate) for name, rate in RATES.items()} if has_rates else {}
        self._ticket = ticket
        self._base = base
        self._changed = changed
        self._methods = self._table()

    def _table(self) -> dict[str, Method]:
        return {
            "apps.connections.open": self._open,
            "auth.test": self._auth,
            "users.info": self._user,
            "chat.postMessage": self._post,
            "chat.postEphemeral": self._whisper,
            "chat.update": self._update,
            "chat.delete": self._delete,
            "chat.startStream": self._start,
            "chat.appendStream": self._append,
            "chat.stopStream": self._stop,
            "views.open": self.modals.views_open,
            **self.shelf.table(),
        }

    async def serve(self, request: web.Request) -> web.Response:
        """Answer a call."""
        name = request.match_info["method"]
        try:
            self._authorize(name, request)
            arguments = await read_arguments(request)
            if name in READS and request.content_type == "application/json":
                raise Wrong("invalid_arguments")
            budget = self._budgets.get(name)
            key = str(arguments.get("channel", "")) if name in PER_CHAT else ""
            wait = budget.spend(key) if budget is not None else 0.0
            if wait:
                return too_often(wait)
            if name in self.refused:
                raise Wrong(self.refused[name])
            if name not in self._methods:
                raise Wrong("unknown_method")
            return web.json_response({"ok": True, **await self._methods[name](arguments)})
        except Wrong as wrong:
            return web.json_response({"ok": False, "error": str(wrong)})

    def _authorize(self, name: str, request: web.Request) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            raise Wrong("not_authed")
        kind = self._tokens.get(token)
        if kind is None:
            raise Wrong("invalid_auth")
        if kind != ("app" if name == "apps.connections.open" else "bot"):
            raise Wrong("not_allowed_token_type")

    # --- who

    async def _open(self, _: Arguments) -> Answer:
        return {"url": f"{self._base().replace('http', 'ws', 1)}/link?ticket={self._ticket()}"}

    async def _auth(self, _: Arguments) -> Answer:
        return {"url": self._base(), "team_id": TEAM, "user_id": BOT_USER, "bot_id": BOT_ID, "user": "bot"}

    async def _user(self, arguments: Arguments) -> Answer:
        person = self.world.people.get(arguments["user"])
        if person is None:
            raise Wrong("user_not_found")
        return {
            "user": {
                "id": person.id,
                "team_id": person.team,
                "name": person.name,
                "is_admin": person.is_admin,
                "is_owner": False,
                "profile": {"display_name": person.name, "real_name": person.name.title()},
            }
        }

    # --- messages

    async def _post(self, arguments: Arguments) -> Answer:
        chat = find_chat(self.world, arguments)
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        post.thread_ts = find_thread(self.world, chat, arguments)
        self._fill(post, arguments, limit=None)
        self.world.add(post)
        self._changed("posted", post)
        return {"channel": chat.id, "ts": post.ts, "message": post.as_json()}

    async def _whisper(self, arguments: Arguments) -> Answer:
        chat = find_chat(self.world, arguments)
        if arguments.get("user") not in self.world.people:
            raise Wrong("user_not_in_channel")
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        self._fill(post, arguments, limit=None)
        self.whisper(post, arguments["user"])
        return {"message_ts": post.ts}

    def whisper(self, post: Post, user: str) -> None:
        """Show a message to one person; no history has it."""
        self.world.show(post)
        self.world._messages[post.id].ephemeral_to = self.world.people[user].name

    async def _update(self, arguments: Arguments) -> Answer:
        post = self._own(arguments, wrong="cant_update_message")
        if post.is_streaming:
            raise Wrong("streaming_state_conflict")
        post.stream = "" if post.stream is not None else None
        self._fill(post, arguments, limit=4_000)
        if post.stream is not None:  # it looks like any other message now
            bodies = [block["text"] for block in post.blocks if block["type"] == "markdown"]
            post.stream = "\n".join(bodies) if bodies else post.text
        self.world.show(post, is_edit=True)
        self._changed("changed", post)
        return {"channel": post.chat.id, "ts": post.ts, "text": post.text}

    async def _delete(self, arguments: Arguments) -> Answer:
        post = self._own(arguments, wrong="cant_delete_message")
        if post.is_streaming:
            raise Wrong("cant_delete_message")
        self.world.remove(post)
        self._changed("deleted", post)
        return {"channel": post.chat.id, "ts": post.ts}

    async def _start(self, arguments: Arguments) -> Answer:
        chat = find_chat(self.world, arguments)
        thread = find_thread(self.world, chat, arguments)
        if thread is None:
            raise Wrong("invalid_arguments")
        if not arguments.get("recipient_team_id"):
            raise Wrong("missing_recipient_team_id")
        if arguments.get("recipient_user_id") not in self.world.people:
            raise Wrong("missing_recipient_user_id")
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID, thread_ts=thread)
        post.stream, post.is_streaming, post.started_at = _piece(arguments), True, time.monotonic()
        self.world.add(post)
        return {"channel": chat.id, "ts": post.ts}

    async def _append(self, arguments: Arguments) -> Answer:
        post = self._streaming(arguments)
        if not arguments.get("markdown_text"):
            raise Wrong("no_text")
        self._grow(post, _piece(arguments))
        self.world.show(post, is_edit=True)
        return {"channel": post.chat.id, "ts": post.ts}

    async def _stop(self, arguments: Arguments) -> Answer:
        post = self._streaming(arguments)
        self._grow(post, _piece(arguments))
        if arguments.get("blocks") is not None:
            post.blocks = check_blocks(arguments["blocks"])
        post.metadata = _metadata(arguments) or post.metadata
        post.is_streaming = False
        self.world.show(post, is_edit=True)
        self._changed("posted", post)
        return {"channel": post.chat.id, "ts": post.ts, "message": post.as_json()}

    def _grow(self, post: Post, piece: str) -> None:
        post.stream = (post.stream or "") + (piece.lstrip() if post.stream else piece)

    def _fill(self, post: Post, arguments: Arguments, *, limit: int | None) -> None:
        text, blocks = arguments.get("text") or "", arguments.get("blocks")
        if not text and not blocks:
            raise Wrong("no_text")
        if limit is not None and len(text) > limit:
            raise Wrong("msg_too_long")
        post.blocks = check_blocks(blocks) if blocks is not None else []
        post.text = text[:40_000]
        post.metadata = _metadata(arguments) or post.metadata

    def _own(self, arguments: Arguments, *, wrong: str) -> Post:
        post = find_post(self.world, arguments, stamp=arguments.get("ts", ""))
        if post.user != BOT_USER:
            raise Wrong(wrong)
        return post

    def _streaming(self, arguments: Arguments) -> Post:
        post = self._own(arguments, wrong="message_not_owned_by_app")
        if not post.is_streaming:
            raise Wrong("message_not_in_streaming_state")
        return post


def too_often(seconds: float) -> web.Response:
    """The answer to one call too many."""
    return web.json_response(
        {"ok": False, "error": "ratelimited"},
        status=429,
        headers={"Retry-After": f"{seconds:g}" if seconds < 1 else f"{int(-(-seconds // 1))}"},
    )


def _piece(arguments: Arguments) -> str:
    piece = str(arguments.get("markdown_text") or "")
    if len(piece) > 12_000:
        raise Wrong("msg_too_long")
    return piece


def _metadata(arguments: Arguments) -> dict[str, Any] | None:
    metadata: dict[str, Any] | None = arguments.get("metadata")
    if metadata is not None and not (metadata.get("event_type") and "event_payload" in metadata):
        raise Wrong("invalid_metadata_format")
    return metadata
