"""The chats that the Telegram simulator shows: who is in them, and what was said."""

import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.platform import BOT, File, Shown
from tests.simulators.telegram_text import Entity, Refused, pinged

BOT_ID, BOT_USERNAME = 7_000_000_001, "switchboard_bot"


@dataclass(slots=True, kw_only=True)
class Chat:
    """A private chat or a supergroup; `topics` are its topics, by number."""

    id: int
    name: str
    is_direct: bool
    has_bot: bool = True
    topics: dict[int, str] = field(default_factory=dict)
    last: int = 0

    def as_json(self) -> dict[str, Any]:
        """The chat object."""
        if self.is_direct:
            return {"id": self.id, "type": "private", "first_name": self.name}
        more = {"is_forum": True} if self.topics else {}
        return {"id": self.id, "type": "supergroup", "title": self.name, **more}


@dataclass(slots=True, kw_only=True)
class Post:
    """A message as Telegram keeps it; `media` is what the message object says of its file."""

    chat: Chat
    number: int
    user: dict[str, Any]
    text: str = ""
    entities: list[Entity] = field(default_factory=list)
    topic: int | None = None
    reply_to: int | None = None
    media: dict[str, Any] = field(default_factory=dict)
    file: File | None = None
    keyboard: list[list[dict[str, Any]]] = field(default_factory=list)
    reaction: str | None = None
    at: int = field(default_factory=lambda: int(time.time()))
    edits: int = 0

    @property
    def id(self) -> str:
        """Its name among the messages of all chats."""
        return f"{self.chat.id}:{self.number}"


class World:
    """Keeps chats and messages; ids follow from names, and are the same at every run."""

    def __init__(self, messages: dict[str, Shown]) -> None:
        self.chats: dict[int, Chat] = {}
        self.posts: dict[str, Post] = {}
        self.moved: dict[int, int] = {}
        self.me = {"id": BOT_ID, "is_bot": True, "first_name": "Switchboard", "username": BOT_USERNAME}
        self._messages = messages

    # --- chats and people

    def chat(self, name: str, *, is_direct: bool) -> Chat:
        """The chat that a test calls so."""
        for chat in self.chats.values():
            if chat.name == name:
                return chat
        number = user_id(name) if is_direct else -1_000_000_000_000 - digest(name)
        return self.chats.setdefault(number, Chat(id=number, name=name, is_direct=is_direct))

    def known(self, chat: object) -> Chat:
        """The chat that the bot means."""
        try:
            number = int(str(chat))
        except ValueError:
            raise Refused("chat not found") from None
        if number in self.moved:
            raise Refused(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=self.moved[number]
            )
        found = self.chats.get(number)
        if found is None:
            raise Refused("chat not found")
        if not found.has_bot:
            cause = (
                "bot was blocked by the user"
                if found.is_direct
                else "bot was kicked from the supergroup chat"
            )
            raise Refused(cause, status=403)
        return found

    def person(self, name: str, *, is_bot: bool = False) -> dict[str, Any]:
        """The person that a test calls so."""
        return {"id": user_id(name), "is_bot": is_bot, "first_name": name, "username": name}

    def topic(self, chat: Chat, name: str | None) -> int | None:
        """The number of a topic, which is that of its first message."""
        if name is None:
            return None
        for number, known in chat.topics.items():
            if name in (known, str(number)):
                return number
        number = 1_000_000 + digest(name) % 1_000_000
        chat.topics[number] = name
        return number

    # --- messages

    def new(self, chat: Chat, user: dict[str, Any], **more: Any) -> Post:  # as the fields of a post are
        """Say something; the numbers of each chat are its own."""
        chat.last += 1
        post = Post(chat=chat, number=chat.last, user=user, **more)
        self.posts[post.id] = post
        self.show(post)
        return post

    def show(self, post: Post) -> None:
        """Let people see a message as it is now."""
        author = BOT if post.user["id"] == BOT_ID else post.user["first_name"]
        shown = self._messages.setdefault(
            post.id, Shown(id=post.id, chat=post.chat.name, author=author, text="")
        )
        shown.text = post.text
        shown.raw = json.dumps({"text": post.text, "entities": post.entities}, ensure_ascii=False)
        shown.buttons = [button["text"] for row in post.keyboard for button in row]
        shown.files = [post.file] if post.file is not None else []
        shown.reactions = [post.reaction] if post.reaction is not None else []
        shown.edits = post.edits
        shown.pinged = pinged(post.text)
        if post.topic is not None:
            shown.thread = post.chat.topics.get(post.topic, str(post.topic))
        if post.reply_to is not None:
            shown.reply_to = f"{post.chat.id}:{post.reply_to}"

    def draft(self, chat: Chat, number: int, text: str, topic: int | None) -> None:
        """Show a text that is no message yet."""
        name = f"draft:{chat.id}:{topic or ''}:{number}"
        shown = self._messages.get(name)
        if shown is None:
            shown = self._messages[name] = Shown(
                id=name, chat=chat.name, author=BOT, text="", is_preview=True
            )
            shown.thread = chat.topics.get(topic) if topic is not None else None
        else:
            shown.edits += 1
        shown.text = shown.raw = text

    def end_drafts(self, chat: Chat, topic: int | None) -> None:
        """Take drafts away, as a message of the bot has come."""
        for name in [one for one in self._messages if one.startswith(f"draft:{chat.id}:{topic or ''}:")]:
            del self._messages[name]

    def find(self, chat: Chat, number: object, missing: str) -> Post:
        """A message of a chat, by its number."""
        post = self.posts.get(f"{chat.id}:{number}")
        if post is None:
            raise Refused(missing)
        return post

    def remove(self, post: Post) -> None:
        """Let a message disappear."""
        self.posts.pop(post.id, None)
        self._messages.pop(post.id, None)

    def as_json(self, post: Post, *, with_reply: bool = True) -> dict[str, Any]:
        """The message object."""
        found: dict[str, Any] = {
            "message_id": post.number,
            "from": post.user,
            "chat": post.chat.as_json(),
            "date": post.at,
            **post.media,
        }
        name, entities = ("caption", "caption_entities") if post.media else ("text", "entities")
        if post.text:
            found[name] = post.text
        if post.entities:
            found[entities] = post.entities
        if post.keyboard:
            found["reply_markup"] = {"inline_keyboard": post.keyboard}
        if post.topic is not None:
            found |= {"message_thread_id": post.topic, "is_topic_message": True}
        if with_reply:
            found |= self._reply(post)
        return found

    def _reply(self, post: Post) -> dict[str, Any]:
        """What a message replies to; in a topic, if to nothing else, to the message that opened it."""
        replied = self.posts.get(f"{post.chat.id}:{post.reply_to}")
        if replied is not None:
            return {"reply_to_message": self.as_json(replied, with_reply=False)}
        if post.topic is None:
            return {}
        opened = {
            "message_id": post.topic,
            "from": self.me,
            "chat": post.chat.as_json(),
            "date": post.at,
            "message_thread_id": post.topic,
            "is_topic_message": True,
            "forum_topic_created": {"name": post.chat.topics.get(post.topic, ""), "icon_color": 7322096},
        }
        return {"reply_to_message": opened}


def digest(name: str) -> int:
    """A number that follows from a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:5])


def user_id(name: str) -> int:
    """The id of a person, and of the private chat with them."""
    return 1_000_000 + digest(name) % 1_000_000_000
