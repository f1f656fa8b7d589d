"""The outbox keeps what a platform has not confirmed."""

from bot.agent.store import Posted, TurnRecord
from bot.messages import Address, End
from memory.store import Store
from tests.factories import end_of, inbound

RECORD = TurnRecord(started_at=1.0, ended_at=2.0)


async def answered(store: Store, text: str, channel: str = "other") -> End:
    message = inbound(session=f"{channel}:default:main")
    await store.journal.accept(message, history=0)
    end = end_of(message, text)
    await store.journal.finish(end, RECORD, speaker="Bot", has_outbox=True)
    return end


async def test_answers_wait_in_order_each_for_its_channel(store: Store) -> None:
    first, _, third = [
        await answered(store, text, channel)
        for text, channel in (("1", "other"), ("2", "third"), ("3", "other"))
    ]

    assert await store.outbox.pending("other") == [first, third]


async def test_a_confirmed_answer_is_gone(store: Store) -> None:
    end = await answered(store, "1")

    await store.outbox.confirm(end.run)

    assert await store.outbox.pending("other") == []


async def test_an_answer_that_was_given_up_waits_no_more(store: Store) -> None:
    end = await answered(store, "1")

    await store.outbox.give_up(end.run)

    assert await store.outbox.pending("other") == []


async def test_tries_are_counted_and_an_unknown_answer_has_none(store: Store) -> None:
    end = await answered(store, "1")

    counts = [await store.outbox.count_try(end.run) for _ in range(3)]

    assert counts == [1, 2, 3]
    assert await store.outbox.count_try(inbound().run) == 0


async def test_the_newest_message_of_a_part_is_remembered(store: Store) -> None:
    end = await answered(store, "1")
    for part, platform_id in ((0, "a"), (1, "b"), (0, "c")):
        await store.outbox.record(end.run, Posted(part=part, platform_id=platform_id))

    posted = await store.outbox.posted(end.run)
    assert [(one.part, one.platform_id) for one in posted] == [(0, "c"), (1, "b")]


async def test_a_part_that_was_taken_back_is_forgotten(store: Store) -> None:
    end = await answered(store, "1")
    await store.outbox.record(end.run, Posted(part=0, platform_id="a", attempt=2, end=7))
    await store.outbox.record(end.run, Posted(part=1, platform_id="b"))
    await store.outbox.forget(end.run, 1)

    assert await store.outbox.posted(end.run) == [Posted(part=0, platform_id="a", attempt=2, end=7)]


async def test_an_announcement_waits_for_every_chat(store: Store) -> None:
    addresses = [Address(channel="other", chat=name) for name in ("a", "b")]
    ends = await store.outbox.announce(addresses, "News")

    assert await store.outbox.pending("other") == ends
    assert [end.address for end in ends] == addresses


async def test_a_stuck_answer_waits_again_as_a_new_attempt(store: Store) -> None:
    given_up, tired = await answered(store, "1"), await answered(store, "2")
    await store.outbox.give_up(given_up.run)
    for _ in range(2):
        await store.outbox.count_try(tired.run)

    revived = [await store.outbox.revive(end.run, tries=2) for end in (given_up, tired)]

    assert [(end.run, end.attempt) for end in revived if end] == [(given_up.run, 2), (tired.run, 2)]
    assert await store.outbox.pending("other") == revived
    assert [one.tries for one in await store.outbox.undelivered(limit=5)] == [0, 0]


async def test_an_answer_that_is_being_tried_is_neither_revived_nor_dropped(store: Store) -> None:
    end = await answered(store, "1")
    await store.outbox.count_try(end.run)

    assert await store.outbox.revive(end.run, tries=2) is None
    assert not await store.outbox.drop(end.run, tries=2)
    assert await store.outbox.pending("other") == [end]


async def test_a_dropped_answer_is_gone(store: Store) -> None:
    end = await answered(store, "1")
    await store.outbox.give_up(end.run)

    assert await store.outbox.drop(end.run, tries=9)
    assert not await store.outbox.drop(end.run, tries=9)
    assert await store.outbox.undelivered(limit=5) == []


async def test_what_is_undelivered_is_listed_with_its_state_the_newest_first(store: Store) -> None:
    old, new = await answered(store, "1"), await answered(store, "2")
    await store.outbox.give_up(old.run)
    await store.outbox.count_try(new.run)

    listed = await store.outbox.undelivered(limit=5)

    assert [(one.end, one.is_failed, one.tries) for one in listed] == [(new, False, 1), (old, True, 0)]
    assert await store.outbox.undelivered(limit=1) == listed[:1]
