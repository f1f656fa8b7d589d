"""Buttons under messages, and what their values are when they are pressed."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.messages import Button
from channels.base import State

MAX_BUTTONS: Final = 100
MAX_VALUE: Final = 64  # bytes of UTF-8; Bot API, InlineKeyboardButton.callback_data
SHORT: Final = "~"  # how a value begins that stands for a longer one
PREFIX: Final = "button:"
ROW: Final = 32  # characters of labels that stand well beside each other


class Keyboard:
    """Makes keyboards; values that are too long for Telegram are kept here under short names."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def make(self, buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
        """The keyboard of a message; `None` for one without buttons."""
        if not buttons:
            return None
        rows = [[await self._button(button) for button in row] for row in _rows(buttons)]
        return InlineKeyboardMarkup(rows)

    async def value_of(self, data: str) -> str:
        """What a pressed button stands for."""
        if not data.startswith(SHORT):
            return data
        return await self._state.get(PREFIX + data) or data

    async def _button(self, button: Button) -> InlineKeyboardButton:
        if button.url is not None:
            return InlineKeyboardButton(button.label, url=button.url)
        value = button.value or button.label
        if len(value.encode()) > MAX_VALUE or value.startswith(SHORT):
            short = SHORT + sha256(value.encode()).hexdigest()[:40]
            await self._state.put(PREFIX + short, value)
            value = short
        return InlineKeyboardButton(button.label, callback_data=value)


def _rows(buttons: Iterable[Button]) -> list[list[Button]]:
    """Short labels share a row."""
    rows: list[list[Button]] = [[]]
    for button in buttons:
        width = sum(len(one.label) for one in rows[-1]) + len(button.label)
        if rows[-1] and width > ROW:
            rows.append([])
        rows[-1].append(button)
    return rows
