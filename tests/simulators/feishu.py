"""Feishu on loopback: the open API, growing cards, the socket of its SDK, and requests to a hook.

The rules stand where they are enforced: methods, sizes, rates and errors in `feishu_api`, cards in
`feishu_cards` and `feishu_world`, confirmations and repeats of events in `feishu_push`. Here are those about
people: the content of a message is JSON in a string; a mention is a key like `@_user_1` in the text and an
entry beside it; the sender has no name; all messages of a thread name its root; a press does not say in
which thread it was.

Sources: open.feishu.cn, im-v1/message/events/receive and recalled, card-callback-communication, "Receive
events through a websocket".
"""

import json
import secrets
import time
from typing import Any, ClassVar

import aiohttp
from aiohttp import web

from tests.simulators import feishu_cards as cards
from tests.simulators.feishu_api import Api, refuse, too_often
from tests.simulators.feishu_events import mention, message_event, wrap
from tests.simulators.feishu_push import ACK_SECONDS, Event, Hook, Pushes
from tests.simulators.feishu_world import APP_ID, APP_SECRET, BOT_ID, BOT_NAME, TENANT, Chat, Post, World
from tests.simulators.platform import File, Simulator

METHODS = {
    ("POST", "messages"): "messages.create",
    ("POST", "messages/reply"): "messages.reply",
    ("PATCH", "messages"): "messages.patch",
    ("DELETE", "messages"): "messages.delete",
    ("POST", "messages/reactions"): "reactions.create",
    ("DELETE", "messages/reactions"): "reactions.delete",
    ("GET", "messages/resources"): "resources.get",
    ("POST", "images"): "images.create",
    ("POST", "files"): "files.create",
    ("POST", "cards"): "cards.create",
    ("PUT", "cards"): "cards.update",
    ("PUT", "cards/elements/content"): "cards.content",
    ("PATCH", "cards/settings"): "cards.settings",
}
PLACES = {
    "messages",
    "reply",
    "reactions",
    "resources",
    "images",
    "files",
    "cards",
    "elements",
    "content",
    "settings",
}
VERIFICATION = "v-simulated"


