"""Feishu's open API as its documents describe it; each rule beside the handler that enforces it.

Sources: open.feishu.cn, im-v1 (message create, reply, patch, delete; image; file; resources; reactions),
cardkit-v1 (card, card-element), auth-v3, "Frequency control", "Generic error codes".
"""

import json
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import BodyPartReader, web

from tests.simulators import feishu_cards as cards
from tests.simulators.feishu_cards import Card, Refused
from tests.simulators.feishu_world import (
    APP_ID,
    APP_SECRET,
    BAD_REQUEST,
    BOT_ID,
    BOT_NAME,
    NOT_A_CARD,
    TOO_LONG,
    World,
)
from tests.simulators.platform import Budget, File, UploadKind

MAX_IMAGE, MAX_FILE = 10 * 2**20, 30 * 2**20
BAD_TOKEN, NO_TOKEN, METHOD_LIMIT, CHAT_LIMIT, BAD_SECRET = 99991663, 99991661, 99991400, 230020, 10014
NO_SCOPE = 99991672
EMPTY_FILE, LARGE_FILE = 234010, 234006
EMOJI = {
    *("GLANCE", "THUMBSUP", "ThumbsDown", "OK", "APPLAUSE", "THANKS", "MUSCLE", "HEART", "PARTY", "Fire"),
    *("THINKING", "LOL", "SMILE", "DONE", "CheckMark", "CrossMark", "Typing"),
}
NO_EMOJI, NO_REACTION = 231001, 231007

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def reply(data: object = None, **more: object) -> web.Response:
    """An answer with the code 0."""
    return web.json_response({"code": 0, "msg": "success", "data": data or {}, **more})


def refuse(code: int, message: str, *, status: int = 400) -> web.Response:
    """An answer with another."""
    return web.json_response({"code": code, "msg": message}, status=status)


def too_often(seconds: float) -> web.Response:
    """How every method says that it is called too often."""
    headers = {
        "x-ogw-ratelimit-limit": "50",
        "x-ogw-ratelimit-reset": f"{seconds:.3f}".rstrip("0").rstrip("."),
    }
    body = {"code": METHOD_LIMIT, "msg": "request trigger frequency limit"}
    return web.json_response(body, status=429, headers=headers)


