"""Admins are told of a chat that is lost: once, elsewhere, and never about their being told."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.alarm import MAX_TOLD, Alarm
from bot.bus import LocalBus
from bot.errors import StoreError
from bot.messages import Address, End, SessionKey
from memory.store import Store

LOST = Address(channel="other", chat="lost")
BOSS = Address(channel="other", chat="boss")
DEPUTY = Address(channel="other", chat="deputy")


@dataclass
class Office:
    """Where the admins are, and what they are told."""

    store: Store
    admins: list[Address] = field(default_factory=lambda: [BOSS, DEPUTY])
    bus: LocalBus = field(default_factory=LocalBus)
    fault: StoreError | None = None

    def __post_init__(self) -> None:
        self._heard = self.bus.outbound()

    async def admin_chats(self) -> list[Address]:
        if self.fault is not None:
            raise self.fault
        return self.admins

    async def lose(self, *lost: Address) -> list[End]:
        """Lose chats in one life of the bot; gives what was sent."""
        async with Alarm(self.bus, self.store.outbox, admin_chats=self.admin_chats) as alarm:
            for address in lost:
                alarm.chat_lost(address, "the bot was blocked")
        sent = []
        while (message := self._heard.take()) is not None:
            assert isinstance(message, End)
            sent.append(message)
        return sent


@pytest.fixture
def office(store: Store) -> Office:
    return Office(store)


async def test_every_admin_is_told_and_the_message_is_in_the_outbox_first(office: Office) -> None:
    sent = await office.lose(LOST)

    assert [end.address for end in sent] == [BOSS, DEPUTY]
    assert all("`lost` on other" in end.text and "the bot was blocked" in end.text for end in sent)
    assert await office.store.outbox.pending("other") == sent


async def test_of_one_chat_they_are_told_once(office: Office) -> None:
    assert len(await office.lose(LOST, LOST, LOST)) == 2


async def test_an_admin_whose_own_chat_is_lost_is_not_told_there(office: Office) -> None:
    sent = await office.lose(BOSS)

    assert [end.address for end in sent] == [DEPUTY]


async def test_when_all_admins_are_lost_nobody_is_told_again(office: Office) -> None:
    sent = await office.lose(LOST, BOSS, DEPUTY, BOSS, DEPUTY, LOST)

    assert [end.address for end in sent] == [BOSS, DEPUTY, DEPUTY, BOSS]


async def test_a_store_that_can_not_be_read_costs_only_the_telling(office: Office) -> None:
    office.fault = StoreError("disk full")

    assert await office.lose(LOST) == []


async def test_what_was_told_is_not_remembered_without_end(office: Office) -> None:
    office.admins = []
    many = [Address(channel="other", chat=str(number)) for number in range(MAX_TOLD + 1)]
    async with Alarm(office.bus, office.store.outbox, admin_chats=office.admin_chats) as alarm:
        for address in many:
            alarm.chat_lost(address, "gone")
        office.admins = [BOSS]
        alarm.chat_lost(many[0], "gone")
        alarm.chat_lost(many[-1], "gone")

    assert len(await office.store.outbox.pending("other")) >= 1


async def test_a_fault_that_nobody_foresaw_ends_no_more_than_its_notice(office: Office) -> None:
    async def broken(chat: SessionKey) -> bool:
        raise ValueError("not foreseen")

    async with Alarm(
        office.bus, office.store.outbox, admin_chats=office.admin_chats, is_muted=broken
    ) as alarm:
        alarm.chat_lost(LOST, "the bot was blocked")
        await asyncio.sleep(0)
        alarm.tell("Something else.")

    assert [end.text for end in await office.store.outbox.pending("other")] == ["Something else."] * 2
