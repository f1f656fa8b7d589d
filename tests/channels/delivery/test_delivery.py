"""Answers on a platform: grown in place at its pace, shown whole, and never twice."""

import asyncio

import pytest

from bot.agent.store import Posted as Record
from bot.errors import ChannelError, RateLimited, StoreError
from bot.messages import End, RunId
from channels.delivery.outbox import MAX_TRIES
from memory.store import Store
from tests.channels.delivery.platform import POSTING, Posted, Setup
from tests.factories import chunk_of, end_of, inbound


async def test_the_first_piece_is_shown_at_once(turned: Setup) -> None:
    message = await turned.asked()
    async with turned.delivering():
        turned.say(message, "Hel")
        await turned.platform.until(lambda: turned.platform.texts() == ["Hel"])

    assert turned.clock.waits == []


async def test_pieces_grow_in_place_no_faster_than_the_platform_allows(turned: Setup) -> None:
    message, platform = await turned.asked(), turned.platform
    async with turned.delivering():
        turned.say(message, "one")
        await platform.until(lambda: platform.texts() == ["one"])
        turned.say(message, " two")
        await turned.clock.waited(1)
        turned.say(message, " three")
        before = platform.texts()
        await turned.clock.turn(1.02)
        await platform.until(lambda: platform.texts() == ["one two three"])

    assert before == ["one"]
    assert platform.calls == [(60.0, "post", "one"), (61.02, "edit", "one two three")]


async def test_an_answer_that_ends_while_it_waits_for_its_turn_is_shown_at_that_turn(turned: Setup) -> None:
    message, platform = await turned.asked(), turned.platform
    async with turned.delivering():
        turned.say(message, "one")
        await platform.until(lambda: platform.texts() == ["one"])
        turned.say(message, " two")
        await turned.clock.waited(1)
        turned.bus.send(await turned.saved(message, "one two three"))
        await asyncio.sleep(0)
        await turned.clock.turn(1.02)
        await platform.until(lambda: platform.texts() == ["one two three"])

    assert len(platform.calls) == 2
    assert await turned.waiting() == []


async def test_the_whole_answer_is_shown_and_confirmed(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre", "view")
        setup.bus.send(await setup.saved(message, "the whole answer"))

    assert setup.platform.texts() == ["the whole answer"]
    assert await setup.waiting() == []


async def test_an_answer_without_a_preview_is_one_call(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "short"))

    assert [kind for _, kind, _ in setup.platform.calls] == ["post"]
    assert await setup.waiting() == []


async def test_a_preview_that_says_all_is_not_said_again(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "all")
        await setup.platform.until(lambda: setup.platform.texts() == ["all"])
        setup.bus.send(await setup.saved(message, "all"))

    assert len(setup.platform.calls) == 1
    assert await setup.waiting() == []


async def test_only_the_first_message_of_an_answer_is_a_reply(setup: Setup) -> None:
    message = await setup.asked(is_direct=False)
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "x" * 50, reply_to="p1"))

    contents = [posted.content for posted in setup.platform.messages.values()]
    assert [content and (content.answers, content.quotes) for content in contents] == [
        ("p1", True),
        ("p1", False),
        ("p1", False),
    ]


async def test_a_platform_that_changes_no_messages_gets_the_answer_once(setup: Setup) -> None:
    setup.platform.capabilities = POSTING
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre", "view")
        setup.bus.send(await setup.saved(message, "the whole answer"))

    assert setup.platform.calls == [(60.0, "post", "the whole answer")]
    assert await setup.waiting() == []


async def test_a_long_answer_is_split_within_the_limits(setup: Setup) -> None:
    text = "first line\nsecond line\nthird " + "x" * 60
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, *text)
        setup.bus.send(await setup.saved(message, text))

    assert "".join("".join(setup.platform.texts()).split()) == "".join(text.split())
    assert setup.platform.texts()[0] == "first line"


async def test_an_answer_that_became_shorter_leaves_nothing_of_the_longer_one(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "a" * 50)
        await setup.platform.until(lambda: len(setup.platform.texts()) == 3)
        setup.bus.send(await setup.saved(message, "short"))

    assert setup.platform.texts() == ["short"]