class FeishuSimulator(Simulator):
    """A tenant with one app, the bot, in it.

    Args:
        has_rates: Refuse what goes over the rates.
        hears_all: The app may read all messages of a group (`im:message.group_msg`), not only mentions.
        has_contacts: The app may look up names.
        token_seconds: How long an access token is good for.
        streaming_seconds: How long a card may grow.
        ping_interval: Seconds between two pings, as the SDK is told.
        again_seconds, ack_seconds: See `feishu_push.Pushes`.
    """

    name: ClassVar[str] = "feishu"

    def __init__(
        self,
        *,
        has_rates: bool = True,
        hears_all: bool = True,
        has_contacts: bool = True,
        token_seconds: float = 7200.0,
        streaming_seconds: float = 600.0,
        ping_interval: int = 120,
        again_seconds: float = 0.2,
        ack_seconds: float = ACK_SECONDS,
    ) -> None:
        super().__init__()
        self.world = World(self.messages, streaming_seconds=streaming_seconds)
        self.push = Pushes(self.tell, again_seconds=again_seconds, ack_seconds=ack_seconds)
        self.api = Api(
            self.world,
            tell=self.tell,
            has_rates=has_rates,
            token_seconds=token_seconds,
            has_contacts=has_contacts,
        )
        self._hears_all = hears_all
        self._ping_interval = ping_interval
        self._tickets: set[str] = set()
        self._last: Event | None = None

    # --- the server

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            *self.api.routes(),
            web.post("/callback/ws/endpoint", self._endpoint),
            web.get("/ws/v2", self._socket),
        ]

    async def start(self) -> None:
        await super().start()
        self.push.start()

    async def kill(self) -> None:
        await self.push.stop()
        await super().kill()

    async def drop(self) -> None:
        await self.push.close_sockets()

    def limit_answer(self, request: web.Request, seconds: float) -> web.StreamResponse:
        return too_often(seconds)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "BOT_FEISHU__APP_ID": APP_ID,
            "BOT_FEISHU__APP_SECRET": APP_SECRET,
            "BOT_FEISHU__DOMAIN": self.url,
        }

    def use_hook(self, base_url: str, account: str = "default", *, encrypt_key: str | None = None) -> None:
        """Send events as requests, from now on."""
        url = f"{base_url}/hooks/feishu/{account}"
        self.push.hook = Hook(url=url, token=VERIFICATION, encrypt_key=encrypt_key)

    async def challenge(self) -> tuple[int, Any]:
        """Ask the hook whether it is ours, as the console does when its URL is entered."""
        assert self.push.hook is not None
        question = {"type": "url_verification", "token": self.push.hook.token, "challenge": "prove it"}
        async with aiohttp.ClientSession() as session:
            return await self.push.request(session, self.push.hook, json.dumps(question).encode())

    def method_of(self, request: web.Request) -> str:
        parts = [part for part in request.path.split("/") if part in PLACES]
        return METHODS.get((request.method, "/".join(parts)), "")

    async def chat_of(self, request: web.Request) -> str:
        message = self.world.posts.get(request.match_info.get("message", ""))
        card = self.world.cards.get(request.match_info.get("card", ""))
        if card is not None and card.message is not None:
            message = self.world.posts[card.message]
        if message is not None:
            return message.chat.name
        if request.path.endswith("/messages") and request.method == "POST":
            chat = self.world.chats.get((await request.json()).get("receive_id", ""))
            return chat.name if chat is not None else ""
        return ""

    async def _endpoint(self, request: web.Request) -> web.Response:
        """Tell where to open a socket: with a ticket, for once."""
        keys = await request.json()
        if (keys.get("AppID"), keys.get("AppSecret")) != (APP_ID, APP_SECRET):
            return refuse(1000040345, "app_id or app_secret is wrong", status=200)
        ticket = secrets.token_hex(8)
        self._tickets.add(ticket)
        url = f"ws://127.0.0.1:{self.port}/ws/v2?device_id=1&service_id=1&ticket={ticket}"
        config = {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30}
        data = {"URL": url, "ClientConfig": {**config, "PingInterval": self._ping_interval}}
        return web.json_response({"code": 0, "msg": "", "data": data})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            headers = {"handshake-status": "403", "handshake-msg": "ticket is not valid"}
            return web.Response(status=403, headers=headers)
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await self.push.hold(socket, self._ping_interval)
        return socket

    # --- events

    def _send(self, kind: str, event: dict[str, Any], *, is_callback: bool = False) -> None:
        sent = wrap(kind, event, token=VERIFICATION, is_callback=is_callback)
        if not is_callback:
            self._last = sent
        self.push.add(sent)

    def _send_message(self, post: Post, kind: str = "im.message.receive_v1") -> None:
        is_mentioned = any(mention["id"]["open_id"] == BOT_ID for mention in post.mentions)
        if post.chat.is_direct or is_mentioned or self._hears_all:
            self._send(kind, message_event(post))

    # --- the people

    async def user_says(
        self,
        chat: str,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        mentions_bot: bool = False,
        thread: str | None = None,
        reply_to: str | None = None,
        is_bot: bool = False,
    ) -> str:
        mentions = [mention(1, BOT_ID, BOT_NAME)] if mentions_bot else []
        said = f"@_user_1 {text}" if mentions_bot else text
        post = self._say(
            self.world.chat(chat, is_direct=direct),
            user,
            "text",
            {"text": said},
            thread=thread,
            reply_to=reply_to,
            is_bot=is_bot,
            mentions=mentions,
        )
        await self.tell()
        return post.id

    async def says(
        self,
        chat: str,
        kind: str,
        content: dict[str, Any],
        *,
        mentions: tuple[str, ...] = (),
        direct: bool = True,
    ) -> str:
        """Say something of any kind; those who are mentioned have the keys `@_user_1` and on."""
        named = [
            mention(number, self.world.person(name), name) for number, name in enumerate(mentions, start=1)
        ]
        place = self.world.chat(chat, is_direct=direct)
        post = self._say(place, "ann", kind, content, mentions=named)
        await self.tell()
        return post.id

    def _say(
        self,
        chat: Chat,
        user: str,
        kind: str,
        content: dict[str, Any],
        *,
        thread: str | None = None,
        reply_to: str | None = None,
        is_bot: bool = False,
        mentions: list[dict[str, Any]] | None = None,
    ) -> Post:
        root = self.world.root(chat, thread) if thread is not None else None
        parent = self.world.posts[reply_to] if reply_to is not None else None
        if root is None and parent is not None:
            root = parent.root or parent.id
        post = self.world.add(
            chat,
            self.world.person(user),
            kind,
            json.dumps(content, ensure_ascii=False),
            root=root,
            parent=parent.id if parent is not None else root,
            is_thread=thread is not None or (parent is not None and parent.is_thread),
            is_bot=is_bot,
            mentions=mentions or [],
        )
        self._send_message(post)
        return post

    async def user_edits(self, chat: str, message: str, text: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        post.content, post.changed_at = json.dumps({"text": text}), time.time()
        self.world.show(post, is_edit=True)
        self._send_message(post, "im.message.updated_v1")
        await self.tell()

    async def user_deletes(self, chat: str, message: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        self.world.recall(post)
        recall = {"message_id": post.id, "chat_id": post.chat.id, "recall_time": str(int(time.time() * 1000))}
        self._send("im.message.recalled_v1", {**recall, "recall_type": "message_owner"})
        await self.tell()

    async def upload(
        self, chat: str, file: File, *, user: str = "ann", text: str = "", direct: bool = True
    ) -> str:
        """Send a file; with a caption an image becomes a rich text, and other files are followed by one."""
        place = self.world.chat(chat, is_direct=direct)
        is_image = file.kind == "image"
        key = f"{'img' if is_image else 'file'}_v3_{secrets.token_hex(12)}"
        self.world.files[key] = file
        if is_image and text:
            lines = [[{"tag": "img", "image_key": key}], [{"tag": "text", "text": text}]]
            post = self._say(place, user, "post", {"title": "", "content": lines})
        elif is_image:
            post = self._say(place, user, "image", {"image_key": key})
        else:
            kind = {"voice": "audio", "video": "media"}.get(file.kind, "file")
            named = {} if kind == "audio" else {"file_name": file.name}
            post = self._say(place, user, kind, {"file_key": key, **named})
            if text:
                self._say(place, user, "text", {"text": text})
        await self.tell()
        return post.id

    async def click(self, message: str, label: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        assert post.card is not None
        button = next(one for one in cards.card_buttons(post.card.data) if one["text"]["content"] == label)
        value = next(one["value"] for one in button["behaviors"] if one["type"] == "callback")
        event = {
            "operator": {"open_id": self.world.person(user), "tenant_key": TENANT},
            "token": f"c-{secrets.token_hex(8)}",
            "action": {"value": value, "tag": "button"},
            "host": "im_message",
            "context": {"open_message_id": post.id, "open_chat_id": post.chat.id},
        }
        self._send("card.action.trigger", event, is_callback=True)
        await self.tell()

    async def slash(
        self, chat: str, command: str, arguments: str = "", *, user: str = "ann", direct: bool = True
    ) -> None:
        """Feishu has no commands of bots: they are said."""
        text = f"/{command.removeprefix('/')} {arguments}".strip()
        await self.user_says(chat, text, user=user, direct=direct)

    async def redeliver(self) -> None:
        assert self._last is not None
        self.push.add(Event(id=self._last.id, body=self._last.body))
        await self.tell()

    def typing(self, chat: str) -> int:
        """Feishu does not show that a bot is writing."""
        return 0
