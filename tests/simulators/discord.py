"""Discord on loopback: the gateway, the API, files, commands and buttons.

The rules stand where they are enforced: texts, embeds, buttons and mentions in `discord_looks`, sessions,
resuming and intents in `discord_gateway`, calls and errors in `discord_api`, rates in `discord_rates`,
answers to commands and presses in `discord_interactions`. Here are those about people: a thread that
begins with a message has the id of that message; an answer notifies whom it answers; a preview of a link
comes as an update that no person made; a voice note has no caption (a recording with one is a file); the
bot is told of its own messages as well.
"""

from collections.abc import Sequence
from typing import ClassVar

from aiohttp import web

from tests.simulators.discord_api import Api, answer
from tests.simulators.discord_gateway import Gateway
from tests.simulators.discord_interactions import Interactions
from tests.simulators.discord_rates import too_often
from tests.simulators.discord_world import (
    BOT_USER,
    DIRECT,
    GUILD,
    Channel,
    Json,
    Person,
    Post,
    World,
)
from tests.simulators.platform import File, Simulator

VOICE_NOTE = 1 << 13
VOICE_ONLY = ("duration_secs", "waveform")


class DiscordSimulator(Simulator):
    """One server with one bot in it, and direct chats.

    Args:
        has_rates: Refuse what goes over the rates.
        answer_seconds: Until a command or press must be answered.
        token_seconds: How long one can be answered at all.
        heartbeat: Seconds between two beats of the gateway.
    """

    name: ClassVar[str] = "discord"
    token = "c2ltdWxhdGVk.simulated.discord-token"

    def __init__(
        self,
        *,
        has_rates: bool = True,
        answer_seconds: float = 3.0,
        token_seconds: float = 900.0,
        heartbeat: float = 41.25,
    ) -> None:
        super().__init__()
        self.world = World(self.messages)
        self.gateway = Gateway(
            self.world, token=self.token, url=self._gateway_url, tell=self.tell, heartbeat=heartbeat
        )
        self.api = Api(
            self.world,
            token=self.token,
            has_rates=has_rates,
            base=lambda: self.url,
            gateway=self._gateway_url,
            changed=self._echo,
        )
        self.interactions = Interactions(
            self.world, self.api, answer_seconds=answer_seconds, token_seconds=token_seconds
        )

    # --- the server

    def routes(self) -> list[web.AbstractRouteDef]:
        gateway = web.get("/gateway/", self.gateway.serve)
        unknown = web.route("*", "/api/{path:.*}", _unknown)
        return [gateway, *self.api.routes(), *self.interactions.routes(), unknown]

    async def drop(self) -> None:
        await self.gateway.drop()

    def invalidate(self) -> None:
        """Forget the sessions of the gateway: the next resume fails, and nothing is told again."""
        self.gateway.invalidate()

    def limit_answer(self, request: web.Request, seconds: float) -> web.StreamResponse:
        return too_often(seconds)

    def _gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gateway/"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "BOT_DISCORD__TOKEN": self.token,
            "BOT_DISCORD__API_URL": f"{self.url}/api/v10",
            "BOT_DISCORD__GATEWAY_URL": self._gateway_url(),
        }

    def method_of(self, request: web.Request) -> str:
        return request.match_info.route.name or ""

    async def chat_of(self, request: web.Request) -> str:
        channel = self.world.channels.get(request.match_info.get("channel", ""))
        if channel is None and "token" in request.match_info:
            interaction = self.interactions.all.get(request.match_info["token"])
            channel = interaction.channel if interaction is not None else None
        return channel.chat if channel is not None else ""

    async def _echo(self, event: str, data: Json) -> None:
        await self.gateway.dispatch(event, data, is_echo=True)

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
        post = await self._new(chat, user, direct=direct, thread=thread)
        post.author.is_bot = is_bot
        post.content = f"<@{BOT_USER}> {text}" if mentions_bot else text
        post.reply_to = self.world.posts[reply_to] if reply_to is not None else None
        return await self._say(post)

    async def user_edits(self, chat: str, message: str, text: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        mention = f"<@{BOT_USER}> " if post.content.startswith(f"<@{BOT_USER}>") else ""
        post.content, post.edited = mention + text, self.world.now()
        self.world.show(post, is_edit=True)
        await self.gateway.dispatch("MESSAGE_UPDATE", self.world.json_of(post, as_event=True))

    async def user_deletes(self, chat: str, message: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        self.world.remove(post)
        place = {} if post.channel.kind == DIRECT else {"guild_id": GUILD}
        data = {"id": post.id, "channel_id": post.channel.id, **place}
        await self.gateway.dispatch("MESSAGE_DELETE", data)

    async def purge(self, messages: Sequence[str]) -> None:
        """Take back many messages of a group at once, as moderators do."""
        channel = self.world.posts[messages[0]].channel
        for message in messages:
            self.world.remove(self.world.posts[message])
        data = {"ids": list(messages), "channel_id": channel.id, "guild_id": GUILD}
        await self.gateway.dispatch("MESSAGE_DELETE_BULK", data)

    async def unfurl(self, message: str) -> None:
        """Let Discord add the preview of a link: an update of the message that no person made."""
        post = self.world.posts[message]
        post.embeds = [{"type": "link", "title": "A page", "url": "https://example.org"}]
        await self.gateway.dispatch("MESSAGE_UPDATE", self.world.json_of(post, as_event=True))

    async def upload(
        self, chat: str, file: File, *, user: str = "ann", text: str = "", direct: bool = True
    ) -> str:
        post = await self._new(chat, user, direct=direct, thread=None)
        attachment = self.api.attach(file, post.channel)
        if file.kind == "voice" and text:
            attachment = {name: attachment[name] for name in attachment if name not in VOICE_ONLY}
        elif file.kind == "voice":
            post.flags |= VOICE_NOTE
        post.content, post.files = text, [attachment]
        return await self._say(post)

    async def click(self, message: str, label: str, *, user: str = "ann") -> None:
        interaction = self.interactions.press(self.world.posts[message], label, self.world.person(user))
        await self.gateway.dispatch("INTERACTION_CREATE", interaction.as_json(self.world))

    async def slash(
        self, chat: str, command: str, arguments: str = "", *, user: str = "ann", direct: bool = True
    ) -> None:
        name = command.removeprefix("/")
        await self.until(lambda: name in self.interactions.commands)
        person = self.world.person(user)
        channel = await self._place(chat, person, direct=direct)
        interaction = self.interactions.use(name, arguments, channel, person)
        await self.gateway.dispatch("INTERACTION_CREATE", interaction.as_json(self.world))

    async def redeliver(self) -> None:
        await self.gateway.again()

    def age(self, message: str) -> None:
        """Let a message be older than an hour: few edits of it are taken."""
        self.world.posts[message].is_old = True

    def typing(self, chat: str) -> int:
        return self.api.typings.get(chat, 0)

    async def _new(self, chat: str, user: str, *, direct: bool, thread: str | None) -> Post:
        """A message that is about to be said, in a place that the bot has been told of."""
        person = self.world.person(user)
        channel = await self._place(chat, person, direct=direct)
        if thread is not None:
            known = set(self.world.channels)
            channel = self.world.thread(channel, thread)
            if channel.id not in known:
                await self.gateway.dispatch("THREAD_CREATE", {**channel.as_json(), "newly_created": True})
        return Post(id=self.world.snowflake(), channel=channel, author=person)

    async def _place(self, chat: str, person: Person, *, direct: bool) -> Channel:
        if direct:
            return self.world.direct(chat, person)
        known = set(self.world.channels)
        channel = self.world.channel(chat)
        if channel.id not in known:
            await self.gateway.dispatch("CHANNEL_CREATE", channel.as_json())
        return channel

    async def _say(self, post: Post) -> str:
        self.world.show(post)
        if (post.channel.parent or post.channel).has_bot:
            await self.gateway.dispatch("MESSAGE_CREATE", self.world.json_of(post, as_event=True))
        await self.tell()
        return post.id


async def _unknown(_: web.Request) -> web.Response:
    return answer({"message": "404: Not Found", "code": 0}, status=404)
