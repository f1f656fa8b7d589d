"""Messages for tests: complete, and different in what the test names."""

from bot.messages import (
    Address,
    Chunk,
    End,
    EndReason,
    InboundMessage,
    MessageId,
    Role,
    Sender,
    SessionKey,
    Trigger,
    new_id,
    utc_now,
)


def inbound(
    text: str = "hello",
    *,
    session: str = "web:default:main",
    platform_id: str | None = None,
    speaker: str = "Ann",
    is_direct: bool = True,
    trigger: Trigger = Trigger.MESSAGE,
) -> InboundMessage:
    """A message of a person; `session` is channel, account and chat, which make its address."""
    id_ = MessageId(new_id())
    channel, account, chat = session.split(":", 2)
    return InboundMessage(
        id=id_,
        platform_id=platform_id or f"p-{id_}",
        address=Address(channel=channel, account=account, chat=chat, is_direct=is_direct),
        session=SessionKey(session),
        sender=Sender(id=speaker.lower(), name=speaker, role=Role.MEMBER),
        text=text,
        received_at=utc_now(),
        trigger=trigger,
    )


def chunk_of(
    message: InboundMessage, text: str, *, seq: int = 1, attempt: int = 1, replaces: bool = False
) -> Chunk:
    """A piece of the answer to a message."""
    return Chunk(
        run=message.run,
        session=message.session,
        address=message.address,
        attempt=attempt,
        seq=seq,
        text=text,
        replaces=replaces,
    )


def end_of(
    message: InboundMessage, text: str = "answer", *, attempt: int = 1, reason: EndReason = "done"
) -> End:
    """The end of the answer to a message."""
    return End(
        run=message.run,
        session=message.session,
        address=message.address,
        attempt=attempt,
        seq=1_000_000,
        reason=reason,
        text=text,
    )
