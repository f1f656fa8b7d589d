"""Histories, reactions, statuses and files: what lies around the messages of the simulated Slack.

Source: docs.slack.dev, the method pages. Histories come newest first, threads oldest first and in pages;
metadata is only given to who asks for it; a file is only shown when its bytes have come and it is completed.
"""

from collections.abc import Callable

from tests.simulators.platform import File
from tests.simulators.slack_looks import Wrong
from tests.simulators.slack_lookup import Answer, Arguments, Method, find_chat, find_post, find_thread
from tests.simulators.slack_world import BOT_ID, BOT_USER, Post, World


class Shelf:
    """Serves these methods on a world; `changed` as in `Api`."""

    def __init__(
        self, world: World, *, base: Callable[[], str], changed: Callable[[str, Post], None]
    ) -> None:
        self.world = world
        self.statuses: dict[str, int] = {}
        self.uploads: dict[str, tuple[str, int, bytes | None]] = {}
        self._base = base
        self._changed = changed

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
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

    # --- reading

    async def _history(self, arguments: Arguments) -> Answer:
        chat = find_chat(self.world, arguments)
        limit = int(arguments.get("limit", 100))
        found = self.world.in_chat(chat.id)[::-1]
        return {"messages": self._read(found[:limit], arguments), "has_more": len(found) > limit}

    async def _replies(self, arguments: Arguments) -> Answer:
        chat = find_chat(self.world, arguments)
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
        post = find_post(self.world, arguments, stamp=arguments.get("timestamp", ""))
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
        chat = find_chat(self.world, arguments, name="channel_id")
        post = Post(chat=chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        post.thread_ts = find_thread(self.world, chat, arguments)
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