async def test_a_higher_attempt_takes_the_place_of_a_lower_one(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "old ")
        await setup.platform.until(lambda: setup.platform.texts() == ["old"])
        setup.bus.send(chunk_of(message, "new", attempt=2))
        await setup.platform.until(lambda: setup.platform.texts() == ["new"])

    assert len(setup.platform.messages) == 1


@pytest.mark.parametrize("text", ["", "not for anybody"])
async def test_a_silent_answer_is_not_posted(setup: Setup, text: str) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(end_of(message, text, reason="silent"))

    assert setup.platform.calls == []


async def test_an_empty_piece_is_not_posted(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(chunk_of(message, "", replaces=True))
        setup.say(message, "text")
        await setup.platform.until(lambda: setup.platform.texts() == ["text"])

    assert len(setup.platform.calls) == 1


async def test_a_platform_that_asks_to_wait_is_waited_for(setup: Setup) -> None:
    setup.platform.failures = [RateLimited("slow down", retry_after=17.0)]
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "answer"))
        await setup.platform.until(lambda: setup.platform.texts() == ["answer"])

    first, second = (at for at, _, _ in setup.platform.calls)
    assert second - first >= 17.0
    assert await setup.waiting() == []


async def test_a_platform_that_refuses_a_preview_is_not_asked_again_before_it_allows(turned: Setup) -> None:
    platform = turned.platform
    platform.failures = [RateLimited("slow down", retry_after=17.0)]
    message = await turned.asked()
    async with turned.delivering():
        turned.say(message, "one")
        await platform.until(lambda: len(platform.calls) == 1)
        turned.say(message, " two")
        await turned.clock.waited(1)
        await turned.clock.turn(17.0)
        await platform.until(lambda: platform.texts() == ["one two"])

    assert [at for at, _, _ in platform.calls] == [60.0, 77.0]


async def test_an_answer_that_failed_a_few_times_is_shown_in_the_end(setup: Setup) -> None:
    setup.platform.failures = [ChannelError("hiccup"), TimeoutError(), ChannelError("hiccup")]
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "answer"))
        await setup.platform.until(lambda: setup.platform.texts() == ["answer"])

    assert await setup.waiting() == []


async def test_a_permanent_refusal_is_not_tried_again(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    setup.platform.failures = [ChannelError("the chat is gone", permanent=True)]
    message = await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(message, "answer"))

    assert len(setup.platform.calls) == 1
    assert await setup.waiting() == []
    assert setup.dead == ["the chat is gone"]
    assert "delivery failed" in caplog.text


async def test_an_answer_that_keeps_failing_waits_for_the_next_start(setup: Setup) -> None:
    setup.platform.failures = [ChannelError("down") for _ in range(MAX_TRIES)]
    first, second = await setup.asked(), await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(first, "first"))
        setup.bus.send(await setup.saved(second, "second"))
        await setup.platform.until(lambda: setup.platform.texts() == ["second"])

    assert await setup.waiting() == ["first"]
    async with setup.delivering():
        pass
    assert setup.platform.texts() == ["second", "first"]


async def test_an_answer_that_no_outbox_has_is_not_tried_for_ever(setup: Setup) -> None:
    setup.platform.failures = [ChannelError("down") for _ in range(100)]
    async with setup.delivering():
        setup.bus.send(end_of(await setup.asked(), "cancelled", reason="killed"))
        setup.bus.send(end_of(await setup.asked("elsewhere"), "", reason="silent"))
        await setup.platform.until(lambda: len(setup.platform.calls) == MAX_TRIES)

    assert len(setup.platform.calls) == MAX_TRIES


async def test_closing_does_not_wait_for_a_platform_that_is_down(turned: Setup) -> None:
    turned.platform.failures = [ChannelError("down", retry_after=3600.0)]
    message = await turned.asked()
    async with turned.delivering():
        turned.bus.send(await turned.saved(message, "answer"))
        await turned.clock.waited(1)

    assert turned.platform.texts() == []
    assert await turned.waiting() == ["answer"]


async def test_a_preview_that_fails_costs_the_answer_nothing(setup: Setup) -> None:
    setup.platform.failures = [ChannelError("hiccup")]
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre")
        await setup.platform.until(lambda: len(setup.platform.calls) == 1)
        setup.bus.send(await setup.saved(message, "answer"))

    assert setup.platform.texts() == ["answer"]
    assert await setup.waiting() == []


