"""What was said in groups, not to the bot: all of it given to one turn, none kept longer than needed."""

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.agent.store import Overheard, Pending
from bot.messages import Address, InboundMessage, Kind, SessionKey
from memory.store import Store
from tests.factories import inbound

GROUP = Address(channel="other", chat="group", is_direct=False)
THREAD = replace(GROUP, thread="topic")


def said(text: str, address: Address = GROUP, **changes: object) -> InboundMessage:
    message = inbound(text, session="other:default:group", is_direct=False)
    return replace(message, address=address, session=address.session(), **changes)


async def overhear(store: Store, *texts: str, address: Address = GROUP, most: int = 50) -> None:
    for text in texts:
        await store.journal.overhear(said(text, address, kind=Kind.OVERHEARD), most=most)


async def begin(store: Store, message: InboundMessage, *, attempts: int = 0) -> list[str]:
    """Begin a turn; gives what it is told was overheard."""
    if attempts == 0:
        await store.journal.accept(message)
    begun = await store.journal.begin(message, attempts=attempts, history=10)
    return texts(begun.overheard)


def texts(heard: Sequence[Overheard]) -> list[str]:
    return [one.text for one in heard]


async def test_a_turn_is_given_what_was_said_since_the_last_one(store: Store) -> None:
    await overhear(store, "one", "two")
    first = await begin(store, said("well?"))
    await overhear(store, "three")
    second = await begin(store, said("and?"))

    assert (first, second) == (["one", "two"], ["three"])


async def test_who_said_it_and_when_is_told(store: Store) -> None:
    message = said("hello", kind=Kind.OVERHEARD)
    await store.journal.overhear(message, most=5)
    question = said("well?")
    await store.journal.accept(question)
    (heard,) = (await store.journal.begin(question, attempts=0, history=10)).overheard

    assert heard.speaker == "Ann"
    assert abs(heard.at - message.received_at).total_seconds() < 0.001


async def test_a_turn_that_is_begun_by_the_commit_that_accepts_it_is_given_the_same(store: Store) -> None:
    await overhear(store, "one")
    accepted = await store.journal.accept(said("well?"), history=10)

    assert accepted.begun is not None
    assert texts(accepted.begun.overheard) == ["one"]


async def test_every_attempt_at_a_turn_is_given_the_same(store: Store) -> None:
    await overhear(store, "one")
    question = said("well?")
    first = await begin(store, question)
    await store.journal.requeue(question.run, 1)
    second = await begin(store, question, attempts=1)

    assert first == second == ["one"]


async def test_the_same_message_is_kept_once(store: Store) -> None:
    message = said("one", kind=Kind.OVERHEARD)
    kept = [await store.journal.overhear(message, most=5) for _ in range(2)]

    assert kept == [True, False]
    assert await begin(store, said("well?")) == ["one"]


async def test_a_thread_begins_with_what_was_said_before_it(store: Store) -> None:
    await overhear(store, "in the group")
    await overhear(store, "in the thread", address=THREAD)
    first = await begin(store, said("well?", THREAD))
    await overhear(store, "in the group again")
    second = await begin(store, said("and?", THREAD))

    assert first == ["in the group", "in the thread"]
    assert second == []


async def test_chats_hear_nothing_of_each_other(store: Store) -> None:
    await overhear(store, "secret")

    assert await begin(store, said("well?", replace(GROUP, chat="other"))) == []


async def test_nobody_alone_with_the_bot_is_given_anything(store: Store) -> None:
    await overhear(store, "secret")
    alone = replace(said("well?"), address=replace(GROUP, is_direct=True))

    assert await begin(store, alone) == []


async def test_a_group_that_goes_on_in_another_session_is_heard_there(store: Store) -> None:
    await store.history.set_alias(GROUP.session(), SessionKey("other:default:new"))
    await overhear(store, "one")
    question = said("well?")
    accepted = await store.journal.accept(question)
    begun = await store.journal.begin(
        Pending(message=replace(question, session=accepted.session), attempts=0).message,
        attempts=0,
        history=10,
    )

    assert texts(begun.overheard) == ["one"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(min_value=0, max_value=5), st.uuids())
async def test_the_newest_are_kept_and_never_more(
    store: Store, numbers: list[int], most: int, chat: object
) -> None:
    address = replace(GROUP, chat=str(chat))
    await overhear(store, *(str(number) for number in numbers), address=address, most=most)

    kept = await begin(store, said("well?", address))
    assert kept == [str(number) for number in numbers][len(numbers) - min(most, len(numbers)) :]
