"""A whole bot with two platforms of the tests' own, an agent that a test plays, and operators at a desk."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from bot.app import App
from bot.inbox.base import Operator
from bot.messages import (
    Address,
    End,
    InboundMessage,
    MessageId,
    OutboundMessage,
    Role,
    Sender,
    SessionKey,
    StoredMessage,
    new_id,
    utc_now,
)
from bot.settings import ChannelSettings
from channels.base import Capabilities, ChannelAdapter, Content, Liveness, Setup
from tests.agent.rig import Play, PlayedBackend, echo
from tests.bots import settings_for

ANN = Operator(name="Ann", actor="web:ann", role=Role.OWNER)
BEN = Operator(name="Ben", actor="board:ben")
GUEST = Operator(name="Gus", actor="web:gus", role=Role.GUEST)
KIM = Sender(id="kim", name="Kim")
BOSS = Sender(id="boss", name="Boss")
HERE = Address(channel="board", chat="kim")
CHAT = HERE.session()


class Board(ChannelAdapter):
    """A platform whose chats are lists of texts."""

    name = "board"
    liveness = Liveness(is_connected=True)

    def __init__(self, setup: Setup[ChannelSettings], news: asyncio.Condition) -> None:
        self._account = setup.account
        self._news = news
        self.posts: list[tuple[str, str]] = []  # chat and text

    @property
    def account(self) -> str:
        """See `ChannelAdapter.account`."""
        return self._account

    def capabilities_in(self, address: Address) -> Capabilities:
        """See `ChannelAdapter.capabilities_in`."""
        return Capabilities(edits=True, rates=())

    async def run(self) -> None:
        """See `ChannelAdapter.run`."""
        await self._tell()
        await asyncio.Event().wait()

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """See `ChannelAdapter.post`."""
        self.posts.append((address.chat, content.text))
        await self._tell()
        return str(len(self.posts) - 1)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """See `ChannelAdapter.edit`."""
        self.posts[int(platform_id)] = (address.chat, content.text)
        await self._tell()

    async def delete(self, address: Address, platform_id: str) -> None:
        """See `ChannelAdapter.delete`."""
        self.posts[int(platform_id)] = (address.chat, "")
        await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


class Slate(Board):
    """Another one."""

    name = "slate"


class Office:
    """The bot, its platforms, and what its runs ended with."""

    def __init__(
        self, app: App, home: Path, backend: PlayedBackend, boards: dict[str, Board], news: asyncio.Condition
    ) -> None:
        self.app = app
        self.home = home
        self.desk = app.desk
        self.backend = backend
        self.boards = boards
        self.ends: list[End] = []
        self.parts: list[OutboundMessage] = []
        self._news = news

    async def follow(self) -> None:
        """Note what goes out, until cancelled."""
        with self.app.bus.outbound() as outbound:
            async for part in outbound:
                async with self._news:
                    self.parts.append(part)
                    if isinstance(part, End):
                        self.ends.append(part)
                    self._news.notify_all()

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait until something is true of what went out."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(claim)

    async def says(self, text: str, sender: Sender = KIM, address: Address = HERE, **changes: object) -> End:
        """A person says something; gives how its run ended."""
        message = said(text, sender, address, **changes)
        await self.app.bus.publish(message)
        await self.until(lambda: any(end.run == message.run for end in self.ends))
        return next(end for end in self.ends if end.run == message.run)

    async def posted(self, text: str, channel: str = "board") -> str:
        """Wait for a text on a platform; gives the chat that it is in."""
        await self.until(lambda: any(text in post for _, post in self.boards[channel].posts))
        return next(chat for chat, post in self.boards[channel].posts if text in post)

    async def lines(self, chat: SessionKey = CHAT) -> list[StoredMessage]:
        """What was said in a chat."""
        return await self.app.store.history.recent(chat, limit=100)

    def prompt(self, turn: int = -1) -> str:
        """What a turn gave the model to read."""
        return "\n".join(message.content for message in self.backend.turns[turn].messages)

    def audited(self, action: str) -> list[str]:
        """Who has done something, by the audit log."""
        files = sorted((self.home / "audit").glob("*.jsonl"))
        entries = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [entry["actor"] for entry in entries if entry["action"] == f"inbox {action}"]


def said(text: str, sender: Sender = KIM, address: Address = HERE, **changes: object) -> InboundMessage:
    """What somebody says on a platform."""
    id_ = new_id()
    message = InboundMessage(
        id=MessageId(id_),
        platform_id=id_,
        address=address,
        session=address.session(),
        sender=sender,
        text=text,
        received_at=utc_now(),
    )
    return replace(message, **changes)


@asynccontextmanager
async def office(home: Path, play: Play = echo, **changes: object) -> AsyncIterator[Office]:
    """A running bot that `board:boss` steers."""
    backend, boards, news = PlayedBackend(play), dict[str, Board](), asyncio.Condition()

    def make(kind: type[Board]) -> Callable[[Setup[ChannelSettings]], Board]:
        def made(setup: Setup[ChannelSettings]) -> Board:
            boards[kind.name] = kind(setup, news)
            return boards[kind.name]

        return made

    settings = settings_for(home, **({"admins": ("board:boss",)} | changes))
    adapters = {kind.name: make(kind) for kind in (Board, Slate)}
    async with (
        App(settings, backend=backend, adapters=adapters, has_web=False) as app,
        asyncio.TaskGroup() as group,
    ):
        at_work = Office(app, home, backend, boards, news)
        following = group.create_task(at_work.follow())
        async with asyncio.timeout(10), news:
            await news.wait_for(lambda: len(boards) == len(adapters))  # they are opened beside the start
        yield at_work
        following.cancel()