async def test_a_preview_whose_confirmation_was_lost_is_neither_doubled_nor_left_stale(setup: Setup) -> None:
    setup.platform.is_losing_answers = True
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre")
        await setup.platform.until(lambda: setup.platform.texts() == ["pre"])
        setup.platform.is_losing_answers = False
        setup.bus.send(await setup.saved(message, "answer"))

    assert setup.platform.texts() == ["answer"]
    assert await setup.waiting() == []


async def test_an_answer_is_continued_in_the_same_message_after_a_crash(setup: Setup) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre")
        await setup.platform.until(lambda: setup.platform.texts() == ["pre"])
    await setup.saved(message, "the whole answer")  # and the process died before it was sent

    async with setup.delivering():
        pass

    assert setup.platform.texts() == ["the whole answer"]
    assert await setup.waiting() == []


async def test_a_message_that_the_dead_process_never_heard_of_is_found_and_changed(setup: Setup) -> None:
    setup.platform.is_losing_answers = True
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "pre")
        await setup.platform.until(lambda: setup.platform.texts() == ["pre"])
    setup.platform.is_losing_answers = False
    await setup.saved(message, "the whole answer")

    async with setup.delivering():
        pass

    assert setup.platform.texts() == ["the whole answer"]


async def test_a_turn_that_is_done_again_after_a_crash_uses_the_message_of_the_first_try(
    setup: Setup,
) -> None:
    message = await setup.asked()
    async with setup.delivering():
        setup.say(message, "old")
        await setup.platform.until(lambda: setup.platform.texts() == ["old"])
    await setup.store.journal.recover(9)
    await setup.store.journal.begin(message, attempts=1, history=0)

    async with setup.delivering():
        setup.bus.send(chunk_of(message, "new", attempt=2, replaces=True))
        await setup.platform.until(lambda: setup.platform.texts() == ["new"])
        setup.bus.send(await setup.saved(message, "new answer", attempt=2))

    assert setup.platform.texts() == ["new answer"]


async def test_a_half_posted_answer_is_completed_by_a_platform_that_changes_nothing(setup: Setup) -> None:
    setup.platform.capabilities = POSTING
    message = await setup.asked()
    end = await setup.saved(message, "a" * 20 + "b" * 20)
    await setup.store.outbox.record(end.run, Record(part=0, platform_id="m0", attempt=1, end=20))
    setup.platform.messages["m0"] = Posted("main", "a" * 20, f"{end.run}:0")

    async with setup.delivering():
        pass

    assert setup.platform.texts() == ["a" * 20, "b" * 20]
    assert await setup.waiting() == []


async def test_an_answer_that_somebody_revives_repeats_nothing_that_is_shown_already(setup: Setup) -> None:
    setup.platform.capabilities = POSTING
    message = await setup.asked()
    end = await setup.saved(message, "a" * 20 + "b" * 20)
    await setup.store.outbox.record(end.run, Record(part=0, platform_id="m0", attempt=1, end=20))
    await setup.store.outbox.give_up(end.run)
    setup.platform.messages["m0"] = Posted("main", "a" * 20, f"{end.run}:0")

    async with setup.delivering():
        revived = await setup.store.outbox.revive(end.run, tries=9)
        assert revived is not None
        setup.bus.send(revived)

    assert setup.platform.texts() == ["a" * 20, "b" * 20]
    assert await setup.waiting() == []


async def test_a_hanging_chat_holds_up_no_other(setup: Setup) -> None:
    stuck, free = await setup.asked("stuck"), await setup.asked("free")
    setup.platform.hanging = {"stuck"}
    async with setup.delivering():
        setup.bus.send(await setup.saved(stuck, "late"))
        await setup.platform.until(lambda: len(setup.platform.calls) == 1)
        setup.bus.send(await setup.saved(free, "in time"))
        await setup.platform.until(lambda: setup.platform.texts("free") == ["in time"])
        before = setup.platform.texts("stuck")
        await setup.platform.let_go("stuck")

    assert before == []
    assert setup.platform.texts("stuck") == ["late"]


