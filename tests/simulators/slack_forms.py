"""Modals, under the rules of "Opening modals" and of the view object (docs.slack.dev).

A trigger works once and for three seconds. A title has at most 24 characters, private metadata 3,000, and a
modal with an input needs a button that sends it. What was sent comes as `view_submission`, without a channel.
"""

import time
import uuid
from dataclasses import dataclass
from typing import Any

from tests.simulators.slack_looks import Wrong

TRIGGER_SECONDS = 3.0
TITLE, METADATA, BLOCKS = 24, 3_000, 100


@dataclass(slots=True, kw_only=True)
class Modal:
    """A form that stands on somebody's screen."""

    id: str
    user: str
    view: dict[str, Any]

    @property
    def question(self) -> str:
        """The text above the input."""
        return "\n".join(block["text"]["text"] for block in self.view["blocks"] if block["type"] == "section")


class Modals:
    """Opens forms for triggers, and gives what is sent of them."""

    def __init__(self) -> None:
        self._triggers: dict[str, tuple[str, float]] = {}
        self.open: dict[str, Modal] = {}

    def trigger(self, user: str) -> str:
        """A trigger, as it comes with a press or a command."""
        id_ = uuid.uuid4().hex
        self._triggers[id_] = (user, time.monotonic())
        return id_

    async def views_open(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The method `views.open`."""
        user, born = self._triggers.pop(str(arguments.get("trigger_id")), (None, 0.0))
        if user is None:
            raise Wrong("invalid_trigger_id")
        if time.monotonic() - born > TRIGGER_SECONDS:
            raise Wrong("expired_trigger_id")
        view = arguments.get("view") or {}
        _check(view)
        modal = Modal(id=f"V{uuid.uuid4().hex[:9].upper()}", user=user, view=view)
        self.open[user] = modal
        return {"view": {**view, "id": modal.id}}

    def send(self, user: str, text: str) -> dict[str, Any]:
        """The payload of a form that somebody fills in and sends."""
        modal = self.open.pop(user)
        (field,) = (block for block in modal.view["blocks"] if block["type"] == "input")
        element = field["element"]
        if len(text) > element.get("max_length", 3_000):
            raise ValueError("no more can be typed")
        typed = {"type": element["type"], "value": text or None}
        values = {field["block_id"]: {element["action_id"]: typed}}
        return {
            "type": "view_submission",
            "trigger_id": self.trigger(user),
            "view": {**modal.view, "id": modal.id, "state": {"values": values}},
        }


def _check(view: dict[str, Any]) -> None:
    blocks = view.get("blocks") or []
    has_input = any(block.get("type") == "input" for block in blocks)
    wrong = (
        view.get("type") != "modal"
        or not 1 <= len(view.get("title", {}).get("text", "")) <= TITLE
        or len(view.get("private_metadata", "")) > METADATA
        or not 1 <= len(blocks) <= BLOCKS
        or (has_input and not view.get("submit", {}).get("text"))
        or any(
            block.get("type") == "section" and not 1 <= len(block["text"]["text"]) <= 3_000
            for block in blocks
        )
    )
    if wrong:
        raise Wrong("invalid_arguments")
