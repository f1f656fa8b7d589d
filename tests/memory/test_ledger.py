"""Tool calls are written down before they run, so that none is repeated whose outcome is not known."""

import time

import pytest

from bot.agent.store import TurnRecord
from bot.errors import Fenced
from bot.messages import InboundMessage
from bot.models.base import FunctionCall, ToolCall
from memory.store import Store
from tests.factories import end_of, inbound


def call(id_: str = "call_0", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=id_, function=FunctionCall(name="send_mail", arguments=arguments))


async def begun(store: Store) -> InboundMessage:
    message = inbound()
    await store.journal.accept(message, history=0)
    return message


async def crash(store: Store, message: InboundMessage, attempts: int) -> None:
    """The process dies, and the next one begins the turn again."""
    await store.journal.recover(99)
    await store.journal.begin(message, attempts=attempts, history=0)


async def test_a_call_that_never_ended_is_recognised_at_the_next_attempt(store: Store) -> None:
    message = await begun(store)
    assert await store.ledger.tool_started(message.run, 1, call())
    await crash(store, message, 1)

    assert not await store.ledger.tool_started(message.run, 2, call("another id"))
    assert await store.ledger.tool_started(message.run, 2, call("c", '{"to": "somebody else"}'))


async def test_a_call_that_ended_may_run_again(store: Store) -> None:
    message = await begun(store)
    await store.ledger.tool_started(message.run, 1, call())
    await store.ledger.tool_ended(message.run, 1, call(), status="ok", result="sent")
    await crash(store, message, 1)

    assert await store.ledger.tool_started(message.run, 2, call())


async def test_a_result_is_kept_whole_with_whatever_is_in_it(store: Store) -> None:
    message = await begun(store)
    result = "a\x00b \ud7ff \U0001f600 'quoted' \u2028"

    await store.ledger.tool_started(message.run, 1, call(arguments='{"of": "\x00"}'))
    await store.ledger.tool_ended(message.run, 1, call(), status="ok", result=result, rounds=2)
    record = TurnRecord(started_at=1.0, ended_at=2.0)
    await store.journal.finish(end_of(message), record, speaker="Bot", has_outbox=False)

    (kept,) = (await store.journal.upcoming(message.session, history=9)).kept_calls
    assert (kept.result, kept.call.function.arguments) == (result, '{"of": "\x00"}')


async def test_calls_may_share_an_id_within_a_turn(store: Store) -> None:
    """Some servers call every call of theirs `call_0`."""
    message = await begun(store)
    await store.ledger.tool_started(message.run, 1, call(arguments="1"))
    await store.ledger.tool_ended(message.run, 1, call(arguments="1"), status="ok", result="")

    assert await store.ledger.tool_started(message.run, 1, call(arguments="2"))

    await crash(store, message, 1)
    assert await store.ledger.tool_started(message.run, 2, call(arguments="1"))
    assert not await store.ledger.tool_started(message.run, 2, call("x", arguments="2"))


async def test_an_attempt_that_lost_the_run_starts_no_tool(store: Store) -> None:
    message = await begun(store)
    await crash(store, message, 1)

    with pytest.raises(Fenced):
        await store.ledger.tool_started(message.run, 1, call())


async def test_the_calls_that_stay_in_sight_come_with_the_next_turn(store: Store) -> None:
    message = await begun(store)
    for id_, rounds in (("seen", 2), ("gone", 0)):
        await store.ledger.tool_started(message.run, 1, call(id_))
        await store.ledger.tool_ended(message.run, 1, call(id_), status="ok", result=id_, rounds=rounds)
    now = time.time()
    record = TurnRecord(started_at=now, ended_at=now)
    await store.journal.finish(end_of(message), record, speaker="Bot", has_outbox=False)
    following = inbound()

    accepted = await store.journal.accept(following, history=10)

    assert accepted.begun is not None
    kept = accepted.begun.kept_calls
    assert [(one.run, one.call.id, one.result, one.rounds) for one in kept] == [
        (message.run, "seen", "seen", 2)
    ]