async def test_a_call_that_hangs_is_given_up_and_tried_again(setup: Setup) -> None:
    setup.platform.hanging = {"main"}
    message = await setup.asked()
    async with setup.delivering(call_seconds=0.05):
        setup.bus.send(await setup.saved(message, "answer"))
        await setup.platform.until(lambda: len(setup.platform.calls) == 2)
        await setup.platform.let_go("main")
        await setup.platform.until(lambda: setup.platform.texts() == ["answer"])

    assert len(setup.platform.messages) == 1


async def test_closing_does_not_wait_for_a_call_that_hangs(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    setup.platform.hanging = {"main"}
    message = await setup.asked()
    async with setup.delivering(call_seconds=0.05):
        setup.bus.send(await setup.saved(message, "answer"))
        await setup.platform.until(lambda: len(setup.platform.calls) == 1)

    assert await setup.waiting() == ["answer"]


async def test_a_mistake_in_the_adapter_costs_one_answer_its_delivery_and_no_other(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    setup.platform.failures = [KeyError("a bug")]
    first, second = await setup.asked(), await setup.asked()
    async with setup.delivering():
        setup.bus.send(await setup.saved(first, "first"))
        await setup.platform.until(lambda: len(setup.platform.calls) == 1)
        setup.bus.send(await setup.saved(second, "second"))
        await setup.platform.until(lambda: setup.platform.texts() == ["second"])

    assert await setup.waiting() == ["first"]
    assert "KeyError" in caplog.text


class FailingOutbox:
    """The outbox of the store, on a disk that fails the next few times."""

    def __init__(self, store: Store, failures: int) -> None:
        self._outbox = store.outbox
        self.failures = failures
        self.confirmed = asyncio.Event()

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")

    async def pending(self, channel: str, account: str) -> list[End]:
        return await self._outbox.pending(channel, account)

    async def posted(self, run: RunId) -> list[Record]:
        self._fail()
        return await self._outbox.posted(run)

    async def record(self, run: RunId, posted: Record) -> None:
        self._fail()
        await self._outbox.record(run, posted)

    async def forget(self, run: RunId, part: int) -> None:
        self._fail()
        await self._outbox.forget(run, part)

    async def confirm(self, run: RunId) -> None:
        self._fail()
        await self._outbox.confirm(run)
        self.confirmed.set()

    async def give_up(self, run: RunId) -> None:
        await self._outbox.give_up(run)

    async def count_try(self, run: RunId) -> int:
        return await self._outbox.count_try(run)


@pytest.mark.parametrize("failures", range(1, 5))
async def test_an_answer_is_shown_whole_and_once_though_the_store_fails_for_a_while(
    setup: Setup, failures: int
) -> None:
    outbox = FailingOutbox(setup.store, failures)
    message = await setup.asked()
    async with setup.delivering(outbox=outbox):
        setup.bus.send(await setup.saved(message, "a" * 20 + "b" * 20))
        async with asyncio.timeout(5):
            await outbox.confirmed.wait()

    assert setup.platform.texts() == ["a" * 20, "b" * 20]
    assert await setup.waiting() == []


async def test_a_delivery_that_cannot_begin_says_so(setup: Setup) -> None:
    closed = setup.store.outbox
    await setup.store.__aexit__(None, None, None)

    with pytest.raises(StoreError):
        async with setup.delivering(outbox=closed):
            pass

    setup.bus.send(end_of(inbound(session="other:default:main")))  # nobody is there to read it
    assert setup.platform.calls == []


async def test_what_was_queued_when_the_delivery_closes_is_delivered(setup: Setup) -> None:
    messages = [await setup.asked(f"chat {number}") for number in range(20)]
    ends = [await setup.saved(message, f"answer {number}") for number, message in enumerate(messages)]
    async with setup.delivering():
        for end in ends:
            setup.bus.send(end)

    assert [posted.text for posted in setup.platform.messages.values()] == [end.text for end in ends]
    assert await setup.waiting() == []


async def test_answers_of_one_chat_keep_their_order_whatever_fails(setup: Setup) -> None:
    setup.platform.failures = [ChannelError("hiccup"), ChannelError("hiccup")]
    messages = [await setup.asked() for _ in range(3)]
    async with setup.delivering():
        for number, message in enumerate(messages):
            setup.bus.send(await setup.saved(message, str(number)))
        await setup.platform.until(lambda: len(setup.platform.texts()) == 3)

    assert setup.platform.texts() == ["0", "1", "2"]
