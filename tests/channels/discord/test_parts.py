"""The small parts: texts, nonces, arguments, buttons, lanes."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ChannelError, StoreError
from bot.messages import Address
from channels.discord.buttons import Buttons
from channels.discord.commands import command_text
from channels.discord.lanes import MOST, Lanes
from channels.discord.sending import NONCE, nonce
from channels.discord.text import plain_text
from tests.channels.discord.conftest import COMMANDS, Memory

OWN = frozenset({"1", "2"})
NAMES = {"3": "@bob", "4": "#team"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<@1> hello", "hello"),
        ("hello <@!1>", "hello"),
        ("<@&2> hello <@3>", "hello @bob"),
        ("see <#4> and <#5>", "see #team and #unknown"),
        ("<@6>", "@unknown"),
        ("use </admin info:77> <a:dance:88>", "use /admin info :dance:"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_signs_become_names(content: str, text: str) -> None:
    assert plain_text(content, own=OWN, names=NAMES) == text


@given(text=st.text(alphabet=st.characters(exclude_characters="<>")))
def test_text_without_signs_stays_as_it_is(text: str) -> None:
    assert plain_text(text, own=OWN, names=NAMES) == text.strip()


@given(st.text(), st.text())
def test_a_nonce_fits_and_tells_keys_apart(one: str, other: str) -> None:
    assert len(nonce(one)) <= NONCE
    assert (nonce(one) == nonce(other)) == (one == other)


def test_arguments_stand_in_our_order_whatever_theirs_is() -> None:
    spec = next(spec for spec in COMMANDS if spec.native == "setstatus")

    text = command_text(spec, {"activity": "lunch ", "status": "dnd"})

    assert text == "/admin setstatus dnd lunch"


async def test_a_button_that_nobody_knows_has_no_value() -> None:
    assert await Buttons(Memory()).value("~gone") is None


async def test_a_chat_with_too_many_messages_waiting_is_an_error() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def fill() -> None:
        async with asyncio.TaskGroup() as group:
            lanes = Lanes(group)
            for _ in range(MOST + 1):
                lanes.put(Address(channel="discord", chat="1"), wait)

    with pytest.raises(ExceptionGroup) as caught:
        await fill()

    assert caught.group_contains(ChannelError, match="waiting")
    assert not caught.group_contains(StoreError)
