"""What operators work with, put together: the inbox, its commands, and what admins are told of."""

from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import Self

import msgspec

from bot.agent.audit import Audit
from bot.agent.prompt import PromptBuilder
from bot.agent.spending import Spending
from bot.alarm import Alarm
from bot.app.doors import Doors
from bot.app.parts import input_guard_of
from bot.backends.one import OneBackend
from bot.backends.router import Router
from bot.bus import Bus
from bot.commands.call import Command
from bot.commands.inbox import InboxCommands
from bot.hooks.points import SessionStart
from bot.hooks.registry import Hooks
from bot.inbox.acts import Acts
from bot.inbox.base import InboxBook
from bot.inbox.broadcasting import Broadcasts
from bot.inbox.desk import InboxDesk, Loop, Means
from bot.inbox.diversions import Diversions
from bot.inbox.docking import Docks
from bot.inbox.drafting import Drafts
from bot.inbox.notices import WaitingWatch
from bot.inbox.retrying import Retries
from bot.messages import SessionKey
from bot.running import RunningBot
from bot.settings import Settings
from memory.store import Store


class Works(msgspec.Struct, frozen=True, kw_only=True):
    """What of the bot operators steer.

    Attributes:
        loop: Asked for at each act: it comes later.
        undelivered: Channels to which nothing is delivered.
        live: Those of them whose people sit at the bot itself.
    """

    store: Store
    bus: Bus
    bot: RunningBot
    doors: Doors
    audit: Audit
    alarm: Alarm
    router: Router | OneBackend
    prompts: PromptBuilder
    spending: Spending
    redact: Callable[[str], str]
    loop: Callable[[], Loop]
    undelivered: Collection[str]
    live: Collection[str]


class Operating:
    """Owns the operators' side from `__aenter__` to `__aexit__`.

    Attributes:
        desk: Fulfils `bot.inbox.base.Desk`.
        diversions: For the turn.
    """

    def __init__(self, settings: Settings, works: Works) -> None:
        store, bot, access = works.store, works.bot, works.doors.access
        self.diversions = Diversions(store.inbox)
        self._broadcasts = Broadcasts(
            store.chats,
            lambda text, addresses: bot.broadcast(text, addresses),
            is_open=access.is_open,
            undelivered=works.undelivered,
            alarm=works.alarm.tell,
        )
        drafts = Drafts(
            works.router,
            store.journal,
            works.prompts,
            works.spending,
            guard=input_guard_of(settings),
            redact=works.redact,
            history=settings.context_top_k,
        )
        means = Means(
            diversions=self.diversions,
            drafts=drafts,
            docks=Docks(self.diversions, undelivered=works.undelivered),
            retries=Retries(store.inbox, bot, works.bus.publish),
            broadcasts=self._broadcasts,
        )
        acts = Acts(works.audit)
        self.desk = InboxDesk(store.inbox, acts, works.loop, means, rules=access, live=works.live)
        self._watch = WaitingWatch(
            store.inbox,
            store.state("bot", "waiting"),
            minutes=settings.notices.waiting_minutes,
            tell=works.alarm.tell,
        )

    async def __aenter__(self) -> Self:
        await self.diversions.load()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._broadcasts.aclose()

    @property
    def watch(self) -> WaitingWatch:
        """Looks for who waits; to be entered once people are served."""
        return self._watch

    def commands(self) -> tuple[Command, ...]:
        """The slash commands."""
        return InboxCommands(self.desk).commands()


def watch_for_new(settings: Settings, hooks: Hooks, alarm: Alarm) -> None:
    """Have admins told of chats that begin, where they want to be."""
    if not settings.notices.new_person:
        return

    async def tell(event: SessionStart) -> None:
        if event.session == event.address.session():  # else it is a new session of an old chat
            alarm.chat_begun(event.address)

    hooks.on(SessionStart, tell)


def muted_in(book: InboxBook) -> Callable[[SessionKey], Awaitable[bool]]:
    """Tells which conversations raise no notice."""

    async def is_muted(chat: SessionKey) -> bool:
        found = await book.get(chat)
        return found is not None and found.state == "muted"

    return is_muted
