"""The journal: a message is written down once, answered once, and by its newest attempt only."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.agent.store import Begun, Posted, TurnRecord
from bot.errors import Fenced, StoreError
from bot.messages import End, InboundMessage, SessionKey
from memory.store import Store
from tests.factories import end_of, inbound

RECORD = TurnRecord(started_at=1.0, ended_at=2.0)
MAIN = SessionKey("web:default:main")


async def begin(store: Store, message: InboundMessage, attempts: int = 0, history: int = 12) -> Begun:
    return await store.journal.begin(message, attempts=attempts, history=history)


async def begun(store: Store, text: str = "hello", session: str = MAIN) -> InboundMessage:
    """A message that was accepted and whose turn runs."""
    message = inbound(text, session=session)
    await store.journal.accept(message)
    await begin(store, message)
    return message


async def finish(store: Store, end: End, *, has_outbox: bool = False) -> None:
    await store.journal.finish(end, RECORD, speaker="Bot", has_outbox=has_outbox)


async def lines(store: Store, session: str = MAIN) -> list[tuple[str, str]]:
    """What was said, as pairs of role and text."""
    found = await store.history.recent(SessionKey(session), limit=1000)
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    return [(line.role, line.text) for line in found]


async def states(store: Store) -> list[str]:
    return [entry.state for entry in await store.journal.unfinished()]


async def test_a_message_is_accepted_once(store: Store) -> None:
    message = inbound()

    first = await store.journal.accept(message)
    again = await store.journal.accept(message)

    assert (first.is_new, again.is_new) == (True, False)
    assert await states(store) == ["queued"]


async def test_a_redelivered_message_is_recognised_by_the_platforms_id(store: Store) -> None:
    await store.journal.accept(inbound("hello", platform_id="7"))

    again = await store.journal.accept(inbound("hello, edited", platform_id="7"))

    assert not again.is_new


async def test_the_same_id_on_another_channel_is_another_message(store: Store) -> None:
    await store.journal.accept(inbound(platform_id="7"))

    other = await store.journal.accept(inbound(platform_id="7", session="other:default:main"))

    assert other.is_new


async def test_an_answered_message_is_still_recognised(store: Store) -> None:
    message = await begun(store)
    await finish(store, end_of(message))

    assert not (await store.journal.accept(message)).is_new


async def test_an_alias_leads_a_message_to_its_session(store: Store) -> None:
    await store.history.set_alias(SessionKey("other:default:x"), MAIN)

    accepted = await store.journal.accept(inbound(session="other:default:x"), history=12)
    (pending,) = (await store.journal.recover(3)).pending

    assert accepted.session == MAIN
    assert accepted.begun is None
    assert pending.message.session == MAIN


async def test_accepting_may_begin_the_turn_in_the_same_commit(store: Store) -> None:
    accepted = await store.journal.accept(inbound(), history=12)

    assert accepted.begun == Begun(attempt=1, turns=1, history=())
    assert await states(store) == ["running"]


async def test_accepting_again_begins_nothing(store: Store) -> None:
    message = inbound()
    await store.journal.accept(message, history=12)

    again = await store.journal.accept(message, history=12)

    assert again.begun is None
    assert await lines(store) == [("user", "hello")]


async def test_a_control_command_is_done_as_soon_as_it_is_written(store: Store) -> None:
    accepted = await store.journal.accept(inbound("/kill"), is_control=True)

    assert accepted.is_new
    assert await states(store) == []


async def test_beginning_puts_the_message_into_the_history_and_gives_what_came_before(store: Store) -> None:
    first = await begun(store, "one")
    await finish(store, end_of(first, "answer one"))
    message = inbound("two")
    await store.journal.accept(message)

    turn = await begin(store, message)

    assert (turn.attempt, turn.turns) == (1, 3)
    assert [line.text for line in turn.history] == ["one", "answer one"]
    assert await lines(store) == [("user", "one"), ("assistant", "answer one"), ("user", "two")]


async def test_the_history_of_a_turn_is_as_long_as_was_asked_for(store: Store) -> None:
    for text in ("one", "two", "three"):
        await finish(store, end_of(await begun(store, text), f"answer {text}"))
    message = inbound("four")
    await store.journal.accept(message)

    turn = await begin(store, message, history=2)

    assert [line.text for line in turn.history] == ["three", "answer three"]


async def test_a_turn_is_begun_by_one_only(store: Store) -> None:
    message = await begun(store)

    for attempts in (0, 1, 2):
        with pytest.raises(Fenced):
            await begin(store, message, attempts)


async def test_a_message_that_was_not_accepted_is_not_begun(store: Store) -> None:
    with pytest.raises(Fenced):
        await begin(store, inbound())

    assert await lines(store) == []


async def test_finishing_keeps_answer_figures_and_outbox_together(store: Store) -> None:
    message = await begun(store, session="other:default:main")
    end = end_of(message, "done")

    await finish(store, end, has_outbox=True)

    assert await states(store) == []
    assert await lines(store, "other:default:main") == [("user", "hello"), ("assistant", "done")]
    assert await store.outbox.pending("other") == [end]


async def test_an_answer_is_finished_once(store: Store) -> None:
    message = await begun(store)
    await finish(store, end_of(message))

    with pytest.raises(Fenced):
        await finish(store, end_of(message))

    assert await lines(store) == [("user", "hello"), ("assistant", "answer")]


async def test_an_attempt_that_lost_the_run_writes_nothing_at_all(store: Store) -> None:
    message = await begun(store)
    await store.journal.recover(9)
    await begin(store, message, attempts=1)

    with pytest.raises(Fenced):
        await finish(store, end_of(message, "stale", attempt=1), has_outbox=True)
    with pytest.raises(Fenced):
        await store.journal.requeue(message.run, 1)

    assert await states(store) == ["running"]
    assert await lines(store) == [("user", "hello")]
    assert await store.outbox.pending("web") == []


async def test_a_finish_that_breaks_half_way_leaves_nothing_behind(store: Store) -> None:
    """The outbox has a row of the run already, so the last step of finishing fails."""
    message = inbound(session="other:default:main")
    await store.journal.accept(message)
    await store.journal.note(message, end_of(message, "a note"), speaker="Bot", has_outbox=True)
    await begin(store, message)
    before = await lines(store, "other:default:main")

    with pytest.raises(StoreError):
        await finish(store, end_of(message), has_outbox=True)

    assert await states(store) == ["running"]
    assert await lines(store, "other:default:main") == before


@pytest.mark.parametrize(("text", "reason"), [("", "silent"), ("thought", "silent"), ("", "killed")])
async def test_an_answer_with_nothing_to_show_waits_in_no_outbox(
    store: Store, text: str, reason: str
) -> None:
    message = await begun(store)
    end = replace(end_of(message, text), reason=reason)

    await finish(store, end, has_outbox=True)

    assert await store.outbox.pending("web") == []
    assert await states(store) == []


async def test_a_run_that_is_given_back_is_no_crash(store: Store) -> None:
    message = await begun(store)
    await store.journal.requeue(message.run, 1)

    recovery = await store.journal.recover(1)

    assert [pending.message for pending in recovery.pending] == [message]
    assert recovery.parked == ()


async def test_another_attempt_does_not_repeat_the_persons_line(store: Store) -> None:
    message = await begun(store)
    await store.journal.requeue(message.run, 1)

    turn = await begin(store, message, attempts=1)

    assert turn.attempt == 2
    assert turn.turns == 1
    assert await lines(store) == [("user", "hello")]


async def test_what_was_said_after_a_message_is_not_in_its_next_attempt(store: Store) -> None:
    message = await begun(store, "one")
    await store.journal.requeue(message.run, 1)
    await finish(store, end_of(await begun(store, "two")))

    turn = await begin(store, message, attempts=1)

    assert turn.history == ()
    assert turn.turns == 3


async def test_recovery_gives_what_is_not_done_in_order_of_acceptance(store: Store) -> None:
    messages = [inbound(str(number), session=f"web:default:{number % 2}") for number in range(6)]
    for message in messages:
        await store.journal.accept(message)
    for message in messages[:3]:
        await begin(store, message)
    await finish(store, end_of(messages[1]))

    recovery = await store.journal.recover(3)

    assert [pending.message for pending in recovery.pending] == [messages[0], *messages[2:]]
    assert [pending.attempts for pending in recovery.pending] == [1, 1, 0, 0, 0]


async def test_only_what_was_running_counts_as_crashed(store: Store) -> None:
    harmful = await begun(store, "harmful")
    await store.journal.accept(inbound("waiting"))

    for attempts in (1, 2):
        await store.journal.recover(3)
        await begin(store, harmful, attempts)
    recovery = await store.journal.recover(3)

    assert [pending.message.text for pending in recovery.parked] == ["harmful"]
    assert [pending.message.text for pending in recovery.pending] == ["waiting"]


async def test_recovering_again_counts_no_crash_twice(store: Store) -> None:
    await begun(store)

    for _ in range(5):
        assert len((await store.journal.recover(2)).pending) == 1


async def parked(store: Store, session: str = MAIN) -> InboundMessage:
    """A message that crashed its process and was put aside."""
    message = await begun(store, "harmful", session)
    await store.journal.recover(1)
    await store.journal.park(end_of(message, "put aside", reason="error"), speaker="Bot")
    return message


async def test_a_parked_message_waits_for_nobody_and_the_person_is_told(store: Store) -> None:
    await parked(store)

    assert await states(store) == ["parked"]
    assert (await store.journal.recover(1)).pending == ()
    assert (await store.journal.recover(1)).parked == ()
    assert await lines(store) == [("user", "harmful"), ("assistant", "put aside")]
    assert [end.text for end in await store.outbox.pending("web")] == ["put aside"]


async def test_a_message_is_parked_once(store: Store) -> None:
    message = await parked(store)

    with pytest.raises(Fenced):
        await store.journal.park(end_of(message, "put aside"), speaker="Bot")

    assert len(await lines(store)) == 2


async def test_a_retried_message_runs_again_with_its_crashes_forgotten(store: Store) -> None:
    message = await parked(store)

    pending = await store.journal.retry(message.run)
    await begin(store, pending.message, pending.attempts)
    recovery = await store.journal.recover(2)

    assert pending.message == message
    assert [again.message for again in recovery.pending] == [message]


async def test_the_answer_to_a_retried_message_takes_the_place_of_the_note_that_waits(store: Store) -> None:
    message = await parked(store, "other:default:main")
    await store.outbox.record(message.run, Posted(part=0, platform_id="m1"))

    pending = await store.journal.retry(message.run)
    turn = await begin(store, message, pending.attempts)
    answer = end_of(message, "after all", attempt=turn.attempt)
    await finish(store, answer, has_outbox=True)

    assert await store.outbox.pending("other") == [answer]
    assert await store.outbox.posted(message.run) == []


async def test_only_a_parked_message_is_retried(store: Store) -> None:
    message = await begun(store)

    with pytest.raises(StoreError, match="no parked message"):
        await store.journal.retry(message.run)


async def test_a_cancelled_message_is_done_and_both_lines_are_for_people_only(store: Store) -> None:
    message = inbound("dropped")
    await store.journal.accept(message)

    await store.journal.cancel(message, end_of(message, "cancelled", reason="killed"), speaker="Bot")

    assert await states(store) == []
    assert await lines(store) == [("user", "dropped"), ("assistant", "cancelled")]
    assert (await begin_another(store)).history == ()


async def begin_another(store: Store) -> Begun:
    message = inbound("another")
    await store.journal.accept(message)
    return await begin(store, message)


async def test_cancelling_a_message_that_was_begun_before_does_not_repeat_its_line(store: Store) -> None:
    message = await begun(store)
    await store.journal.requeue(message.run, 1)

    await store.journal.cancel(message, end_of(message, "cancelled", reason="killed"), speaker="Bot")

    assert await lines(store) == [("user", "hello"), ("assistant", "cancelled")]


async def test_a_running_message_is_not_cancelled(store: Store) -> None:
    message = await begun(store)

    with pytest.raises(Fenced):
        await store.journal.cancel(message, end_of(message), speaker="Bot")

    assert await lines(store) == [("user", "hello")]


async def test_a_command_and_its_reply_are_for_people_only(store: Store) -> None:
    command = inbound("/kill", session="other:default:main")
    await store.journal.accept(command, is_control=True)
    reply = end_of(command, "stopped")

    await store.journal.note(command, reply, speaker="Bot", has_outbox=True)

    found = await store.history.recent(command.session)
    assert [(line.text, line.in_context) for line in found] == [("/kill", False), ("stopped", False)]
    assert await store.outbox.pending("other") == [reply]


async def test_what_waits_is_listed_until_it_has_a_line(store: Store) -> None:
    first, second = inbound("one"), inbound("two")
    await store.journal.accept(first)
    await store.journal.accept(second)
    await begin(store, first)

    assert await store.history.waiting(MAIN) == [second]


async def test_the_history_is_read_page_by_page(store: Store) -> None:
    for number in range(5):
        await finish(store, end_of(await begun(store, str(number)), ""))

    newest = await store.history.recent(MAIN, limit=2)
    older = await store.history.recent(MAIN, before=newest[0].number, limit=2)

    assert [line.text for line in [*older, *newest]] == ["1", "2", "3", "4"]


async def test_a_line_keeps_all_it_was_given(store: Store) -> None:
    message = await begun(store, "hi \U0001f600\x00")
    await finish(store, end_of(message, "partial", reason="killed"))

    user, answer = await store.history.recent(MAIN)

    assert (user.id, user.run, user.speaker, user.text) == (message.id, message.run, "Ann", message.text)
    assert (user.at, user.platform_id) == (message.received_at, message.platform_id)
    assert (answer.speaker, answer.reason, answer.in_context) == ("Bot", "killed", True)


async def test_the_sessions_that_spoke_last_come_first(store: Store) -> None:
    for chat in ("a", "b", "a"):
        await begun(store, session=f"web:default:{chat}")

    found = await store.history.sessions()

    assert [(info.session, info.messages) for info in found] == [("web:default:a", 2), ("web:default:b", 1)]


async def test_everything_is_there_after_a_restart(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        message = await begun(store)

    async with Store(home, synchronous="NORMAL") as store:
        (pending,) = (await store.journal.recover(3)).pending

    assert (pending.message, pending.attempts) == (message, 1)
