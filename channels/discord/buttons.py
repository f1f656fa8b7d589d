"""Buttons under a message: components as Discord wants them, and what a press of one means."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from bot.messages import Button
from channels.base import State

# Source: Discord API reference, "Component Reference": action row, button.
IN_ROW, ROWS = 5, 5
MAX_BUTTONS: Final = IN_ROW * ROWS
MAX_LABEL: Final = 80
MAX_VALUE: Final = 100
ROW, BUTTON = 1, 2
STYLES: Final = {"primary": 1, "secondary": 2, "danger": 4}
LINK: Final = 5
LONG: Final = "~"  # how an id begins that stands for a value which is kept elsewhere
PREFIX: Final = "button:"


class Buttons:
    """Draws buttons; a value that is too long for an id is kept under a short one, over restarts as well."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def rows(self, buttons: Sequence[Button]) -> list[dict[str, object]]:
        """The components of a message, in as few rows as hold them."""
        used: set[str] = set()
        drawn = [await self._draw(one, used) for one in buttons[:MAX_BUTTONS]]
        return [
            {"type": ROW, "components": drawn[first : first + IN_ROW]}
            for first in range(0, len(drawn), IN_ROW)
        ]

    async def value(self, custom_id: str) -> str | None:
        """What a button stands for; `None` where that is no more known."""
        if not custom_id.startswith(LONG):
            return custom_id
        return await self._state.get(PREFIX + custom_id.removeprefix(LONG))

    async def _draw(self, button: Button, used: set[str]) -> dict[str, object]:
        label = button.label[:MAX_LABEL] or "…"
        if button.url is not None:
            return {"type": BUTTON, "style": LINK, "label": label, "url": button.url}
        custom_id = await self._id(button.value, used)
        used.add(custom_id)
        return {"type": BUTTON, "style": STYLES[button.style], "label": label, "custom_id": custom_id}

    async def _id(self, value: str, used: Iterable[str]) -> str:
        """An id that says the value, where it can; Discord wants those of a message to differ."""
        if 0 < len(value) <= MAX_VALUE and not value.startswith(LONG) and value not in used:
            return value
        digest = sha256(f"{len(list(used))}:{value}".encode()).hexdigest()[:32]
        await self._state.put(PREFIX + digest, value)
        return LONG + digest
