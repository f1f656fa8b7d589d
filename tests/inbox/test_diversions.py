"""What operators do at the same moment is done one after another."""

import asyncio
from pathlib import Path
from typing import Final

from bot.inbox.base import InboxError
from bot.inbox.diversions import Diversions
from bot.inbox.docking import Docks
from bot.messages import Address, Sender
from tests.inbox.office import CHAT, office

THERE: Final = Address(channel="slate", chat="desk")


async def test_of_two_operators_at_once_one_takes_a_chat_and_the_other_is_told(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        diversions = Diversions(bot.desk.book)
        ended = await asyncio.gather(
            *(diversions.take(CHAT, name) for name in ("Ann", "Ben")), return_exceptions=True
        )
        kept = await bot.desk.book.taken()

    assert [str(error) for error in ended if error is not None] == [
        "Ann answers there already. Hand it back first."
    ]
    assert kept == {CHAT: "Ann"}
    assert diversions.taken_by(CHAT) == "Ann"


async def test_a_chat_is_handed_back_once(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        diversions = Diversions(bot.desk.book)
        await diversions.take(CHAT, "Ann")
        ended = await asyncio.gather(*(diversions.hand_back(CHAT) for _ in range(2)), return_exceptions=True)

    assert [str(error) for error in ended if error is not None] == ["Nobody has taken it over."]


async def test_two_chats_that_are_docked_to_each_other_at_once_make_no_circle(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.says("hello", Sender(id="desk"), THERE)
        here, there = [await bot.desk.conversation(chat) for chat in (CHAT, THERE.session())]
        docks = Docks(Diversions(bot.desk.book), undelivered=())
        speaker = bot.app.loop.speaker
        ended = await asyncio.gather(
            docks.dock(here, there, speaker), docks.dock(there, here, speaker), return_exceptions=True
        )
        docked = await bot.desk.book.docked()

    assert [isinstance(error, InboxError) for error in ended if error is not None] == [True]
    assert docked == {CHAT: THERE}