class Api:
    """The methods.

    Args:
        has_rates: Refuse what goes over the rates.
        token_seconds: How long an access token is good for; Feishu's are 7200.
        has_contacts: The app may look up people's names.
    """

    def __init__(
        self,
        world: World,
        *,
        tell: Callable[[], Awaitable[None]],
        has_rates: bool,
        token_seconds: float,
        has_contacts: bool,
    ) -> None:
        self._world = world
        self._tell = tell
        self._has_rates = has_rates
        self._token_seconds = token_seconds
        self._has_contacts = has_contacts
        self.tokens: dict[str, float] = {}
        self._chats = Budget(5, 1.0)
        self._messages = Budget(5, 1.0)
        self._cards = Budget(10, 1.0)
        self._seconds = Budget(50, 1.0)
        self._minutes = Budget(1_000, 60.0)

    def routes(self) -> list[web.AbstractRouteDef]:
        at = "/open-apis"
        messages, cardkit = f"{at}/im/v1/messages", f"{at}/cardkit/v1/cards"
        return [
            web.post(f"{at}/auth/v3/tenant_access_token/internal", self._token),
            web.get(f"{at}/bot/v3/info", self._open(self._info)),
            web.get(f"{at}/contact/v3/users/{{person}}", self._open(self._person)),
            web.post(messages, self._open(self._create)),
            web.get(f"{messages}/{{message}}", self._open(self._get)),
            web.post(f"{messages}/{{message}}/reply", self._open(self._reply)),
            web.patch(f"{messages}/{{message}}", self._open(self._patch)),
            web.delete(f"{messages}/{{message}}", self._open(self._delete)),
            web.post(f"{messages}/{{message}}/reactions", self._open(self._react)),
            web.get(f"{messages}/{{message}}/reactions", self._open(self._reactions)),
            web.delete(f"{messages}/{{message}}/reactions/{{reaction}}", self._open(self._unreact)),
            web.get(f"{messages}/{{message}}/resources/{{key}}", self._open(self._resource)),
            web.post(f"{at}/im/v1/images", self._open(self._image)),
            web.post(f"{at}/im/v1/files", self._open(self._file)),
            web.post(cardkit, self._open(self._make_card)),
            web.put(f"{cardkit}/{{card}}", self._open(self._update_card)),
            web.put(f"{cardkit}/{{card}}/elements/{{element}}/content", self._open(self._grow)),
            web.patch(f"{cardkit}/{{card}}/settings", self._open(self._settings)),
        ]

    def _open(self, handler: Handler) -> Handler:
        """Let a call through to its handler: with a good token, and not too often."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not token:
                return refuse(NO_TOKEN, "Missing access token for authorization")
            if self.tokens.get(token, 0.0) < time.monotonic():
                return refuse(BAD_TOKEN, "Invalid access token for authorization")
            method = f"{request.method} {handler.__name__}"
            if self._has_rates:
                wait = self._seconds.spend(method) or self._minutes.spend(method)
                if wait > 0:
                    return too_often(wait)
            try:
                return await handler(request)
            except Refused as refused:
                status = 429 if refused.code == METHOD_LIMIT else 400
                return refuse(refused.code, str(refused), status=status)
            finally:
                await self._tell()

        return guarded

    def _spend(self, budget: Budget, key: str) -> None:
        """One user or group gets 5 messages a second, one message 5 changes (code 230020, without a wait)."""
        if self._has_rates and budget.spend(key) > 0:
            raise Refused(CHAT_LIMIT, "This operation triggers the frequency limit")

    # --- who one is

    async def _token(self, request: web.Request) -> web.Response:
        keys = await request.json()
        if (keys.get("app_id"), keys.get("app_secret")) != (APP_ID, APP_SECRET):
            return refuse(BAD_SECRET, "app secret invalid", status=200)
        token = f"t-{secrets.token_hex(16)}"
        self.tokens[token] = time.monotonic() + self._token_seconds
        body = {"code": 0, "msg": "ok", "tenant_access_token": token, "expire": self._token_seconds}
        return web.json_response(body)

    async def _info(self, request: web.Request) -> web.Response:
        bot = {"open_id": BOT_ID, "app_name": BOT_NAME, "activate_status": 2}
        return web.json_response({"code": 0, "msg": "ok", "bot": bot})

    async def _person(self, request: web.Request) -> web.Response:
        if not self._has_contacts:
            raise Refused(NO_SCOPE, "Access denied. One of the following scopes is required")
        person = request.match_info["person"]
        return reply({"user": {"open_id": person, "name": self._world.people.get(person, "")}})

    # --- messages

    async def _create(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        if request.query.get("receive_id_type") != "chat_id":
            raise Refused(NOT_A_CARD, "receive_id_type")
        self._spend(self._chats, body["receive_id"])
        return self._made(self._world.post(body["receive_id"], body))

    async def _reply(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        parent = self._world.there(request.match_info["message"])
        self._spend(self._chats, parent.chat.id)
        return self._made(self._world.post(parent.chat.id, body, parent=parent))

    def _made(self, post: Any) -> web.Response:
        found = {"message_id": post.id, "chat_id": post.chat.id, "msg_type": post.kind}
        return reply({**found, "create_time": str(int(post.made_at * 1000)), "thread_id": post.thread_id})

    async def _body(self, request: web.Request) -> dict[str, Any]:
        """The body of a message: of up to 30 KB where it holds a card, else of 150."""
        if request.content_type != "application/json":
            raise Refused(BAD_REQUEST, "content type")
        data = await request.read()
        body: dict[str, Any] = json.loads(data)
        if len(data) > (30 if body.get("msg_type", "interactive") == "interactive" else 150) * 1024:
            raise Refused(TOO_LONG, "The length of the message content reaches its limit")
        return body

    async def _patch(self, request: web.Request) -> web.Response:
        """Change a card that was sent as such: not one that is an entity of its own."""
        body = await self._body(request)
        post = self._world.own(request.match_info["message"])
        if post.card is None or post.card.id:
            raise Refused(NOT_A_CARD, "This message is not a card that was sent as JSON")
        self._spend(self._messages, post.id)
        post.card.data = cards.read_card(body["content"], refusal=cards.BAD_CONTENT)
        self._world.show(post, is_edit=True)
        return reply()

    async def _delete(self, request: web.Request) -> web.Response:
        self._world.recall(self._world.own(request.match_info["message"]))
        return reply()

    async def _get(self, request: web.Request) -> web.Response:
        post = self._world.there(request.match_info["message"])
        is_app = post.sender == BOT_ID
        sender = {"id": APP_ID if is_app else post.sender, "sender_type": "app" if is_app else "user"}
        return reply({"items": [{"message_id": post.id, "msg_type": post.kind, "sender": sender}]})

    # --- reactions

    async def _react(self, request: web.Request) -> web.Response:
        post = self._world.there(request.match_info["message"])
        emoji = (await request.json())["reaction_type"]["emoji_type"]
        if emoji not in EMOJI:
            raise Refused(NO_EMOJI, "reaction type is invalid")
        reaction = secrets.token_hex(12)
        self._world.reactions[reaction] = (post.id, emoji)
        self._world.show_reactions(post.id)
        return reply({"reaction_id": reaction})

    async def _reactions(self, request: web.Request) -> web.Response:
        post = self._world.there(request.match_info["message"])
        operator = {"operator_id": APP_ID, "operator_type": "app"}
        items = [
            {"reaction_id": one, "operator": operator, "reaction_type": {"emoji_type": emoji}}
            for one, (on, emoji) in self._world.reactions.items()
            if on == post.id
        ]
        return reply({"items": items, "has_more": False})

    async def _unreact(self, request: web.Request) -> web.Response:
        post = self._world.there(request.match_info["message"])
        if self._world.reactions.pop(request.match_info["reaction"], None) is None:
            raise Refused(NO_REACTION, "reaction does not exist")
        self._world.show_reactions(post.id)
        return reply()

    # --- cards

    async def _make_card(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("type") != "card_json":
            raise Refused(cards.BAD_PARAMETER, "type")
        return reply({"card_id": self._world.make_card(body["data"]).id})

    def _card(self, request: web.Request) -> Card:
        """A card; 10 operations a second are done on each."""
        card = self._world.card(request.match_info["card"])
        if self._has_rates and self._cards.spend(card.id) > 0:
            raise Refused(METHOD_LIMIT, "request trigger frequency limit")
        return card

    async def _update_card(self, request: web.Request) -> web.Response:
        card, body = self._card(request), await request.json()
        self._world.replace(card, body["card"]["data"], body.get("sequence"))
        return reply()

    async def _grow(self, request: web.Request) -> web.Response:
        card, body = self._card(request), await request.json()
        self._world.grow(card, request.match_info["element"], body.get("content", ""), body.get("sequence"))
        return reply()

    async def _settings(self, request: web.Request) -> web.Response:
        card, body = self._card(request), await request.json()
        self._world.advance(card, body.get("sequence"))
        card.data["config"] |= json.loads(body["settings"]).get("config", {})
        self._world.changed(card)
        return reply()

    # --- files

    async def _resource(self, request: web.Request) -> web.StreamResponse:
        """Give a file of a message: to those who name both, and its type."""
        post = self._world.there(request.match_info["message"])
        key, kind = request.match_info["key"], request.query.get("type")
        file = self._world.files.get(key)
        if file is None or key not in post.content or kind != ("image" if key.startswith("img_") else "file"):
            raise Refused(234003, "File not in message")
        if "text/html" in file.mime:  # what a gateway in between may put in the place of a file
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        return web.Response(body=file.data, content_type=file.mime)

    async def _image(self, request: web.Request) -> web.Response:
        fields = await _fields(request)
        name, data = fields["image"]
        self._check_size(data, MAX_IMAGE)
        if fields["image_type"][1] != b"message":
            raise Refused(234001, "image_type")
        return reply({"image_key": self._keep("img", name, data, "image")})

    async def _file(self, request: web.Request) -> web.Response:
        fields = await _fields(request)
        name, data = fields["file"]
        self._check_size(data, MAX_FILE)
        kinds: dict[str, UploadKind] = {"opus": "voice", "mp4": "video"}
        kind = fields["file_type"][1].decode()
        if kind not in ("opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"):
            raise Refused(234001, "file_type")
        return reply({"file_key": self._keep("file", name, data, kinds.get(kind, "file"))})

    @staticmethod
    def _check_size(data: bytes, most: int) -> None:
        if not data:
            raise Refused(EMPTY_FILE, "File's size can't be 0.")
        if len(data) > most:
            raise Refused(LARGE_FILE, "The file size exceed the max value.")

    def _keep(self, prefix: str, name: str, data: bytes, kind: UploadKind) -> str:
        key = f"{prefix}_v3_{secrets.token_hex(12)}"
        self._world.files[key] = File(name=name, data=data, mime="application/octet-stream", kind=kind)
        return key


async def _fields(request: web.Request) -> dict[str, tuple[str, bytes]]:
    """The fields of a form: each with the name of its file, if it is one."""
    found: dict[str, tuple[str, bytes]] = {}
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        found[part.name or ""] = (part.filename or "", bytes(await part.read()))
    return found
