"""Who writes from where is remembered, and nobody is told alone who is no admin."""

from collections.abc import Callable

from msgspec.structs import replace

from bot.agent.notebook import Notebook
from bot.messages import Address, InboundMessage, Role, Sender
from memory.store import Store
from tests.factories import inbound


def notebook(store: Store) -> Notebook:
    return Notebook(store.chats, store.state("bot", "admins"), is_admin=by_name("boss"))


def by_name(*names: str) -> Callable[[InboundMessage], bool]:
    return lambda message: message.sender.role is Role.OWNER or message.sender.id in names


def written(chat: str, *, by: str = "boss", is_direct: bool = True) -> InboundMessage:
    return inbound(session=f"other:default:{chat}", speaker=by, is_direct=is_direct)


async def test_every_chat_is_remembered_once(store: Store) -> None:
    book = notebook(store)
    for chat in ("a", "b", "a"):
        await book.note(written(chat, by="ann"))

    assert {address.chat for address in await store.chats.addresses()} == {"a", "b"}
    assert await book.admin_chats() == []


async def test_an_admin_is_told_where_they_write_alone(store: Store) -> None:
    book = notebook(store)
    await book.note(written("group", is_direct=False))
    before = await book.admin_chats()
    await book.note(written("alone"))

    assert before == []
    assert await book.admin_chats() == [Address(channel="other", chat="alone")]


async def test_the_newest_chat_of_an_admin_counts_also_after_a_restart(store: Store) -> None:
    await notebook(store).note(written("old"))
    await notebook(store).note(written("new"))

    assert [address.chat for address in await notebook(store).admin_chats()] == ["new"]


async def test_admins_on_two_channels_are_told_on_both(store: Store) -> None:
    book = notebook(store)
    for channel in ("one", "two"):
        await book.note(inbound(session=f"{channel}:default:main", speaker="boss"))

    assert {address.channel for address in await book.admin_chats()} == {"one", "two"}


async def test_the_owner_on_the_page_is_not_written_to(store: Store) -> None:
    book = notebook(store)
    owner = Sender(id="owner", name="Owner", role=Role.OWNER)
    await book.note(replace(inbound(), sender=owner))

    assert await book.admin_chats() == []
