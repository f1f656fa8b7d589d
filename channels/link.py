"""One window or terminal that looks at a chat: takes what it sends, queues what it is to see."""

import logging
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Protocol, Self, assert_never

from msgspec.structs import replace

from bot.bus import Bus, Receipt
from bot.errors import QueueFull, StoreError
from bot.messages import (
    Address,
    InboundMessage,
    MessageId,
    Role,
    RunId,
    Sender,
    SessionKey,
    StoredMessage,
    Trigger,
    new_id,
    utc_now,
)
from channels.backlog import Backlog
from channels.frames import (
    MAX_TEXT,
    Accepted,
    ClientFrame,
    CommandHint,
    Draft,
    Fault,
    Hello,
    History,
    Older,
    Refused,
    Send,
    ServerFrame,
    Transcript,
    Welcome,
)

log = logging.getLogger(__name__)

OWNER = Sender(id="owner", name="Owner", role=Role.OWNER)  # who gets past the door of the page is the owner
TOO_MANY = "Too many messages are waiting in this chat; send it again when some are answered."


class Host(Protocol):
    """What a link needs of its hub."""

    name: str
    bus: Bus
    transcript: Transcript
    bot_name: str
    commands: tuple[CommandHint, ...]

    def join(self, session: SessionKey, link: "Link") -> None:
        """Show the link what happens in a session."""

    def leave(self, session: SessionKey, link: "Link") -> None:
        """Show it no more."""

    def drafts(self, session: SessionKey) -> Iterator[Draft]:
        """The answers that grow."""


class Link:
    """One end of a conversation: `receive` what the person's side sends, iterate to get what it is to see.

    The iteration ends when the link is closed: by its owner, with the hub, or for being hopelessly behind.
    """

    def __init__(self, hub: Host, backlog: Backlog | None = None) -> None:
        self._hub = hub
        self._backlog = backlog or Backlog()
        self._address: Address | None = None
        self._session = SessionKey("")

    @property
    def is_closed(self) -> bool:
        """Whether the link takes part no more."""
        return self._backlog.is_closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[ServerFrame]:
        return self._backlog

    def close(self) -> None:
        """Leave the chat; what is queued can still be read."""
        self._backlog.close()
        self._hub.leave(self._session, self)

    def show(self, frame: ServerFrame) -> None:
        """Queue a frame for the person's side."""
        self._backlog.put(frame)
        if self._backlog.is_closed:
            self._hub.leave(self._session, self)

    def is_of(self, chat: SessionKey) -> bool:
        """Whether it shows a chat, in whatever session."""
        return self._address is not None and self._address.session() == chat

    async def receive(self, frame: ClientFrame) -> None:
        """Do what a frame asks for; call it for one frame at a time, in order."""
        match frame:
            case Hello():
                await self._greet(frame)
            case Send():
                self.show(await self._accept(frame))
            case Older():
                await self._page(frame)
            case _:
                assert_never(frame)

    async def _greet(self, hello: Hello) -> None:
        if self._address is not None:
            self.show(Fault(text="This connection shows a chat already; open another one."))
            return
        self._address = Address(channel=self._hub.name, chat=hello.chat)
        await self.look()

    async def look(self, *, is_fresh: bool = False) -> None:
        """Show the session that the chat is in now, from its end backwards.

        Args:
            is_fresh: What was shown before is to be forgotten.
        """
        if self._address is None or self.is_closed:
            return
        self._backlog.hold()  # join first: nothing may fall between what is read and what comes
        self._hub.leave(self._session, self)
        try:
            session = self._session = await self._hub.transcript.resolve(self._address.session())
            self._hub.join(session, self)
            # What waits is read first: a message that begins meanwhile is then in both, not in neither.
            waiting = await self._hub.transcript.waiting(session)
            recent = await self._hub.transcript.recent(session)
        except StoreError:
            log.exception("a chat can't be shown", extra={"session": self._session})
            self.close()  # the other side tries again after a while
            return
        welcome = self._welcome(self._address.chat, session, recent, waiting)
        self._backlog.release(replace(welcome, is_fresh=is_fresh))

    def _welcome(
        self, chat: str, session: SessionKey, recent: list[StoredMessage], waiting: list[InboundMessage]
    ) -> Welcome:
        begun = {message.run for message in recent}
        ended = {message.run for message in recent if message.role == "assistant"}
        return Welcome(
            bot=self._hub.bot_name,
            chat=chat,
            messages=tuple(recent),
            more=_has_more(recent),
            running=tuple(draft for draft in self._hub.drafts(session) if draft.run not in ended),
            waiting=tuple(_as_stored(message) for message in waiting if message.run not in begun),
            commands=self._hub.commands,
            session=session,
        )

    async def _accept(self, send: Send) -> ServerFrame:
        if self._address is None:
            return Fault(text="Say hello first.")
        fault = _find_fault(send.text)
        if fault is not None:
            return Refused(id=send.id, text=fault)
        message = _as_inbound(send, self._address)
        try:
            receipt = await self._hub.bus.publish(message)
            match receipt:
                case Receipt.ACCEPTED:
                    return Accepted(id=send.id, run=message.run)
                case Receipt.DUPLICATE:
                    return Accepted(id=send.id, run=await self._find_run(self._session, send.id))
                case Receipt.REFUSED:
                    return Refused(id=send.id, text=TOO_MANY)
                case _:
                    assert_never(receipt)
        except (StoreError, QueueFull) as error:
            return Refused(id=send.id, text=str(error))

    async def _find_run(self, session: SessionKey, platform_id: str) -> RunId | None:
        for message in await self._hub.transcript.waiting(session):
            if message.platform_id == platform_id:
                return message.run
        for line in await self._hub.transcript.recent(session):
            if line.platform_id == platform_id:
                return line.run
        return None

    async def _page(self, older: Older) -> None:
        if self._address is None:
            self.show(Fault(text="Say hello first."))
            return
        try:
            page = await self._hub.transcript.recent(self._session, before=older.before)
        except StoreError as error:
            self.show(Fault(text=str(error)))
            return
        self.show(History(messages=tuple(page), more=_has_more(page)))


def _find_fault(text: str) -> str | None:
    if not text.strip():
        return "The message is empty."
    if len(text) > MAX_TEXT:
        return f"The message has {len(text):,} characters; {MAX_TEXT:,} are the most."
    return None


def _has_more(page: list[StoredMessage]) -> bool:
    return bool(page) and page[0].number > 1


def _as_inbound(send: Send, address: Address) -> InboundMessage:
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=send.id,
        address=address,
        session=address.session(),
        sender=OWNER,
        text=send.text,
        received_at=utc_now(),
        trigger=Trigger.COMMAND if send.text.startswith(("/", "!")) else Trigger.MESSAGE,
    )


def _as_stored(message: InboundMessage) -> StoredMessage:
    return StoredMessage(
        number=0,
        id=message.id,
        run=message.run,
        role="user",
        speaker=message.sender.name or message.sender.id,
        text=message.text,
        at=message.received_at,
        platform_id=message.platform_id,
    )
