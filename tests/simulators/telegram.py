"""Telegram on loopback: the Bot API, its files, polling and webhooks.

The rules stand where they are enforced: texts and entities in `telegram_text`, methods, errors and rates in
`telegram_api`, files in `telegram_files`, offsets, conflicts and webhooks in `telegram_push`. Here are those
about people: privacy mode is off, so the bot hears all that is said in a group; a command from the menu of a
group names its bot; the parts of an album come as updates of their own; nobody tells a bot of deletions.
"""

import time
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from aiohttp import web

from tests.simulators.platform import File, Simulator
from tests.simulators.telegram_api import OWN_CALLS, Api, read_arguments, refuse
from tests.simulators.telegram_push import Push
from tests.simulators.telegram_text import Refused, find_entities
from tests.simulators.telegram_world import BOT_USERNAME, Post, World


class TelegramSimulator(Simulator):
    """Telegram with one bot.

    Args:
        has_rates: Refuse what goes over the rates.
        retry_seconds: Between two tries to reach a webhook.
    """

    name: ClassVar[str] = "telegram"
    token = "7000000001:simulated-token_of-a-bot"

    def __init__(self, *, has_rates: bool = True, retry_seconds: float = 0.1) -> None:
        super().__init__()
        self.world = World(self.messages)
        self.push = Push(tell=self.tell, retry_seconds=retry_seconds)
        self.api = Api(self.world, self.push, token=self.token, has_rates=has_rates)

    # --- the server

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.post("/bot{token}/{method}", self.api.serve),
            web.get("/file/bot{token}/documents/{file}.bin", self.api.give_file),
        ]

    async def start(self) -> None:
        await super().start()
        self.push.resume()

    async def kill(self) -> None:
        await self.push.halt()
        await super().kill()

    async def drop(self) -> None:
        self.push.cut()

    def limit_answer(self, request: web.Request, seconds: float) -> web.StreamResponse:
        wait = int(seconds) if seconds == int(seconds) else seconds
        return refuse(Refused(f"Too Many Requests: retry after {wait}", status=429, retry_after=wait))

    @property
    def settings(self) -> dict[str, str]:
        return {"BOT_TELEGRAM__TOKEN": self.token, "BOT_TELEGRAM__BASE_URL": self.url}

    def method_of(self, request: web.Request) -> str:
        if request.path.startswith("/file/"):
            return "download"
        name = request.path.rpartition("/")[2]
        return "" if name.lower() in OWN_CALLS else name

    async def chat_of(self, request: web.Request) -> str:
        if not self.method_of(request) or request.method != "POST":
            return ""
        chat = str((await read_arguments(request)).get("chat_id", ""))
        found = [one.name for one in self.world.chats.values() if str(one.id) == chat]
        return found[0] if found else ""

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
        place = self.world.chat(chat, is_direct=direct)
        said = f"@{BOT_USERNAME} {text}" if mentions_bot else text
        post = self.world.new(
            place,
            self.world.person(user, is_bot=is_bot),
            text=said,
            entities=find_entities(said),
            topic=self.world.topic(place, thread),
            reply_to=int(reply_to.rpartition(":")[2]) if reply_to is not None else None,
        )
        return await self._deliver(post)

    async def user_edits(self, chat: str, message: str, text: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        mention = f"@{BOT_USERNAME} " if post.text.startswith(f"@{BOT_USERNAME} ") else ""
        post.text = mention + text
        post.entities = find_entities(post.text)
        post.edits += 1
        self.world.show(post)
        self.push.send("edited_message", {**self.world.as_json(post), "edit_date": int(time.time())})
        await self.tell()

    async def upload(
        self, chat: str, file: File, *, user: str = "ann", text: str = "", direct: bool = True
    ) -> str:
        return (await self.album(chat, [file], user=user, text=text, direct=direct))[0]

    async def album(
        self,
        chat: str,
        files: Sequence[File],
        *,
        user: str = "ann",
        text: str = "",
        direct: bool = True,
        group: str | None = None,
    ) -> list[str]:
        """Send files together; gives the ids of the messages.

        Args:
            group: To go on with an album; else several files have one of their own.
        """
        place = self.world.chat(chat, is_direct=direct)
        name = group or (uuid.uuid4().hex if len(files) > 1 else None)
        posts = []
        for number, file in enumerate(files):
            caption = text if number == 0 else ""
            media = self.api.shelf.put(file) | ({"media_group_id": name} if name is not None else {})
            post = self.world.new(
                place,
                self.world.person(user),
                text=caption,
                entities=find_entities(caption),
                media=media,
                file=file,
            )
            posts.append(await self._deliver(post))
        return posts

    async def user_sends(self, chat: str, *, user: str = "ann", direct: bool = True, **media: Any) -> str:
        """Send what has no text: `sticker={"emoji": "…"}`, `location={…}`, `contact={…}`."""
        place = self.world.chat(chat, is_direct=direct)
        return await self._deliver(self.world.new(place, self.world.person(user), media=media))

    async def click(self, message: str, label: str, *, user: str = "ann") -> None:
        post = self.world.posts[message]
        button = next(one for row in post.keyboard for one in row if one["text"] == label)
        if "callback_data" not in button:
            return  # a link: the person goes there, and the bot hears nothing
        query = uuid.uuid4().hex
        self.api.presses[query] = False
        content = {
            "id": query,
            "from": self.world.person(user),
            "message": self.world.as_json(post),
            "chat_instance": "1",
            "data": button["callback_data"],
        }
        self.push.send("callback_query", content)
        await self.tell()

    async def slash(
        self, chat: str, command: str, arguments: str = "", *, user: str = "ann", direct: bool = True
    ) -> None:
        name = command.removeprefix("/") if direct else f"{command.removeprefix('/')}@{BOT_USERNAME}"
        await self.user_says(chat, f"/{name} {arguments}".strip(), user=user, direct=direct)

    async def redeliver(self) -> None:
        self.push.again()

    def typing(self, chat: str) -> int:
        return self.api.typing.get(chat, 0)

    def block(self, chat: str) -> None:
        """Block the bot, or throw it out of a group."""
        for place in self.world.chats.values():
            place.has_bot = place.has_bot and place.name != chat

    def upgrade(self, chat: str) -> int:
        """Make a group a supergroup; gives its new id."""
        place = self.world.chat(chat, is_direct=False)
        old, place.id = place.id, place.id - 1
        self.world.chats[place.id] = self.world.chats.pop(old)
        self.world.moved[old] = place.id
        return place.id

    async def _deliver(self, post: Post) -> str:
        self.push.send("message", self.world.as_json(post))
        await self.tell()
        return post.id
