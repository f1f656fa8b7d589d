"""The methods of Slack's Web API that the simulator serves.

Rules, each from the method's page on docs.slack.dev: a bearer token in the header, `apps.connections.open` with
the app's own; errors come as 200 with `ok: false`, but too many calls as 429 with `Retry-After`; a `text` is cut
at 40,000 characters, in `chat.update` refused above 4,000; metadata needs an event type. Rates: postMessage 1 a
second in a channel (short bursts pass), update and reactions.add 50 a minute, reactions.remove, startStream and
stopStream 20, appendStream 100, history and replies 50. Measured by developers: an open stream refuses
`chat.update` and `chat.delete`; a closed one takes no more; it closes after five minutes; white space at the
beginning of an appended piece is lost.
"""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.simulators.platform import Budget, File
from tests.simulators.slack_looks import Wrong, check_blocks
from tests.simulators.slack_world import BOT_ID, BOT_USER, TEAM, Chat, Post, World

Arguments = dict[str, Any]  # as they come off the wire
Answer = dict[str, Any]
Method = Callable[[Arguments], Awaitable[Answer]]

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
        self.statuses: dict[str, int] = {}
        self.presses: dict[str, Any] = {}
        self.uploads: dict[str, tuple[str, int, bytes | None]] = {}
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
            "conversations.history": self._history,
            "conversations.replies": self._replies,
            "reactions.add": self._react,
            "reactions.remove": self._unreact,
            "assistant.threads.setStatus": self._status,
            "files.getUploadURLExternal": self._upload_url,
            "files.completeUploadExternal": self._upload_done,
            "files.info": self._file,
            "files.delete": self._delete_file,
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
        chat = self._chat(arguments)
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        post.thread_ts = self._thread(chat, arguments)
        self._fill(post, arguments, limit=None)
        self.world.add(post)
        self._changed("posted", post)
        return {"channel": chat.id, "ts": post.ts, "message": post.as_json()}

    async def _whisper(self, arguments: Arguments) -> Answer:
        chat = self._chat(arguments)
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
        chat = self._chat(arguments)
        thread = self._thread(chat, arguments)
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

    # --- reading

    async def _history(self, arguments: Arguments) -> Answer:
        chat = self._chat(arguments)
        limit = int(arguments.get("limit", 100))
        found = self.world.in_chat(chat.id)[::-1]
        return {"messages": self._read(found[:limit], arguments), "has_more": len(found) > limit}

    async def _replies(self, arguments: Arguments) -> Answer:
        chat = self._chat(arguments)
        found = self.world.in_thread(chat.id, str(arguments.get("ts")))
        if not found:
            raise Wrong("thread_not_found")
        limit, start = int(arguments.get("limit", 1_000)), int(arguments.get("cursor") or 0)
        has_more = len(found) > start + limit
        return {
            "messages": self._read(found[start : start + limit], arguments),
            "has_more": has_more,
            "response_metadata": {"next_cursor": str(start + limit) if has_more else ""},
        }

    def _read(self, posts: list[Post], arguments: Arguments) -> list[Answer]:
        wants_metadata = str(arguments.get("include_all_metadata", "")).lower() in ("true", "1")
        for post in posts:
            self.world.refresh(post)
        return [post.as_json(metadata=wants_metadata) for post in posts]

    # --- reactions and status

    async def _react(self, arguments: Arguments) -> Answer:
        name, seen = self._reaction(arguments)
        if name in seen:
            raise Wrong("already_reacted")
        seen.append(name)
        return {}

    async def _unreact(self, arguments: Arguments) -> Answer:
        name, seen = self._reaction(arguments)
        if name not in seen:
            raise Wrong("no_reaction")
        seen.remove(name)
        return {}

    def _reaction(self, arguments: Arguments) -> tuple[str, list[str]]:
        name = arguments.get("name", "")
        if not name or not name.isascii() or ":" in name:
            raise Wrong("invalid_name")
        post = self._find(arguments, stamp=arguments.get("timestamp", ""))
        return name, self.world._messages[post.id].reactions

    async def _status(self, arguments: Arguments) -> Answer:
        chat = self.world.chats.get(arguments.get("channel_id", ""))
        if chat is None:
            raise Wrong("channel_not_found")
        if not chat.is_direct or not arguments.get("thread_ts"):
            raise Wrong("invalid_arguments")
        if arguments.get("status"):
            self.statuses[chat.name] = self.statuses.get(chat.name, 0) + 1
        return {}

    # --- files

    async def _upload_url(self, arguments: Arguments) -> Answer:
        if not arguments.get("filename") or int(arguments.get("length", 0)) < 1:
            raise Wrong("invalid_arguments")
        file_id = f"F{len(self.uploads) + 1:010d}"
        self.uploads[file_id] = (arguments["filename"], int(arguments["length"]), None)
        return {"upload_url": f"{self._base()}/upload/{file_id}", "file_id": file_id}

    async def _upload_done(self, arguments: Arguments) -> Answer:
        chat = self._chat(arguments, name="channel_id")
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        post.thread_ts = self._thread(chat, arguments)
        post.text = arguments.get("initial_comment") or ""
        for given in arguments.get("files") or []:
            name, length, data = self.uploads.get(given["id"], ("", 0, None))
            if data is None or len(data) != length:
                raise Wrong("file_not_found")
            self.world.files[given["id"]] = File(name=given.get("title") or name, data=data, mime="")
            post.files.append({"id": given["id"], "name": name})
        self.world.add(post)
        self._changed("posted", post)
        return {"files": [{"id": file["id"]} for file in post.files]}

    async def _file(self, arguments: Arguments) -> Answer:
        return {"file": self.file_json(arguments.get("file", ""))}

    def file_json(self, file_id: str) -> Answer:
        """A file as events and `files.info` describe it."""
        file = self.world.files.get(file_id)
        if file is None:
            raise Wrong("file_not_found")
        url = f"{self._base()}/files-pri/{file_id}/{file.name}"
        described: Answer = {
            "id": file_id,
            "name": file.name,
            "mimetype": file.mime,
            "size": len(file.data),
            "url_private": url,
            "url_private_download": f"{url}?download",
        }
        return described | ({"subtype": "slack_audio"} if file.kind == "voice" else {})

    async def _delete_file(self, arguments: Arguments) -> Answer:
        file_id = arguments.get("file", "")
        if self.world.files.pop(file_id, None) is None:
            raise Wrong("file_not_found")
        for post in list(self.world.posts.values()):
            if any(file["id"] == file_id for file in post.files):
                self.world.remove(post)
        return {}

    # --- what arguments name

    def _chat(self, arguments: Arguments, *, name: str = "channel") -> Chat:
        chat = self.world.chats.get(arguments.get(name) or "")
        if chat is None:
            raise Wrong("channel_not_found")
        if not chat.has_bot:
            raise Wrong("not_in_channel")
        if chat.is_archived:
            raise Wrong("is_archived")
        return chat

    def _thread(self, chat: Chat, arguments: Arguments) -> str | None:
        thread: str | None = arguments.get("thread_ts")
        if thread is None:
            return None
        if f"{chat.id}:{thread}" not in self.world.posts:
            raise Wrong("thread_not_found")
        return thread

    def _find(self, arguments: Arguments, *, stamp: str) -> Post:
        if not stamp.replace(".", "", 1).isdigit():
            raise Wrong("bad_timestamp")
        post = self.world.posts.get(f"{self._chat(arguments).id}:{stamp}")
        if post is None:
            raise Wrong("message_not_found")
        self.world.refresh(post)
        return post

    def _own(self, arguments: Arguments, *, wrong: str) -> Post:
        post = self._find(arguments, stamp=arguments.get("ts", ""))
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


async def read_arguments(request: web.Request) -> Arguments:
    """What was passed, as JSON or as a form."""
    arguments: Arguments = dict(request.query)
    if request.content_type == "application/json":
        return arguments | json.loads(await request.text() or "{}")
    return arguments | dict(await request.post())


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
