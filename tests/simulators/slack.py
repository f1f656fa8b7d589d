"""Slack on loopback: the Web API, Socket Mode, requests to a hook, files and response URLs.

The rules stand where they are enforced: texts and blocks in `slack_looks`, methods, errors and rates in
`slack_api`, envelopes, acknowledgements and signatures in `slack_push`. Here are those about people: a
mention in a channel comes twice, as `message` and as `app_mention`, with the same time stamp; what the
bot posts comes back to it as an event; a file without the token is a sign-in page with status 200; a
response URL works five times in 30 minutes.
"""

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any, ClassVar

from aiohttp import web

from tests.simulators.platform import File, Simulator
from tests.simulators.slack_api import Api, too_often
from tests.simulators.slack_looks import Block, Wrong, check_blocks
from tests.simulators.slack_lookup import read_arguments
from tests.simulators.slack_push import Parcel, Push
from tests.simulators.slack_world import (
    APP,
    BOT_ID,
    BOT_USER,
    TEAM,
    Chat,
    Person,
    Post,
    World,
    digest,
)

SIGN_IN = "<!DOCTYPE html><html><body>Sign in to Slack</body></html>"
OWN_CALLS = frozenset({"apps.connections.open", "auth.test", "users.info"})  # made by adapters of themselves
Event = dict[str, Any]  # as it goes over the wire


@dataclass(slots=True, kw_only=True)
class ResponseUrl:
    """A URL that answers a command or a press."""

    chat: Chat
    user: str
    born: float
    uses: int = 5


