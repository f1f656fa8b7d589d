"""Edits and deletions in the store: in the journal and in the history, once, by one transaction."""

import pytest
from msgspec.structs import replace

from bot.agent.store import Amended, Pending, TurnRecord
from bot.errors import Fenced
from bot.messages import InboundMessage, Kind, SessionKey
from memory.store import Store
from tests.factories import end_of, inbound


def change(message: InboundMessage, text: str | None) -> InboundMessage:
    """An edit, or with `None` a deletion."""
    kind = Kind.DELETE if text is None else Kind.EDIT
    made = replace(inbound(text or "", session=message.session), address=message.address)
    return replace(made, kind=kind, target=message.platform_id)


async def waiting(store: Store) -> list[str]:
    """The texts that a new process would find waiting."""
    return [pending.message.text for pending in (await store.journal.recover(3)).pending]


async def lines(store: Store, session: str = "web:default:main") -> list[tuple[str, bool]]:
    found = await store.history.recent(SessionKey(session), limit=100)
    return [(line.text, line.in_context) for line in found if line.role == "user"]


async def accepted(store: Store, *texts: str) -> list[Pending]:
    pending = [Pending(message=inbound(text), attempts=0) for text in texts]
    for one in pending:
        await store.journal.accept(one.message)
    return pending


async def merged(store: Store, burst: list[Pending]) -> Pending:
    """Merge as the loop does."""
    text = "\n".join(pending.message.text for pending in burst)
    kept = replace(burst[-1], message=replace(burst[-1].message, text=text))
    await store.journal.merge(kept, burst)
    return kept


async def test_a_message_that_waits_is_changed_in_the_journal(store: Store) -> None:
    one, two = await accepted(store, "one", "two")
    amended = await store.journal.amend(change(one.message, "ONE"))

    assert amended == Amended(is_new=True, session=one.message.session, waiting=one.message.run, text="ONE")
    assert await waiting(store) == ["ONE", two.message.text]


async def test_a_message_that_waits_and_is_taken_back_waits_no_more(store: Store) -> None:
    one, _ = await accepted(store, "one", "two")
    amended = await store.journal.amend(change(one.message, None))

    assert (amended.waiting, amended.text) == (one.message.run, None)
    assert await waiting(store) == ["two"]
    with pytest.raises(Fenced):
        await store.journal.begin(one.message, attempts=0, history=10)


async def test_a_message_that_was_taken_back_is_not_accepted_again(store: Store) -> None:
    (one,) = await accepted(store, "one")
    await store.journal.amend(change(one.message, None))

    assert not (await store.journal.accept(one.message)).is_new


@pytest.mark.parametrize(("text", "line"), [("ONE", ("ONE", True)), (None, ("[taken back]", False))])
async def test_a_message_that_is_being_answered_is_changed_in_the_history_only(
    store: Store, text: str | None, line: tuple[str, bool]
) -> None:
    (one,) = await accepted(store, "one")
    await store.journal.begin(one.message, attempts=0, history=10)
    amended = await store.journal.amend(change(one.message, text))
    await store.journal.finish(
        end_of(one.message), TurnRecord(started_at=1.0, ended_at=2.0), speaker="Bot", has_outbox=False
    )

    assert amended.waiting is None
    assert await lines(store) == [line]


async def test_a_change_is_followed_once(store: Store) -> None:
    (one,) = await accepted(store, "one")
    first, second = change(one.message, "first"), change(one.message, "second")
    for made in (first, second, first):
        amended = await store.journal.amend(made)

    assert not amended.is_new
    assert await waiting(store) == ["second"]


async def test_a_change_of_another_account_s_message_is_not_ours(store: Store) -> None:
    (one,) = await accepted(store, "one")
    address = replace(one.message.address, account="second")
    await store.journal.amend(replace(change(one.message, "changed"), address=address))

    assert await waiting(store) == ["one"]


async def test_a_chat_that_goes_on_in_another_session_is_changed_there(store: Store) -> None:
    await store.history.set_alias(SessionKey("web:default:main"), SessionKey("web:default:new"))
    (one,) = await accepted(store, "one")
    amended = await store.journal.amend(change(one.message, "ONE"))

    assert amended.session == "web:default:new"
    assert await waiting(store) == ["ONE"]


# --- bursts


async def test_a_burst_waits_as_one_message(store: Store) -> None:
    await merged(store, await accepted(store, "one", "two", "three"))

    assert await waiting(store) == ["one\ntwo\nthree"]


async def test_each_message_of_a_burst_can_be_changed_while_it_waits(store: Store) -> None:
    burst = await accepted(store, "one", "two", "three")
    kept = await merged(store, burst)
    await store.journal.amend(change(burst[0].message, "ONE"))
    await store.journal.amend(change(burst[2].message, None))
    amended = await store.journal.amend(change(burst[1].message, "TWO"))

    assert (amended.waiting, amended.text) == (kept.message.run, "ONE\nTWO")
    assert await waiting(store) == ["ONE\nTWO"]


async def test_a_burst_of_which_nothing_is_left_waits_no_more(store: Store) -> None:
    burst = await accepted(store, "one", "two")
    await merged(store, burst)
    for pending in burst:
        amended = await store.journal.amend(change(pending.message, None))

    assert amended.text is None
    assert await waiting(store) == []


async def test_a_burst_that_becomes_part_of_another_keeps_its_messages(store: Store) -> None:
    first = await accepted(store, "one", "two")
    kept = await merged(store, first)
    (more,) = await accepted(store, "three")
    await merged(store, [kept, more])
    await store.journal.amend(change(first[0].message, "ONE"))
    await store.journal.amend(change(more.message, "THREE"))

    assert await waiting(store) == ["ONE\ntwo\nTHREE"]


@pytest.mark.parametrize("index", [0, 1])
async def test_a_burst_with_a_message_that_waits_no_more_is_not_merged(store: Store, index: int) -> None:
    burst = await accepted(store, "one", "two")
    await store.journal.amend(change(burst[index].message, None))
    with pytest.raises(Fenced):
        await merged(store, burst)

    assert await waiting(store) == [burst[1 - index].message.text]
