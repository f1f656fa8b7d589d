"""Answers that are typed: a button opens a form (a modal), and what was typed comes back as a message."""

import asyncio
import logging
from typing import Final

import msgspec

from bot.errors import ChannelError
from bot.messages import Address, Button, InboundMessage, MessageId, Sender, Trigger, new_id, utc_now
from channels.slack.client import Client
from channels.slack.parse import Heard, Scope, message_id
from channels.slack.wire import Done, Interaction

log = logging.getLogger(__name__)

OPEN_SECONDS: Final = 2.5  # a trigger is taken for three; Source: docs.slack.dev, "Opening modals"
ACTION: Final = "form"  # how the id of a button begins that opens one
QUESTION: Final = 1_500  # characters of the question that go along with the button, of 2,000 in all
TYPED: Final = 3_000  # Source: docs.slack.dev, plain-text input, `max_length`
BLOCK: Final = "answer"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Where a form was opened, and what stands before its answer; travels inside the form."""

    chat: str
    value: str
    message_ts: str
    thread: str | None = None
    is_direct: bool = True


def value_of(button: Button) -> str:
    """What such a button carries: the beginning of its message, and the question."""
    return f"{button.value}\n{(button.form or '')[:QUESTION]}"


def opens_form(press: Interaction) -> bool:
    """Whether a pressed button is one that opens a form."""
    return press.type == "block_actions" and any(
        action.action_id.startswith(ACTION) for action in press.actions
    )


class Forms:
    """Opens forms; one that can't be opened costs nothing: the answer can be typed in the chat."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def open(self, press: Interaction) -> None:
        """Open the form of a pressed button."""
        view = view_of(press)
        if view is None:
            return
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._client.call("views.open", Done, {"trigger_id": press.trigger_id, "view": view})
        except (ChannelError, TimeoutError) as error:
            log.warning("form not opened", extra={"cause": str(error)})


def view_of(press: Interaction) -> dict[str, object] | None:
    """The form that a pressed button asks for; `None` where it was pressed in no message."""
    action, container = press.actions[0], press.container
    if press.channel is None or container is None or container.message_ts is None or not action.value:
        return None
    value, _, question = action.value.partition("\n")
    root = press.message.thread_ts if press.message is not None else container.thread_ts
    asked = Asked(
        chat=press.channel.id,
        value=value,
        message_ts=container.message_ts,
        thread=root if root != container.message_ts else None,
        is_direct=press.channel.id.startswith("D"),
    )
    return {
        "type": "modal",
        "title": _plain("Answer"),
        "submit": _plain("Send"),
        "close": _plain("Cancel"),
        "private_metadata": msgspec.json.encode(asked).decode(),
        "blocks": [
            {"type": "section", "text": _plain(question or "…")},
            {
                "type": "input",
                "block_id": BLOCK,
                "label": _plain("Your answer"),
                "element": {
                    "type": "plain_text_input",
                    "action_id": BLOCK,
                    "multiline": True,
                    "max_length": TYPED,
                },
            },
        ],
    }


def parse_form(sent: Interaction, scope: Scope) -> Heard | None:
    """Turn a form that was sent into a message; `None` for one that is not ours."""
    view = sent.view
    if view is None:
        return None
    try:
        asked = msgspec.json.decode(view.private_metadata, type=Asked)
    except msgspec.DecodeError:
        log.warning("form not understood", extra={"view": view.id})
        return None
    typed = view.state.values.get(BLOCK, {}).get(BLOCK)
    address = Address(
        channel="slack",
        account=scope.me.name,
        chat=asked.chat,
        thread=asked.thread,
        is_direct=asked.is_direct,
    )
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=f"form:{view.id}:{sent.user.id}",
        address=address,
        session=address.session(),
        sender=Sender(id=sent.user.id, name=scope.author or sent.user.name or sent.user.id, role=scope.role),
        text=f"{asked.value} {(typed.value if typed is not None else None) or ''}".strip(),
        received_at=utc_now(),
        trigger=Trigger.BUTTON,
        target=message_id(asked.chat, asked.message_ts),
        pressed=asked.value,
    )
    team = sent.user.team_id or scope.me.team
    return Heard(message=message, is_addressed=True, asker=sent.user.id, team=team)


def _plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text, "emoji": False}
