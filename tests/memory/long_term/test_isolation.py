"""No memory of one person or group is ever reached by another, whatever they are called and do."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.long_term import ByPerson, Fact, Origin, Scope
from bot.messages import Address, InboundMessage, MessageId, Sender, SessionKey, new_id, utc_now
from tests.commands.desk import fresh_home
from tests.memory.long_term.conftest import KINDS, WHOSE, Apart, Kind, WordVectors, opened

# Names that are near each other, and that a store could take for patterns, for parts, or for the same.
NAMES = st.sampled_from(
    [
        "4",
        "42",
        "4%",
        "_2",
        "42 ",
        " 42",
        "٤٢",
        "４２",
        "a",
        "A",
        "á",
        "a:b",
        "person:a",
        "chat:a",
        "*",
        '"',
        "'",
        "\\",
    ]
) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(lambda name: name.strip(": "))
CHANNELS = st.sampled_from(["telegram", "slack", "web"])
SCOPES = st.builds(
    Scope,
    kind=st.sampled_from(("person", "chat")),
    key=st.builds("{}:{}".format, CHANNELS, NAMES),
)
WORDS = ("boat", "tree", "house", "我喜欢喝茶")
ORIGIN = Origin(how="command", by="telegram:1")
Step = tuple[Literal["learn", "correct", "update", "forget", "forget all"], int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("learn", "learn", "learn", "correct", "update", "forget", "forget all")),
        st.integers(0, 3),
        st.integers(0, 4),
    ),
    max_size=14,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(scopes=st.lists(SCOPES, min_size=2, max_size=4, unique=True), steps=STEPS)
async def test_every_scope_sees_what_it_was_taught_and_nothing_else(
    tmp_path: Path, kind: Kind, scopes: list[Scope], steps: list[Step]
) -> None:
    known: dict[Scope, dict[int, str]] = {scope: {} for scope in scopes}
    async with opened(kind, fresh_home(tmp_path), WordVectors()) as memories:
        for count, (step, whose, number) in enumerate(steps):
            scope = scopes[whose % len(scopes)]
            mine = known[scope]
            text = f"{WORDS[count % len(WORDS)]} {count} of {whose % len(scopes)}"
            match step:
                case "learn":
                    for kept in await memories.learn(scope, [Fact(text=text)], ORIGIN):
                        mine[kept.number] = kept.text
                case "correct":
                    for kept in await memories.learn(scope, [Fact(text=text, replaces=number)], ORIGIN):
                        mine[kept.number] = kept.text
                case "update":
                    changed = await memories.update(scope, number, text, ORIGIN)
                    assert (changed is not None) == (number in mine)
                    mine |= {number: text} if changed else {}
                case "forget":
                    assert await memories.forget(scope, number) == (mine.pop(number, None) is not None)
                case "forget all":
                    assert await memories.forget(scope) == len(mine)
                    mine.clear()
        for scope, mine in known.items():
            listed = await memories.list(scope, limit=100)
            exported = await memories.export(scope)

            assert {one.number: one.text for one in listed} == mine
            assert {one.number: one.text for one in exported} == mine
            for word in (*WORDS, "茶", "of", *map(str, range(3))):
                for one in await memories.search([scope], word, limit=100):
                    assert one.memory.scope == scope
                    assert mine.get(one.memory.number) == one.memory.text


def message(channel: str, account: str, chat: str, sender: str, *, is_direct: bool) -> InboundMessage:
    address = Address(channel=channel, account=account, chat=chat, is_direct=is_direct)
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=new_id(),
        address=address,
        session=SessionKey(address.session()),
        sender=Sender(id=sender),
        text="hello",
        received_at=utc_now(),
    )


PLACES = st.tuples(CHANNELS, st.sampled_from(("default", "work")), st.integers(0, 2), st.integers(0, 2))


@given(first=PLACES, second=PLACES)
async def test_two_people_have_one_memory_only_if_they_are_one(
    first: tuple[str, str, int, int], second: tuple[str, str, int, int]
) -> None:
    one, other = [
        await WHOSE.writes(message(channel, account, str(chat), str(sender), is_direct=True))
        for channel, account, chat, sender in (first, second)
    ]

    assert (one == other) == ((first[0], first[3]) == (second[0], second[3]))


@given(first=PLACES, second=PLACES)
async def test_a_group_has_a_memory_of_its_own_that_no_person_shares(
    first: tuple[str, str, int, int], second: tuple[str, str, int, int]
) -> None:
    channel, account, chat, sender = first
    (group,) = await WHOSE.reads(message(channel, account, str(chat), str(sender), is_direct=False))
    channel, account, chat, sender = second
    (other,) = await WHOSE.reads(message(channel, account, str(chat), str(sender), is_direct=False))
    person = await WHOSE.writes(message(channel, account, str(chat), str(sender), is_direct=True))

    assert (group == other) == (first[:3] == second[:3])
    assert person not in (group, other)


async def test_a_group_hears_of_a_person_only_where_that_is_allowed() -> None:
    said = message("telegram", "default", "-100", "42", is_direct=False)
    group, person = Scope(kind="chat", key="telegram:default:-100"), Scope(kind="person", key="telegram:42")

    assert await WHOSE.reads(said) == (group,)
    assert await ByPerson(Apart(), personal_in_groups=True).reads(said) == (group, person)
    assert await ByPerson(Apart(), personal_in_groups=True).writes(said) == group


@pytest.mark.parametrize("key", ["", ":", " ", " : "])
def test_there_is_no_memory_of_nobody(key: str) -> None:
    with pytest.raises(ValueError, match="a person or a chat"):
        Scope(kind="person", key=key)


async def test_a_message_of_nobody_has_no_memory() -> None:
    with pytest.raises(ValueError, match="nobody"):
        await WHOSE.writes(message("telegram", "default", "1", "", is_direct=True))