class SlackSimulator(Simulator):
    """A workspace with one app, the bot, in it.

    Args:
        has_rates: Refuse what goes over the rates.
        is_mention_first: Deliver `app_mention` before `message`; Slack promises no order.
        ack_seconds: How long an acknowledgement may take.
        echoes: Send the bot its own posts as events.
    """

    name: ClassVar[str] = "slack"
    bot_token = "xoxb-simulated"
    app_token = "xapp-simulated"
    secret = "8f742231b10e8888abcd99yyyzzz85a5"

    def __init__(
        self,
        *,
        has_rates: bool = True,
        is_mention_first: bool = False,
        ack_seconds: float = 3.0,
        echoes: bool = True,
    ) -> None:
        super().__init__()
        self.world = World(self.messages)
        self.push = Push(secret=self.secret, ack_seconds=ack_seconds, tell=self.tell)
        self.response_urls: dict[str, ResponseUrl] = {}
        self._is_mention_first = is_mention_first
        self._echoes = echoes
        self.api = Api(
            self.world,
            tokens={self.bot_token: "bot", self.app_token: "app"},
            has_rates=has_rates,
            ticket=self.push.ticket,
            base=lambda: self.url,
            changed=self._echo,
        )

    # --- the server

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.post("/api/{method}", self.api.serve),
            web.get("/link", self._link),
            web.post("/upload/{file}", self._take_upload),
            web.get("/files-pri/{file}/{name}", self._give_file),
            web.post("/response/{token}", self._respond),
        ]

    async def start(self) -> None:
        await super().start()
        self.push.resume()

    async def kill(self) -> None:
        await self.push.halt()
        await super().kill()

    async def drop(self) -> None:
        await self.push.drop()

    def limit_answer(self, request: web.Request, seconds: float) -> web.StreamResponse:
        return too_often(seconds)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "BOT_SLACK__BOT_TOKEN": self.bot_token,
            "BOT_SLACK__APP_TOKEN": self.app_token,
            "BOT_SLACK__BASE_URL": f"{self.url}/api/",
        }

    def method_of(self, request: web.Request) -> str:
        kind, _, name = request.path.strip("/").partition("/")
        if kind == "api":
            return "" if name in OWN_CALLS else name
        return {"upload": "upload", "files-pri": "download", "response": "response_url"}.get(kind, "")

    async def chat_of(self, request: web.Request) -> str:
        if not request.path.startswith("/api/"):
            return ""
        arguments = await read_arguments(request)
        chat = self.world.chats.get(str(arguments.get("channel") or arguments.get("channel_id") or ""))
        return chat.name if chat is not None else ""

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        return await self.push.serve(request)

    async def _take_upload(self, request: web.Request) -> web.Response:
        name, length, _ = self.api.shelf.uploads[request.match_info["file"]]
        self.api.shelf.uploads[request.match_info["file"]] = (name, length, await request.read())
        return web.Response(text="OK")

    async def _give_file(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.bot_token}":
            return web.Response(text=SIGN_IN, content_type="text/html")
        file = self.world.files.get(request.match_info["file"])
        if file is None:
            raise web.HTTPNotFound
        return web.Response(body=file.data, content_type=file.mime)

    async def _respond(self, request: web.Request) -> web.Response:
        way = self.response_urls.get(request.match_info["token"])
        if way is None or way.uses < 1 or time.monotonic() - way.born > 1_800:
            return web.Response(status=404, text="used_url")
        way.uses -= 1
        body = json.loads(await request.text())
        post = Post(chat=way.chat, ts=self.world.stamp(), user=BOT_USER, bot_id=BOT_ID)
        try:
            post.text, post.blocks = body.get("text", ""), check_blocks(body.get("blocks") or [])
        except Wrong as wrong:
            return web.Response(status=400, text=str(wrong))
        if body.get("response_type") == "in_channel":
            self.world.add(post)
        else:
            self.api.whisper(post, way.user)
        return web.Response(text="ok")

    # --- events

    def _event(self, event: Event, *, is_echo: bool = False) -> None:
        """Hand an event over."""
        callback = {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": APP,
            "event": event,
            "event_id": f"Ev{uuid.uuid4().hex[:10].upper()}",
            "event_time": int(time.time()),
            "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
        }
        self.push.send(Parcel(kind="events_api", payload=callback), is_echo=is_echo)

    def _message_event(self, post: Post, **more: object) -> Event:
        kind = "im" if post.chat.is_direct else "channel"
        event = {**post.as_json(), "channel": post.chat.id, "channel_type": kind, "event_ts": post.ts}
        root = self.world.posts.get(f"{post.chat.id}:{post.thread_ts}")
        if root is not None and root is not post:
            event["parent_user_id"] = root.user
        return {**event, "team": TEAM, **more}

    def _change_event(self, post: Post, before: Event, **more: object) -> Event:
        ts = self.world.stamp()
        return {
            "type": "message",
            "subtype": "message_changed",
            "hidden": True,
            "channel": post.chat.id,
            "message": {**post.as_json(), **more},
            "previous_message": before,
            "ts": ts,
            "event_ts": ts,
        }

    def _deletion_event(self, post: Post) -> Event:
        ts = self.world.stamp()
        return {
            "type": "message",
            "subtype": "message_deleted",
            "hidden": True,
            "channel": post.chat.id,
            "deleted_ts": post.ts,
            "previous_message": post.as_json(),
            "ts": ts,
            "event_ts": ts,
        }

    def _echo(self, what: str, post: Post) -> None:
        if not self._echoes:
            return
        if what == "posted":
            event = self._message_event(post)
        elif what == "changed":
            event = self._change_event(post, post.as_json())
        else:
            event = self._deletion_event(post)
        self._event(event, is_echo=True)

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
        post = self._new(chat, user, direct=direct, thread=thread or reply_to)
        post.text = f"<@{BOT_USER}> {text}" if mentions_bot else text
        post.bot_id = "B" + digest(user) if is_bot else None
        self.world.add(post)
        event = self._message_event(post)
        events = [event]
        if mentions_bot and not direct:
            mention = {name: value for name, value in event.items() if name != "channel_type"}
            events.append({**mention, "type": "app_mention"})
        for one in reversed(events) if self._is_mention_first else events:
            self._event(one)
        await self.tell()
        return post.id

    async def user_edits(self, chat: str, message: str, text: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        before = post.as_json()
        mention = f"<@{BOT_USER}> " if post.text.startswith(f"<@{BOT_USER}>") else ""
        post.text = mention + text
        self.world.show(post, is_edit=True)
        edited = {"user": self.world.person(user).id, "ts": self.world.stamp()}
        self._event(self._change_event(post, before, edited=edited))
        await self.tell()

    async def user_deletes(self, chat: str, message: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        self.world.remove(post)
        self._event(self._deletion_event(post))
        await self.tell()

    async def unfurl(self, message: str) -> None:
        """Let Slack add the preview of a link: a change of the message that no person made."""
        post = self.world.posts[message]
        self._event(self._change_event(post, post.as_json(), attachments=[{"title": "A page"}]))

    async def upload(
        self, chat: str, file: File, *, user: str = "ann", text: str = "", direct: bool = True
    ) -> str:
        post = self._new(chat, user, direct=direct, thread=None)
        file_id = f"FU{digest(post.ts)}"
        self.world.files[file_id] = file
        post.text, post.files = text, [self.api.shelf.file_json(file_id)]
        self.world.add(post)
        self._event(self._message_event(post, subtype="file_share"))
        await self.tell()
        return post.id

    async def click(self, message: str, label: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        action = next(one for one in _elements(post.blocks) if one["text"]["text"] == label)
        person = self.world.person(user)
        payload = {
            "type": "block_actions",
            "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM},
            "api_app_id": APP,
            "team": {"id": TEAM},
            "channel": {"id": post.chat.id, "name": post.chat.name},
            "container": {"type": "message", "message_ts": post.ts, "channel_id": post.chat.id},
            "message": post.as_json(),
            "trigger_id": self.api.modals.trigger(user),
            "response_url": self._response_url(post.chat, person),
            "actions": [{**action, "action_ts": self.world.stamp()}],
        }
        self.push.send(Parcel(kind="interactive", payload=payload))

    async def send_form(self, user: str, text: str) -> None:
        """Fill in the form that somebody has open, and send it."""
        person = self.world.person(user)
        who = {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM}
        payload = {**self.api.modals.send(user, text), "user": who, "team": {"id": TEAM}, "api_app_id": APP}
        self.push.send(Parcel(kind="interactive", payload=payload))

    async def slash(
        self, chat: str, command: str, arguments: str = "", *, user: str = "ann", direct: bool = True
    ) -> None:
        place, person = self.world.chat(chat, is_direct=direct), self.world.person(user)
        payload = {
            "command": "/" + command.removeprefix("/"),
            "text": arguments,
            "user_id": person.id,
            "user_name": person.name,
            "channel_id": place.id,
            "channel_name": "directmessage" if direct else place.name,
            "team_id": TEAM,
            "api_app_id": APP,
            "trigger_id": uuid.uuid4().hex,
            "response_url": self._response_url(place, person),
        }
        self.push.send(Parcel(kind="slash_commands", payload=payload))

    async def redeliver(self) -> None:
        self.push.again()

    def typing(self, chat: str) -> int:
        return self.api.shelf.statuses.get(chat, 0)

    def _new(self, chat: str, user: str, *, direct: bool, thread: str | None) -> Post:
        place, person = self.world.chat(chat, is_direct=direct), self.world.person(user)
        root = self.world.root(place, thread) if thread is not None else None
        return Post(chat=place, ts=self.world.stamp(), user=person.id, thread_ts=root)

    def _response_url(self, chat: Chat, person: Person) -> str:
        token = uuid.uuid4().hex
        self.response_urls[token] = ResponseUrl(chat=chat, user=person.id, born=time.monotonic())
        return f"{self.url}/response/{token}"


def _elements(blocks: list[Block]) -> list[dict[str, Any]]:
    """The buttons of a message."""
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
