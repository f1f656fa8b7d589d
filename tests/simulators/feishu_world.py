"""What is kept in a simulated Feishu: chats, people, messages, cards and files."""

import hashlib
import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

from tests.simulators import feishu_cards as cards
from tests.simulators.feishu_cards import Card, Refused
from tests.simulators.platform import BOT, File, Shown

APP_ID, APP_SECRET = "cli_simulated", "simulated-secret"
BOT_ID = "ou_" + "b0" * 16
BOT_NAME = "Switchboard"
TENANT = "tenant-simulated"
UUID_SECONDS = 3600.0
CARD_SECONDS = 14 * 86400.0

# Codes of im-v1/message.
OUTSIDE, RECALLED, TOO_LONG, NO_TOPIC, NOT_OURS = 230002, 230011, 230025, 230019, 230017
NOT_A_CARD, BAD_REQUEST = 230001, 9499


def digest(*parts: str) -> str:
    """Stable stuff for ids."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


@dataclass(slots=True, kw_only=True)
class Chat:
    id: str
    name: str
    is_direct: bool
    is_left: bool = False


@dataclass(slots=True, kw_only=True)
class Post:
    """A message; `root` is that of its thread (`is_thread`), or of the replies that it is one of."""

    id: str
    chat: Chat
    sender: str
    kind: str
    content: str
    made_at: float = field(default_factory=time.time)
    changed_at: float | None = None
    root: str | None = None
    parent: str | None = None
    is_thread: bool = False
    is_bot: bool = False
    is_recalled: bool = False
    mentions: list[dict[str, Any]] = field(default_factory=list)
    card: Card | None = None

    @property
    def thread_id(self) -> str | None:
        return f"omt_{digest(self.root or self.id)}" if self.is_thread else None


class World:
    """The state of one tenant with one app in it.

    Args:
        messages: What people see, by the id of the message; kept up to date.
        streaming_seconds: After these a card's streaming mode ends by itself; Feishu's are 600.
    """

    def __init__(self, messages: dict[str, Shown], *, streaming_seconds: float = 600.0) -> None:
        self._messages = messages
        self._streaming_seconds = streaming_seconds
        self._numbers = itertools.count(1)
        self.chats: dict[str, Chat] = {}
        self.people: dict[str, str] = {BOT_ID: BOT_NAME}
        self.posts: dict[str, Post] = {}
        self.threads: dict[str, str] = {}  # a test's name of a thread, by the id of its root
        self.cards: dict[str, Card] = {}
        self.files: dict[str, File] = {}
        self.reactions: dict[str, tuple[str, str]] = {}  # by id: the message, the emoji
        self.uuids: dict[str, tuple[float, str]] = {}

    # --- people

    def chat(self, name: str, *, is_direct: bool) -> Chat:
        """A chat by a test's name."""
        identifier = f"oc_{digest('chat', name)}"
        chat = self.chats.setdefault(identifier, Chat(id=identifier, name=name, is_direct=is_direct))
        chat.is_direct = is_direct
        return chat

    def person(self, name: str) -> str:
        """The open id of a person."""
        identifier = f"ou_{digest('person', name)}"
        self.people[identifier] = name
        return identifier

    def root(self, chat: Chat, thread: str) -> str:
        """The root of a thread: named by a message of it, or by any word of the test."""
        post = self.posts.get(thread)
        if post is not None:
            post.is_thread = True
            return post.root or post.id
        for root, name in self.threads.items():
            if name == thread and self.posts[root].chat is chat:
                return root
        content = json.dumps({"text": thread})
        made = self.add(chat, self.person("somebody"), "text", content, is_thread=True)
        self.threads[made.id] = thread
        return made.id

    def add(self, chat: Chat, sender: str, kind: str, content: str, **more: Any) -> Post:
        """Put a message into a chat."""
        identifier = f"om_{digest('message', str(next(self._numbers)))}"
        post = self.posts[identifier] = Post(
            id=identifier, chat=chat, sender=sender, kind=kind, content=content, **more
        )
        self.show(post)
        return post

    # --- the app

    def post(self, chat_id: str, body: dict[str, Any], *, parent: Post | None = None) -> Post:
        """Send what the app wants to send; once for each uuid within an hour.

        Raises:
            Refused: It is not allowed.
        """
        chat = self.chats.get(chat_id)
        if chat is None or chat.is_left:
            raise Refused(OUTSIDE, "The bot can not be outside the group")
        uuid = body.get("uuid", "")
        if len(uuid) > 50:
            raise Refused(NOT_A_CARD, "uuid is longer than 50")
        sent_at, identifier = self.uuids.get(uuid, (0.0, ""))
        if uuid and time.monotonic() - sent_at < UUID_SECONDS and identifier in self.posts:
            return self.posts[identifier]
        is_thread = bool(body.get("reply_in_thread")) or (parent is not None and parent.is_thread)
        if parent is not None and body.get("reply_in_thread"):
            parent.is_thread = True
        root = (parent.root or parent.id) if parent is not None else None
        card = self._card_in(body)
        kind, content = body["msg_type"], body["content"]
        parent_id = parent.id if parent is not None else None
        post = self.add(
            chat, BOT_ID, kind, content, root=root, parent=parent_id, is_thread=is_thread, card=card
        )
        if card is not None and card.id:
            card.message = post.id
        if uuid:
            self.uuids[uuid] = (time.monotonic(), post.id)
        return post

    def _card_in(self, body: dict[str, Any]) -> Card | None:
        """The card that a message shows: its own, or one that was made before and was never sent."""
        if body["msg_type"] != "interactive":
            self._check_file(body)
            return None
        content = json.loads(body["content"])
        if content.get("type") != "card":
            data = cards.read_card(body["content"], refusal=cards.BAD_CONTENT)
            return Card(id="", data=data, streams_until=time.monotonic() + self._streaming_seconds)
        card = self.card(content["data"]["card_id"])
        if card.message is not None:
            raise Refused(cards.BAD_CONTENT, "a card entity can be sent once")
        return card

    def _check_file(self, body: dict[str, Any]) -> None:
        content = json.loads(body["content"])
        for name in ("image_key", "file_key"):
            if name in content and content[name] not in self.files:
                raise Refused(NOT_A_CARD, f"{name} is not known")

    def make_card(self, data: str) -> Card:
        """Make a card entity."""
        card = Card(id=f"7{next(self._numbers):018d}", data=cards.read_card(data))
        card.streams_until = time.monotonic() + self._streaming_seconds
        self.cards[card.id] = card
        return card

    def card(self, identifier: str) -> Card:
        """A card entity of the app, as long as there is one."""
        card = self.cards.get(identifier)
        if card is None:
            raise Refused(cards.NO_CARD, "The card entity does not exist")
        if time.monotonic() - card.made_at > CARD_SECONDS:
            raise Refused(cards.EXPIRED, "The card entity has expired")
        return card

    def advance(self, card: Card, sequence: object) -> None:
        """Take the number of an operation on a card."""
        if not isinstance(sequence, int) or not 1 <= sequence < 2**31:
            raise Refused(cards.BAD_PARAMETER, "sequence")
        if sequence <= card.sequence:
            raise Refused(cards.OUT_OF_ORDER, "The sequence number did not increment")
        card.sequence = sequence

    def grow(self, card: Card, element: str, content: str, sequence: object) -> None:
        """Let the text of an element grow; only while the card streams."""
        if not card.is_streaming:
            raise Refused(cards.NOT_STREAMING, "Streaming mode is closed")
        found = [one for one in cards.walk(card.data["body"]["elements"]) if one.get("element_id") == element]
        if not found:
            raise Refused(cards.NO_ELEMENT, "The element does not exist")
        if not 1 <= len(content) <= 100_000:
            raise Refused(cards.BAD_PARAMETER, "content")
        self.advance(card, sequence)
        found[0]["content"] = content
        self.changed(card)

    def replace(self, card: Card, data: str, sequence: object) -> None:
        """Put another card in the place of one."""
        parsed = cards.read_card(data)
        self.advance(card, sequence)
        card.data, card.streams_until = parsed, time.monotonic() + self._streaming_seconds
        self.changed(card)

    def changed(self, card: Card) -> None:
        """Show a card's new look, where it was sent."""
        if card.message is not None:
            self.show(self.posts[card.message], is_edit=True)

    def own(self, identifier: str) -> Post:
        """A message of the app that is still there."""
        post = self.there(identifier)
        if post.sender != BOT_ID:
            raise Refused(NOT_OURS, "Bot is NOT the owner of the resource")
        return post

    def there(self, identifier: str) -> Post:
        """A message that is still there."""
        post = self.posts.get(identifier)
        if post is None or post.is_recalled:
            raise Refused(RECALLED, "The message is recalled")
        return post

    # --- what people see

    def show(self, post: Post, *, is_edit: bool = False) -> None:
        """Bring what people see of a message up to date."""
        seen = self._messages.get(post.id)
        if seen is None:
            author = BOT if post.sender == BOT_ID else self.people[post.sender]
            seen = self._messages[post.id] = Shown(id=post.id, chat=post.chat.name, author=author, text="")
        seen.edits += is_edit
        seen.reply_to = post.parent
        if post.is_thread and post.root is not None:
            seen.thread = self.threads.get(post.root, post.root)
        if post.card is not None:
            data = post.card.data
            seen.raw = json.dumps(data, ensure_ascii=False)
            seen.text = cards.card_text(data)
            seen.buttons = [one["text"]["content"] for one in cards.card_buttons(data)]
            seen.pinged = cards.card_pings(data)
        else:
            self._show_content(post, seen)

    def _show_content(self, post: Post, seen: Shown) -> None:
        content = json.loads(post.content)
        seen.raw, seen.text = post.content, content.get("text", "")
        for mention in post.mentions:
            seen.text = seen.text.replace(mention["key"], f"@{mention['name']}")
        parts = [part for line in content.get("content", ()) for part in line]  # of a rich text
        seen.text = seen.text or "".join(part.get("text", "") for part in parts)
        keys = [one[name] for one in (content, *parts) for name in ("image_key", "file_key") if name in one]
        seen.files = [self.files[key] for key in keys if key in self.files]

    def show_reactions(self, message: str) -> None:
        """Bring the reactions on a message up to date."""
        if (seen := self._messages.get(message)) is not None:
            seen.reactions = [emoji for on, emoji in self.reactions.values() if on == message]

    def recall(self, post: Post) -> None:
        """Take a message back."""
        post.is_recalled = True
        self._messages.pop(post.id, None)
