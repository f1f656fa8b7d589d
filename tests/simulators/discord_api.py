"""The calls of Discord's API about messages, channels and the bot itself.

Rules, from Discord's developer documentation (Message, Channel, Opcodes and Status Codes): a bot token in
the header; answers are exactly `application/json`; a nonce that is to be enforced gives the message that
was posted with it in the last minutes, and no second one; own messages alone can be edited; an answer to
an unknown message is refused unless `fail_if_not_exists` is off; a history has 1 to 100 messages, newest
first; files are 10 MiB large, and links to them run out; 20 different reactions a message. Observed by
developers: messages older than an hour take few edits, the rest is 429 with the code 30046.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.simulators.discord_looks import (
    Refused,
    check_allowed,
    check_components,
    check_content,
    check_embeds,
    check_nonce,
    invalid,
)
from tests.simulators.discord_rates import OLD_EDITS, Rates, too_often
from tests.simulators.discord_world import APP, DIRECT, GUILD, Channel, Json, Post, World
from tests.simulators.platform import Budget, File

MIB = 2**20
SETTABLE = 1 << 2 | 1 << 12  # flags: no previews, no sound
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Dispatch = Callable[[str, Json], Awaitable[None]]


def answer(body: object, *, status: int = 200) -> web.Response:
    """An answer as the SDK expects it; with a charset in its type it would not be read as JSON."""
    return web.Response(
        status=status, body=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )


NOTHING = 204


class Api:
    """Serves calls on a world.

    Args:
        changed: Told of what the bot did, as an event.
        base: Where the server is.

    Attributes:
        max_upload: Bytes of the largest file.
        typings: How often the bot was seen writing, by the test's name of the chat.
    """

    def __init__(
        self,
        world: World,
        *,
        token: str,
        has_rates: bool,
        base: Callable[[], str],
        gateway: Callable[[], str],
        changed: Dispatch,
    ) -> None:
        self.max_upload = 10 * MIB
        self.typings: dict[str, int] = {}
        self._world = world
        self._token = token
        self._rates = Rates(is_on=has_rates)
        self._old_edits = Budget(*OLD_EDITS)
        self._base = base
        self._gateway = gateway
        self._changed = changed

    def routes(self) -> list[web.AbstractRouteDef]:
        """What is served, named as faults and calls are; what adapters ask at their start has no name."""
        message = "/api/v10/channels/{channel}/messages/{message}"
        reaction = message + "/reactions/{emoji}/@me"
        return [
            web.get("/api/v10/gateway", self.serve(self._where)),
            web.get("/api/v10/gateway/bot", self.serve(self._where)),
            web.get("/api/v10/users/@me", self.serve(self._me)),
            web.get("/api/v10/oauth2/applications/@me", self.serve(self._application)),
            web.get("/api/v10/applications/@me", self.serve(self._application)),
            web.get("/api/v10/users/{user}", self.serve(self._user)),
            web.get(f"/api/v10/guilds/{GUILD}/members/{{user}}", self.serve(self._member)),
            web.post("/api/v10/users/@me/channels", self.serve(self._open), name="open_direct"),
            web.get("/api/v10/channels/{channel}", self.serve(self._channel), name="get_channel"),
            web.get("/api/v10/channels/{channel}/messages", self.serve(self._history), name="history"),
            web.post("/api/v10/channels/{channel}/messages", self.serve(self._post), name="create_message"),
            web.post("/api/v10/channels/{channel}/typing", self.serve(self._type), name="typing"),
            web.get(message, self.serve(self._get), name="get_message"),
            web.patch(message, self.serve(self._edit), name="edit_message"),
            web.delete(message, self.serve(self._delete), name="delete_message"),
            web.post(message + "/threads", self.serve(self._start_thread), name="start_thread"),
            web.put(reaction, self.serve(self._react), name="react"),
            web.delete(reaction, self.serve(self._unreact), name="unreact"),
            web.get("/cdn/attachments/{channel}/{file}/{name}", self._give, name="download"),
        ]

    def serve(self, handler: Handler, *, needs_token: bool = True) -> Handler:
        """Wrap a handler: who asks, how often, and errors as Discord words them."""

        async def served(request: web.Request) -> web.StreamResponse:
            headers: dict[str, str] = {}
            try:
                if needs_token and request.headers.get("Authorization") != f"Bot {self._token}":
                    raise Refused(401, 0, "401: Unauthorized")
                named = request.match_info
                place = named.get("channel") or named.get("token") or ""
                route = named.route.name or ""
                headers, refusal = self._rates.spend(route, place, is_counted=needs_token)
                if refusal is not None:
                    return refusal
                response = await handler(request)
            except Refused as refused:
                response = answer(refused.body, status=refused.status)
            response.headers.update(headers)
            return response

        return served

    # --- who and where

    async def _where(self, _: web.Request) -> web.Response:
        limit = {"total": 1_000, "remaining": 1_000, "reset_after": 0, "max_concurrency": 1}
        return answer({"url": self._gateway(), "shards": 1, "session_start_limit": limit})

    async def _me(self, _: web.Request) -> web.Response:
        return answer({**self._world.bot.as_json(), "verified": True, "flags": 0})

    async def _application(self, _: web.Request) -> web.Response:
        owner = self._world.person("owner").as_json()
        more = {"bot_public": True, "bot_require_code_grant": False, "verify_key": "0" * 64, "team": None}
        shape: Json = {
            "id": APP,
            "name": self._world.bot.name,
            "icon": None,
            "description": "",
            "rpc_origins": [],
        }
        return answer({**shape, **more, "owner": owner, "flags": 1 << 19, "summary": ""})

    async def _user(self, request: web.Request) -> web.Response:
        person = self._world.people.get(request.match_info["user"])
        if person is None:
            raise Refused(404, 10013, "Unknown User")
        return answer(person.as_json())

    async def _member(self, request: web.Request) -> web.Response:
        person = self._world.people.get(request.match_info["user"])
        if person is None:
            raise Refused(404, 10007, "Unknown Member")
        return answer({**person.as_member(), "user": person.as_json()})

    async def _open(self, request: web.Request) -> web.Response:
        person = self._world.people.get(str((await request.json()).get("recipient_id")))
        if person is None or person is self._world.bot:
            raise Refused(400, 50033, "Invalid Recipient(s)")
        return answer(self._world.direct_with(person).as_json())

    async def _channel(self, request: web.Request) -> web.Response:
        return answer(self._find_channel(request).as_json())

    def _find_channel(self, request: web.Request, *, to_write: bool = False) -> Channel:
        channel = self._world.channels.get(request.match_info["channel"])
        if channel is None:
            raise Refused(404, 10003, "Unknown Channel")
        parent = channel.parent or channel
        if not parent.has_bot:
            raise Refused(403, 50001, "Missing Access")
        if to_write and not parent.takes_posts:
            raise Refused(403, 50013, "Missing Permissions")
        if to_write and channel.recipient is not None and not channel.recipient.takes_messages:
            raise Refused(403, 50007, "Cannot send messages to this user")
        return channel

    def _find(self, request: web.Request, *, is_own: bool = False) -> Post:
        channel = self._find_channel(request)
        post = self._world.posts.get(request.match_info["message"])
        if post is None or post.channel is not channel or post.whisper_to is not None:
            raise Refused(404, 10008, "Unknown Message")
        if is_own and post.author is not self._world.bot:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        return post

    # --- messages

    async def _post(self, request: web.Request) -> web.Response:
        channel = self._find_channel(request, to_write=True)
        body, files = await self.read(request)
        nonce = check_nonce(body)
        if nonce is not None and body.get("enforce_nonce"):
            for post in self._world.posts.values():
                if post.nonce == nonce and post.channel is channel:
                    return answer(self._world.json_of(post))
        post = Post(id=self._world.snowflake(), channel=channel, author=self._world.bot, nonce=nonce)
        post.reply_to = self._reference(body, channel)
        self.fill(post, body, files)
        await self.show(post)
        return answer(self._world.json_of(post))

    def _reference(self, body: Json, channel: Channel) -> Post | None:
        reference = body.get("message_reference")
        if not reference:
            return None
        post = self._world.posts.get(str(reference.get("message_id")))
        if post is not None and post.channel is channel:
            return post
        if reference.get("fail_if_not_exists", True):
            raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return None

    async def _get(self, request: web.Request) -> web.Response:
        return answer(self._world.json_of(self._find(request)))

    async def _edit(self, request: web.Request) -> web.Response:
        post = self._find(request, is_own=True)
        wait = self._old_edits.spend(post.channel.id) if post.is_old else 0.0
        if wait:
            return too_often(wait, code=30046)
        body, files = await self.read(request)
        self.fill(post, body, files)
        await self.show(post, is_edit=True)
        return answer(self._world.json_of(post))

    async def _delete(self, request: web.Request) -> web.Response:
        post = self._find(request)
        if post.author is not self._world.bot and post.channel.kind == DIRECT:
            raise Refused(403, 50003, "Cannot execute action on a DM channel")
        await self.remove(post)
        return web.Response(status=NOTHING)

    async def read(self, request: web.Request) -> tuple[Json, list[File]]:
        """The body of a call, and the files that came along."""
        if not request.content_type.startswith("multipart/"):
            try:
                return json.loads(await request.text() or "{}"), []
            except ValueError:
                raise Refused(400, 50109, "The request body contains invalid JSON.") from None
        body: Json = {}
        files: list[File] = []
        for name, value in (await request.post()).items():
            if name == "payload_json":
                body = json.loads(str(value))
            elif isinstance(value, web.FileField):
                mime = value.content_type.partition(";")[0]
                files.append(File(name=value.filename, data=value.file.read(), mime=mime))
        if len(files) > 10:
            raise invalid("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
        if any(len(file.data) > self.max_upload for file in files):
            raise Refused(413, 40005, "Request entity too large")
        return body, files

    def fill(self, post: Post, body: Json, files: list[File]) -> None:
        """Give a message what a call says; what it does not name stays."""
        content = check_content(body) if "content" in body else post.content
        embeds = check_embeds(body) if "embeds" in body else post.embeds
        components = check_components(body) if "components" in body else post.components
        allowed = check_allowed(body)
        kept = post.files
        if body.get("attachments") is not None:
            wanted = {str(one.get("id")) for one in body["attachments"]}
            kept = [file for file in kept if file["id"] in wanted]
        if not (content or embeds or files or kept):
            raise Refused(400, 50006, "Cannot send an empty message")
        post.content, post.embeds, post.components, post.allowed = content, embeds, components, allowed
        post.files = [*kept, *(self.attach(file, post.channel) for file in files)]
        if body.get("flags") is not None:
            post.flags = post.flags & ~SETTABLE | int(body["flags"]) & SETTABLE

    def attach(self, file: File, channel: Channel) -> Json:
        """Keep a file; gives its attachment object."""
        number = self._world.snowflake()
        self._world.files[number] = file
        url = f"{self._base()}/cdn/attachments/{channel.id}/{number}/{file.name}?ex=6fffffff&is=1&hm=ab12"
        found: dict[str, Any] = {"id": number, "filename": file.name, "size": len(file.data)}
        found |= {"url": url, "proxy_url": url, "content_type": file.mime}
        if file.kind == "image":
            found |= {"width": 16, "height": 16}
        if file.kind == "voice":
            found |= {"duration_secs": 1.5, "waveform": "AAAA"}
        return found

    async def _give(self, request: web.Request) -> web.Response:
        file = self._world.files.get(request.match_info["file"])
        if file is None or request.query.get("hm") != "ab12":
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=file.data, content_type=file.mime)

    async def show(self, post: Post, *, is_edit: bool = False) -> None:
        """Let everybody see what the bot posted or changed."""
        if is_edit:
            post.edited = self._world.now()
        self._world.show(post, is_edit=is_edit)
        if post.whisper_to is None:
            event = "MESSAGE_UPDATE" if is_edit else "MESSAGE_CREATE"
            await self._changed(event, self._world.json_of(post, as_event=True))

    async def remove(self, post: Post) -> None:
        """Let a message disappear."""
        self._world.remove(post)
        place = {} if post.channel.kind == DIRECT else {"guild_id": GUILD}
        await self._changed("MESSAGE_DELETE", {"id": post.id, "channel_id": post.channel.id, **place})

    async def _history(self, request: web.Request) -> web.Response:
        posts = self._world.history(self._find_channel(request))
        limit = int(request.query.get("limit", "50"))
        if not 1 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
        after, before = request.query.get("after"), request.query.get("before")
        if after is not None:
            found = [post for post in posts if int(post.id) > int(after)][:limit]
        else:
            found = [post for post in posts if before is None or int(post.id) < int(before)][-limit:]
        return answer([self._world.json_of(post) for post in reversed(found)])

    async def _type(self, request: web.Request) -> web.Response:
        chat = self._find_channel(request, to_write=True).chat
        self.typings[chat] = self.typings.get(chat, 0) + 1
        return web.Response(status=NOTHING)

    async def _start_thread(self, request: web.Request) -> web.Response:
        post = self._find(request)
        if post.channel.kind == DIRECT:
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        if post.id in self._world.channels:
            raise Refused(400, 160004, "A thread has already been created for this message")
        thread = self._world.thread(post.channel, post.id)
        thread.name = str((await request.json())["name"])[:100]
        await self._changed("THREAD_CREATE", {**thread.as_json(), "newly_created": True})
        return answer(thread.as_json(), status=201)

    async def _react(self, request: web.Request) -> web.Response:
        post, emoji = self._find(request), request.match_info["emoji"]
        if emoji.isascii():
            raise Refused(400, 10014, "Unknown Emoji")
        if emoji not in post.reactions:
            if len(post.reactions) >= 20:
                raise Refused(400, 30010, "Maximum number of reactions reached (20)")
            post.reactions.append(emoji)
        self._world.show_reactions(post)
        return web.Response(status=NOTHING)

    async def _unreact(self, request: web.Request) -> web.Response:
        post, emoji = self._find(request), request.match_info["emoji"]
        if emoji not in post.reactions:
            raise Refused(404, 10014, "Unknown Emoji")
        post.reactions.remove(emoji)
        self._world.show_reactions(post)
        return web.Response(status=NOTHING)
