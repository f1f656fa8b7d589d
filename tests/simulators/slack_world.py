"""The workspace that the Slack simulator shows: who and what is in it, and what was said."""

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.platform import BOT, File, Shown
from tests.simulators.slack_looks import Block, labels, pinged, shown, shown_markdown

TEAM, APP = "T0SIMULATE", "A0SIMULATE"
BOT_USER, BOT_ID = "U0SWITCHBO", "B0SWITCHBO"
STREAM_SECONDS = 300.0  # as developers have measured it


@dataclass(slots=True, kw_only=True)
class Person:
    """Somebody in the workspace; `team` is another one for a guest from there."""

    id: str
    name: str
    is_admin: bool = False
    team: str = TEAM


@dataclass(slots=True, kw_only=True)
class Chat:
    """A direct chat or a channel."""

    id: str
    name: str
    is_direct: bool
    has_bot: bool = True
    is_archived: bool = False


@dataclass(slots=True, kw_only=True)
class Post:
    """A message as Slack keeps it."""

    chat: Chat
    ts: str
    user: str
    bot_id: str | None = None
    thread_ts: str | None = None
    text: str = ""
    blocks: list[Block] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    files: list[dict[str, Any]] = field(default_factory=list)
    stream: str | None = None  # its text, where it is one
    is_streaming: bool = False
    started_at: float = 0.0

    @property
    def id(self) -> str:
        """Its name among the messages of all chats."""
        return f"{self.chat.id}:{self.ts}"

    def as_json(self, *, metadata: bool = True) -> dict[str, Any]:
        """The message object of events and histories."""
        found: dict[str, Any] = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts}
        if self.bot_id is not None:
            found |= {"bot_id": self.bot_id, "app_id": APP, "bot_profile": {"id": self.bot_id, "name": "bot"}}
        if self.thread_ts is not None:
            found["thread_ts"] = self.thread_ts
        if self.blocks:
            found["blocks"] = self.blocks
        if self.files:
            found["files"] = self.files
        if self.metadata is not None and metadata:
            found["metadata"] = self.metadata
        if self.stream is not None:
            found["streaming_state"] = "in_progress" if self.is_streaming else "completed"
        return found


class World:
    """Keeps chats, people and messages; ids follow from names, and are the same at every run."""

    def __init__(self, messages: dict[str, Shown]) -> None:
        self.chats: dict[str, Chat] = {}
        self.people: dict[str, Person] = {}
        self.posts: dict[str, Post] = {}
        self.files: dict[str, File] = {}
        self.threads: dict[str, str] = {}  # the test's name of a thread, by the time stamp of its root
        self._messages = messages
        self._last = 0

    def chat(self, name: str, *, is_direct: bool) -> Chat:
        """The chat that a test calls so."""
        for chat in self.chats.values():
            if chat.name == name:
                return chat
        chat = Chat(id=("D" if is_direct else "C") + digest(name), name=name, is_direct=is_direct)
        self.chats[chat.id] = chat
        return chat

    def person(self, name: str) -> Person:
        """The person that a test calls so."""
        user = "U" + digest(name)
        return self.people.setdefault(user, Person(id=user, name=name))

    def stamp(self) -> str:
        """A time stamp that nothing else has."""
        self._last = max(self._last + 1, time.time_ns() // 1_000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def root(self, chat: Chat, thread: str) -> str:
        """The time stamp of the root of a thread: named by a message of it, or by any word of the test."""
        post = self.posts.get(thread) or self.posts.get(f"{chat.id}:{thread}")
        if post is not None:
            return post.thread_ts or post.ts
        for ts, name in self.threads.items():
            if name == thread and f"{chat.id}:{ts}" in self.posts:
                return ts
        post = Post(chat=chat, ts=self.stamp(), user=self.person("somebody").id, text=thread)
        self.posts[post.id] = post
        self.threads[post.ts] = thread
        return post.ts

    def add(self, post: Post) -> None:
        """Let a message appear."""
        self.posts[post.id] = post
        self.show(post)

    def show(self, post: Post, *, is_edit: bool = False) -> None:
        """Let people see a message as it is now."""
        seen = self._messages.get(post.id)
        if seen is None:
            author = BOT if post.user == BOT_USER else self.people[post.user].name
            seen = self._messages[post.id] = Shown(id=post.id, chat=post.chat.name, author=author, text="")
        if post.thread_ts is not None and post.thread_ts != post.ts:
            seen.thread = self.threads.get(post.thread_ts, post.thread_ts)
        bodies = [] if post.stream is None else [{"type": "markdown", "text": post.stream}]
        blocks = [*bodies, *post.blocks]
        seen.text = shown(post.text, blocks) if post.stream is None else shown_markdown(post.stream)
        seen.raw = post.stream if post.stream is not None else _raw(post)
        seen.buttons = labels(post.blocks)
        seen.is_preview = False
        seen.edits += is_edit
        seen.pinged += [who for who in pinged(post.text, blocks) if who not in seen.pinged]
        seen.files = [self.files[file["id"]] for file in post.files]

    def remove(self, post: Post) -> None:
        """Let a message disappear."""
        self.posts.pop(post.id, None)
        self._messages.pop(post.id, None)

    def refresh(self, post: Post) -> None:
        """Close a stream that is too old."""
        if post.is_streaming and time.monotonic() - post.started_at > STREAM_SECONDS:
            post.is_streaming = False

    def in_thread(self, chat: str, root: str) -> list[Post]:
        """A thread from its root on."""
        return [
            post for post in self.posts.values() if post.chat.id == chat and root in (post.ts, post.thread_ts)
        ]

    def in_chat(self, chat: str) -> list[Post]:
        """The messages of a chat that are not in a thread."""
        return [
            post for post in self.posts.values() if post.chat.id == chat and post.thread_ts in (None, post.ts)
        ]


def _raw(post: Post) -> str:
    texts = [block["text"] for block in post.blocks if block["type"] == "markdown"]
    return "\n".join(texts) if texts else post.text


def digest(name: str) -> str:
    """Ten characters as Slack's ids have them."""
    return hashlib.sha256(name.encode()).hexdigest()[:10].upper()
