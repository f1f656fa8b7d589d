"""How the loop speaks: ends of runs, and the inbox updates that go with them.

Every text that is kept and sent at the end of a run becomes an `End` here, and is redacted then.
"""

from typing import Protocol

from msgspec.structs import replace

from bot.agent.run import Outcome
from bot.agent.store import Pending
from bot.bus import Bus
from bot.messages import BY_ITSELF, Address, Button, End, Failure, InboundMessage, InboxUpdate, utc_now


class Redactor(Protocol):
    """Hides what must not leave the bot."""

    def redact(self, text: str) -> str: ...

    async def redact_soon(self, text: str) -> str: ...


class Publisher:
    """Publishes for the loop under the bot's name, which an admin may change."""

    def __init__(self, bus: Bus, *, name: str, redactor: Redactor | None = None) -> None:
        self._bus = bus
        self._redactor = redactor
        self.name = name

    async def end_of(
        self, message: InboundMessage, attempt: int, outcome: Outcome, *, seq: int, shown: str = ""
    ) -> End:
        """The end of a message's run, with nothing in it that must not leave the bot.

        Args:
            shown: What was shown of the text, and so is redacted already.
        """
        return await self.redacted(end_of(message, attempt, outcome, seq=seq), shown=shown)

    async def redacted(self, end: End, *, shown: str = "") -> End:
        """An end with nothing in it that must not leave the bot; `shown` as `end_of` has it."""
        if self._redactor is None or not (end.text or end.buttons):
            return end
        known = shown if end.text.startswith(shown) else ""
        rest = end.text[len(known) :]
        text = known + await self._redactor.redact_soon(rest) if rest else end.text
        return replace(end, text=text, buttons=tuple(map(self._button, end.buttons)))

    def _button(self, button: Button) -> Button:
        assert self._redactor is not None, "only then is it asked"
        return replace(button, label=self._redactor.redact(button.label))

    def show(self, message: InboundMessage) -> None:
        """Tell the inbox of a message that was accepted."""
        self._bus.emit(
            InboxUpdate(
                session=message.session,
                run=message.run,
                id=message.id,
                direction="in",
                address=message.address,
                speaker=message.sender.name or message.sender.id,
                text=message.text,
                at=message.received_at,
                platform_id=message.platform_id,
            )
        )

    def end(self, end: End, *, chat: Address | None = None, speaker: str = "") -> None:
        """Send the end of a run to its channel, and to the inbox.

        Args:
            chat: Whose run it was, where the answer goes elsewhere.
            speaker: Who has said it, if not the bot.
        """
        self._bus.send(end)
        if end.reason == "error" and end.reference is not None:
            self._bus.emit(Failure(session=end.session, run=end.run, text=end.text, reference=end.reference))
        if end.text:
            self._bus.emit(
                InboxUpdate(
                    session=end.session,
                    run=end.run,
                    id=f"{end.run}:answer",
                    direction="out",
                    address=chat or end.address,
                    speaker=speaker or self.name,
                    text=end.text,
                    at=utc_now(),
                    reason=end.reason,
                )
            )


def answered_by(message: InboundMessage) -> str | None:
    """The platform's id of the message that an answer goes to; what the bot itself has begun has none."""
    return None if message.trigger in BY_ITSELF else message.platform_id


def silent_end(pending: Pending) -> End:
    """The end of a message that gets no answer of its own."""
    return end_of(pending.message, pending.attempts + 1, Outcome(reason="silent", text=""), seq=1)


def end_of(message: InboundMessage, attempt: int, outcome: Outcome, *, seq: int) -> End:
    """The end of a message's run, with the address that was captured at intake."""
    return End(
        run=message.run,
        session=message.session,
        address=message.address,
        attempt=attempt,
        seq=seq,
        reason=outcome.reason,
        text=outcome.text,
        reference=outcome.reference,
        reply_to=answered_by(message),
        attachments=outcome.attachments,
        buttons=outcome.buttons,
    )
