"""Turns that were begun before a restart, and messages that come once more where too many wait."""

from pathlib import Path

from bot.agent.queueing import QueueRules
from bot.bus import Receipt
from tests.agent.stage import Record, Stage, Use
from tests.factories import inbound


async def test_a_call_that_was_only_asked_for_when_the_process_ended_is_asked_for_again(home: Path) -> None:
    message, record = inbound("do it", session="other:default:a"), Record()
    for _ in range(2):
        async with Stage(home, {message.session: QueueRules()}, record) as stage:
            if not record.heard:
                await stage.publish(message)
            await stage.settle()
            stage.order(message.run, Use("act", "t1"))
            await stage.settle()

    assert [question.token for question in record.questions] == ["t1", "t1"]


async def test_a_message_that_had_begun_is_not_merged_with_others_after_a_restart(home: Path) -> None:
    record = Record()
    first, *others = (inbound(f"remark {number}.", session="other:default:a") for number in range(4))
    async with Stage(home, {first.session: QueueRules(cap=2)}, record) as stage:
        for message in (first, *others[:2]):
            await stage.publish(message)
            await stage.settle()
    async with Stage(home, {first.session: QueueRules(cap=2)}, record) as stage:
        await stage.settle()

        assert stage.asking == [first.run]


async def test_a_message_that_was_answered_is_known_also_where_too_many_wait(home: Path) -> None:
    record, rules = Record(), QueueRules(cap=2, drop="new", mode="followup")
    messages = [inbound(f"remark {number}.", session="other:default:a") for number in range(4)]
    async with Stage(home, {messages[0].session: rules}, record) as stage:
        await stage.publish(messages[0])
        await stage.settle()
        stage.order(messages[0].run, "fail")
        for message in messages[1:]:
            await stage.publish(message)
            await stage.settle()
        receipt = await stage.publish(messages[0])

    assert receipt is Receipt.DUPLICATE
    assert len(record.ends[messages[0].run]) == 1
