"""Commands over a real store, given by people in chats; what the running bot would do is noted."""

from collections.abc import Sequence
from pathlib import Path
from time import time

from msgspec.structs import replace

from bot.agent.accounts import payer_of
from bot.agent.audit import AuditEvent
from bot.agent.choice import queue_rules
from bot.agent.control import is_admin
from bot.agent.next_prompt import NextPrompt
from bot.agent.prompt import PromptBuilder
from bot.agent.queueing import DEFAULT_RULES
from bot.agent.spending import Spending
from bot.agent.store import Spent, TurnRecord
from bot.agent.workspace import Workspace
from bot.commands.builtin import Ports, builtin_commands
from bot.commands.call import Answer
from bot.commands.engine import Activity, ChannelState, Unfinished
from bot.commands.registry import Commands
from bot.errors import ChannelError
from bot.messages import (
    Address,
    End,
    InboundMessage,
    MessageId,
    Role,
    RunId,
    Sender,
    SessionKey,
    Trigger,
    new_id,
    utc_now,
)
from memory.store import Store
from security.access import Access
from tests.agent.rig import PlayedBackend

ANN = Sender(id="42", name="Ann")
BOSS = Sender(id="1", name="Boss")
GUILD_ADMIN = Sender(id="7", name="Gil", role=Role.ADMIN)


class Bot:
    """A running bot that does nothing but note what it is told."""

    name = "Switchboard"
    model = "gpt-5-mini"
    backend = "native"
    uptime = 7_500.0
    running = 2
    configured = ("gpt-5-mini", "gpt-5")

    def __init__(self, store: Store) -> None:
        self._store = store
        self.busy: dict[SessionKey, Activity] = {}
        self.done: list[tuple[object, ...]] = []
        self.news: tuple[str, ...] = ()
        self.offered: tuple[str, ...] = ("gpt-5-mini", "gpt-5", "gpt-5-nano", "Vendor/Large-2")

    def activity(self, session: SessionKey) -> Activity:
        return self.busy.get(session, Activity())

    def channels(self) -> Sequence[ChannelState]:
        return (
            ChannelState(channel="telegram", last_event_at=utc_now()),
            ChannelState(channel="slack", account="work", is_connected=False, cause="wrong token"),
        )

    async def rename(self, name: str | None) -> str:
        self.done.append(("rename", name))
        return name or self.name

    async def set_presence(self, status: str, activity: str | None) -> Sequence[str]:
        if status == "invisible":
            raise ChannelError("telegram has no presence", permanent=True)
        self.done.append(("presence", status, activity))
        return ("discord",)

    async def reload(self) -> Sequence[str]:
        return self.news

    def restart(self) -> None:
        self.done.append(("restart",))

    async def broadcast(self, text: str, addresses: Sequence[Address]) -> int:
        self.done.append(("broadcast", text, sorted(address.chat for address in addresses)))
        return len(addresses)

    async def unfinished(self) -> Sequence[Unfinished]:
        return await self._store.journal.unfinished()

    async def retry(self, run: RunId) -> None:
        await self._store.journal.retry(run)

    async def names(self) -> Sequence[str]:
        return self.offered


class Notes:
    """An audit log in memory."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def record(self, event: AuditEvent) -> None:
        self.events.append(event)


class Desk:
    """Where people give commands."""

    def __init__(self, home: Path, store: Store) -> None:
        self.store = store
        self.bot = Bot(store)
        self.audit = Notes()
        self.admins = {"telegram:1"}
        self.access = Access(
            store.rules, is_admin=lambda message: is_admin(message, self.admins), audit=self.audit
        )
        prompts = PromptBuilder(
            name="Switchboard", workspace=Workspace(home / "workspace"), top_k=12, max_tokens=4_000
        )
        ports = Ports(
            engine=self.bot,
            operations=self.bot,
            sessions=store.sessions,
            choices=store.choices,
            catalogue=self.bot,
            usage=store.usage,
            spending=Spending(books=store.usage),
            next_prompt=NextPrompt(store.journal, prompts, PlayedBackend(), history=12),
            access=self.access,
            conversing=store.rules,
            rules=queue_rules(store.choices, DEFAULT_RULES, {}),
            changed=store.changed_settings,
            chats=store.chats,
        )
        self.commands = Commands(builtin_commands(ports), admins=lambda: self.admins, audit=self.audit)

    async def says(
        self,
        text: str,
        chat: str = "main",
        *,
        sender: Sender = ANN,
        channel: str = "telegram",
        is_direct: bool = True,
    ) -> Answer:
        """The answer to a command; what was offered to press is checked to fit every platform."""
        answer = await self.commands.run(
            message(text, chat, sender=sender, channel=channel, is_direct=is_direct)
        )
        assert all(0 < len(button.value.encode()) <= 64 for button in answer.buttons)
        assert all(self.commands.matches(button.value) for button in answer.buttons)
        return answer

    async def talks(
        self,
        text: str,
        chat: str = "main",
        *,
        sender: Sender = ANN,
        tokens: int = 10,
        model: str = "gpt-5",
        day: str | None = None,
        cost: int = 0,
    ) -> SessionKey:
        """A turn of the model in whatever session the chat is in; gives that."""
        said = message(text, chat, sender=sender)
        accepted = await self.store.journal.accept(said)
        said = replace(said, session=accepted.session)
        await self.store.journal.begin(said, attempts=0, history=12)
        end = End(
            run=said.run,
            session=said.session,
            address=said.address,
            attempt=1,
            seq=1,
            reason="done",
            text=f"re: {text}",
        )
        record = TurnRecord(
            started_at=time(),
            ended_at=time(),
            model=model,
            prompt_tokens=tokens,
            completion_tokens=1,
            cached_tokens=tokens // 2,
            spent=(
                Spent(
                    day=day or str(utc_now().date()),
                    person=payer_of(said).person,
                    channel="telegram",
                    session=said.session,
                    model=model,
                    calls=1,
                    prompt=tokens,
                    completion=1,
                    cached=tokens // 2,
                    cost=cost,
                ),
            ),
        )
        await self.store.journal.finish(end, record, speaker="Switchboard", has_outbox=False)
        return accepted.session

    async def lines(self, session: SessionKey) -> list[str]:
        """What people can read of a session."""
        return [line.text for line in await self.store.history.recent(session, limit=1000)]

    async def seen(self, session: SessionKey) -> list[str]:
        """What the model can read of it."""
        upcoming = await self.store.journal.upcoming(session, history=1000)
        return [line.text for line in upcoming.history]


def chat_key(chat: str = "main") -> SessionKey:
    """The chat's own session."""
    return SessionKey(f"telegram:default:{chat}")


def message(
    text: str,
    chat: str = "main",
    *,
    sender: Sender = ANN,
    channel: str = "telegram",
    thread: str | None = None,
    is_direct: bool = True,
    trigger: Trigger = Trigger.MESSAGE,
) -> InboundMessage:
    """A message as an adapter makes it."""
    address = Address(channel=channel, chat=chat, thread=thread, is_direct=is_direct)
    id_ = new_id()
    return InboundMessage(
        id=MessageId(id_),
        platform_id=id_,
        address=address,
        session=address.session(),
        sender=sender,
        text=text,
        received_at=utc_now(),
        trigger=trigger,
    )


def fresh_home(parent: Path) -> Path:
    """A data directory that no example before has used."""
    path = parent / new_id()
    path.mkdir()
    return path
