"""What of all that is heard is for the bot, and when two bots have talked long enough."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.bus import LocalBus, Receipt
from bot.errors import StoreError
from bot.messages import Address, InboundMessage, Kind, Sender, Trigger
from bot.settings import ChannelSettings
from channels.intake import LOOP_EVENTS, LOOP_SECONDS, LOOP_SILENCE, Engagement, Intake, LoopGuard, Rules
from tests.channels.delivery.platform import Clock
from tests.factories import inbound

GROUP = Address(channel="other", chat="group", is_direct=False)


@dataclass
class Desk:
    """An intake, and what it gave to the bus."""

    settings: dict[str, object] = field(default_factory=dict)
    names: tuple[str, ...] = ("Rosie",)
    is_conversing: bool = False
    engagement: Engagement = field(default_factory=Engagement)
    clock: Clock = field(default_factory=Clock)
    taken: list[InboundMessage] = field(default_factory=list)

    def __post_init__(self) -> None:
        bus = LocalBus()
        bus.serve(self._accept)
        self.intake = Intake(
            ChannelSettings.model_validate(self.settings),
            bus=bus,
            rules=Rules(
                is_conversing=lambda address: self.is_conversing,
                is_command=lambda text: text.startswith("/help"),
            ),
            names=lambda: self.names,
            engagement=self.engagement,
            clock=self.clock,
        )

    async def _accept(self, message: InboundMessage) -> Receipt:
        self.taken.append(message)
        return Receipt.ACCEPTED

    async def hear(self, message: InboundMessage, *, is_addressed: bool = False) -> None:
        await self.intake.take(message, is_addressed=is_addressed)

    async def say(self, text: str, *, is_addressed: bool = False) -> str:
        """Say something in the group; gives what it became."""
        before = len(self.taken)
        await self.hear(said(text), is_addressed=is_addressed)
        return verdict(self.taken[before:])


def said(text: str = "hello", *, is_bot: bool = False) -> InboundMessage:
    """A message in the group."""
    message = inbound(text, session="other:default:group", is_direct=False)
    return replace(message, sender=Sender(id="x", name="X", is_bot=is_bot))


def verdict(taken: list[InboundMessage]) -> str:
    """In a word, what the intake made of a message."""
    match taken:
        case []:
            return "nothing"
        case [message] if message.kind is Kind.OVERHEARD:
            return "overheard"
        case [message]:
            return "may be silent" if message.may_be_silent else "to answer"
    raise AssertionError("taken more than once")


async def test_everything_in_a_direct_chat_is_answered() -> None:
    desk = Desk()
    message = inbound("anything")
    await desk.hear(message)

    assert desk.taken == [message]


async def test_in_a_group_what_is_not_meant_for_the_bot_is_overheard() -> None:
    desk = Desk()

    assert await desk.say("lunch?") == "overheard"
    assert await desk.say("lunch?", is_addressed=True) == "to answer"
    assert await desk.say("/help") == "to answer"


async def test_without_group_context_nothing_is_kept() -> None:
    assert await Desk({"group_context": 0}).say("lunch?") == "nothing"


@pytest.mark.parametrize("trigger", [Trigger.BUTTON, Trigger.COMMAND])
async def test_a_button_or_a_native_command_in_a_group_is_meant_for_the_bot(trigger: Trigger) -> None:
    desk = Desk()
    await desk.hear(replace(said("press"), trigger=trigger))

    assert verdict(desk.taken) == "to answer"


@pytest.mark.parametrize(
    "text", ["Rosie, what now?", "rosie: look", "  @Rosie hi", "what do you say, Rosie?!", "ROSIE"]
)
async def test_the_bot_is_called_by_its_name_at_the_beginning_or_the_end(text: str) -> None:
    assert await Desk().say(text) == "to answer"


@pytest.mark.parametrize("text", ["I told Rosie so yesterday", "Rosies are red", "no prosie", "prosie, hm"])
async def test_a_name_inside_a_sentence_or_a_word_calls_nobody(text: str) -> None:
    assert await Desk().say(text) == "overheard"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("小助手", "小助手你好"),
        ("小助手", "你好小助手。"),
        ("K.I.", "K.I., are you there?"),
        ("C++", "tell me, C++"),
    ],
)
async def test_a_name_of_any_script_or_with_signs_is_heard(name: str, text: str) -> None:
    assert await Desk(names=(name,)).say(text) == "to answer"


async def test_each_of_its_names_calls_the_bot() -> None:
    desk = Desk(names=("Rosie", "Switchboard"))

    assert await desk.say("switchboard?") == "to answer"
    assert await desk.say("Rosie?") == "to answer"


async def test_where_no_mention_is_required_it_may_stay_silent() -> None:
    desk = Desk({"require_mention": False})

    assert await desk.say("lunch?") == "may be silent"
    assert await desk.say("lunch?", is_addressed=True) == "to answer"


async def test_a_conversation_is_followed_while_the_bot_takes_part() -> None:
    desk = Desk(is_conversing=True)
    before = await desk.say("lunch?")
    desk.engagement.note(GROUP, by_bot=True)
    after = [await desk.say("good") for _ in range(4)]
    asked = await desk.say("where?")
    told = await desk.say("there")

    assert before == "overheard"
    assert after == ["may be silent"] * 3 + ["overheard"]
    assert (asked, told) == ("may be silent", "overheard")


async def test_a_conversation_is_overheard_even_without_group_context() -> None:
    assert await Desk({"group_context": 0}, is_conversing=True).say("lunch?") == "overheard"


async def test_edits_and_deletions_pass_as_they_are() -> None:
    desk = Desk({"group_context": 0})
    changes = [replace(said(), kind=kind, target="m1") for kind in (Kind.EDIT, Kind.DELETE)]
    for change in changes:
        await desk.hear(change)

    assert desk.taken == changes


async def test_other_bots_are_heard_only_where_that_is_allowed() -> None:
    deaf, hearing = Desk(), Desk({"allow_bots": True})
    edit = replace(said(is_bot=True), kind=Kind.EDIT, target="m1")
    for desk in (deaf, hearing):
        await desk.hear(said(is_bot=True), is_addressed=True)
        await desk.hear(edit)

    assert deaf.taken == []
    assert len(hearing.taken) == 2


async def test_what_is_not_durable_is_not_taken() -> None:
    desk = Desk()

    async def refuse(message: InboundMessage) -> Receipt:
        raise StoreError("disk full")

    bus = LocalBus()
    bus.serve(refuse)
    rules = Rules(is_conversing=lambda address: False, is_command=lambda text: False)
    intake = Intake(
        ChannelSettings(), bus=bus, rules=rules, names=lambda: ("Rosie",), engagement=desk.engagement
    )
    with pytest.raises(StoreError):
        await intake.take(inbound("hello"), is_addressed=False)


async def test_a_conversation_between_bots_ends_and_may_begin_again() -> None:
    desk = Desk({"allow_bots": True})
    for _ in range(LOOP_EVENTS + 5):
        await desk.hear(said(is_bot=True), is_addressed=True)
    heard = len(desk.taken)
    await desk.say("a person", is_addressed=True)
    desk.clock.now += LOOP_SILENCE + 1
    await desk.hear(said(is_bot=True), is_addressed=True)

    assert heard == LOOP_EVENTS - 1
    assert len(desk.taken) == LOOP_EVENTS + 1


@given(st.lists(st.floats(min_value=0, max_value=30), max_size=200))
def test_never_are_twenty_messages_of_a_bot_answered_within_a_minute(pauses: list[float]) -> None:
    clock = Clock()
    guard, answered = LoopGuard(clock), []
    for pause in pauses:
        clock.now += pause
        if guard.allows(GROUP, "bot"):
            answered.append(clock.now)

    for first, last in zip(answered, answered[LOOP_EVENTS - 1 :], strict=False):
        assert last - first >= LOOP_SECONDS


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y"])), max_size=150))
def test_the_guard_counts_every_bot_in_every_chat_by_itself(heard: list[tuple[str, str]]) -> None:
    guard = LoopGuard(Clock())
    counts: dict[tuple[str, str], int] = {}
    for bot, chat in heard:
        pair = (bot, chat)
        counts[pair] = counts.get(pair, 0) + 1
        is_allowed = guard.allows(replace(GROUP, chat=chat), bot)

        assert is_allowed == (counts[pair] < LOOP_EVENTS)


def test_a_bot_that_speaks_slowly_is_never_taken_for_a_loop() -> None:
    clock = Clock()
    guard = LoopGuard(clock)
    for _ in range(200):
        clock.now += LOOP_SECONDS / (LOOP_EVENTS - 1) + 0.001

        assert guard.allows(GROUP, "bot")
