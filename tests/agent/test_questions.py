"""Questions in the middle of a turn: asked where it came from, answered ahead of the lane."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.agent.questions import EMPTY, LATE, NOT_YOURS, OTHER, TYPE, QuestionDesk
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.bus import Receipt
from bot.messages import Address, End, InboundMessage, Sender
from bot.tools.base import ToolContext
from tests.agent.rig import Rig, inbound, rig

Ask = dict[str, object]


class Asking:
    """An agent that asks a question and answers with the answer."""

    def __init__(self, **question: object) -> None:
        self.question: Ask = {"seconds": 5.0, **question}
        self.desk: QuestionDesk

    async def play(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if "something else" in turn.messages[-1].content:
            yield MessageEvent(content="else")
            yield DoneEvent()
            return
        context = ToolContext(message=inbound("begin"))
        answer = await self.desk.ask(context, "Which one?", **self.question)  # type: ignore[arg-type]
        yield MessageEvent(content=f"you said {answer}")
        yield DoneEvent()


async def told(bot: Rig, count: int) -> list[End]:
    """Wait for so many ends that say something; an answer to a question has one that says nothing."""

    def spoken() -> list[End]:
        return [end for end in bot.ends if end.reason != "silent"]

    await bot.until(lambda: len(spoken()) >= count)
    return spoken()


async def asked(bot: Rig, agent: Asking) -> End:
    """Begin a turn; gives its question."""
    agent.desk = bot.loop.questions
    await bot.say("begin")
    await told(bot, 1)
    return bot.ends[0]


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("2", "blue"),
        ("2.", "blue"),
        ("BLUE", "blue"),
        ("1, 3", "red, green"),
        ("red;green", "red, green"),
        ("none of them", "none of them"),
        ("4", "4"),
    ],
)
async def test_an_answer_is_taken_by_number_by_name_or_as_it_is(
    tmp_path: Path, said: str, heard: str
) -> None:
    agent = Asking(options=("red", "blue", "green"))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say(said)
        ends = await told(bot, 2)
        lines = await bot.texts()

    assert "1. red\n2. blue\n3. green" in question.text
    assert ends[1].text == f"you said {heard}"
    assert lines == [
        ("user", "begin"),
        ("assistant", question.text),
        ("user", heard),
        ("assistant", f"you said {heard}"),
    ]


async def test_a_button_answers(tmp_path: Path) -> None:
    agent = Asking(options=("red", "blue"))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say(question.buttons[1].value)
        ends = await told(bot, 2)

    assert [button.label for button in question.buttons] == ["red", "blue", OTHER]
    assert question.buttons[2].form == "Which one?"
    assert all(len(button.value.encode()) <= 64 for button in question.buttons)
    assert ends[1].text == "you said blue"


async def test_free_text_is_the_answer(tmp_path: Path) -> None:
    agent = Asking()
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say("  whatever, you choose ")
        ends = await told(bot, 2)

    assert [(button.label, button.form) for button in question.buttons] == [(TYPE, "Which one?")]
    assert ends[1].text == "you said whatever, you choose"


async def test_nobody_answers_in_time(tmp_path: Path) -> None:
    agent = Asking(seconds=0.05, options=("red",))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        ends = await told(bot, 2)
        await bot.say(question.buttons[0].value)
        late = (await told(bot, 3))[2]

    assert ends[1].text == "you said None"
    assert late.text == LATE


async def test_an_answer_that_is_delivered_twice_counts_once(tmp_path: Path) -> None:
    agent = Asking(options=("red",))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        pressed = inbound(question.buttons[0].value)
        first, second = await bot.bus.publish(pressed), await bot.bus.publish(pressed)
        await told(bot, 2)

    assert (first, second) == (Receipt.ACCEPTED, Receipt.DUPLICATE)
    assert [end.reason for end in bot.ends].count("done") == 2


async def test_what_others_say_is_no_answer_and_their_press_is_refused(tmp_path: Path) -> None:
    agent = Asking(options=("red",))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        bob = Sender(id="bob", name="Bob")
        await bot.say(question.buttons[0].value, sender=bob)
        refused = (await told(bot, 2))[1]
        await bot.say("something else", sender=bob)
        await bot.say("1")
        ends = await told(bot, 4)

    assert refused.text == NOT_YOURS
    assert [end.text for end in ends[2:]] == ["you said red", "else"]


async def test_only_those_who_may_can_answer_and_talk_goes_on_beside(tmp_path: Path) -> None:
    may: Callable[[InboundMessage], bool] = lambda message: message.sender.id == "boss"  # noqa: E731
    agent = Asking(options=("Allow once", "Deny"), words=("once", "deny"), answerers=may, takes_text=False)
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        id_ = question.buttons[0].value.split()[1]
        await bot.say("something else")
        await bot.say(f"/approve {id_} once", sender=Sender(id="boss", name="Boss"))
        ends = await told(bot, 3)

    assert f"`/approve {id_} once|deny`" in question.text
    assert [end.text for end in ends[1:]] == ["you said Allow once", "else"]


async def test_a_question_can_be_asked_elsewhere(tmp_path: Path) -> None:
    elsewhere = Address(channel="web", chat="admins")
    agent = Asking(options=("yes",), address=elsewhere, answerers=lambda message: True)
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say("1", "admins")
        ends = await told(bot, 2)

    assert question.address == elsewhere
    assert ends[1].text == "you said yes"


async def test_kill_ends_a_turn_that_waits_for_an_answer(tmp_path: Path) -> None:
    agent = Asking(options=("red",))
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say("/kill")
        await bot.until(lambda: any(end.reason == "killed" for end in bot.ends))
        await bot.say(question.buttons[0].value)
        await bot.until(lambda: bot.ends[-1].text == LATE)


async def test_many_who_answer_at_once_give_one_answer(tmp_path: Path) -> None:
    agent = Asking(options=("red", "blue"), answerers=lambda message: True)
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await asyncio.gather(*(bot.say(button.value) for button in question.buttons[:2] * 3))
        await told(bot, 7)

    assert sum(end.text.startswith("you said") for end in bot.ends) == 1
    assert sum(end.text == LATE for end in bot.ends) == 5


async def test_of_two_remarks_at_once_one_is_the_answer_and_the_other_gets_a_turn(tmp_path: Path) -> None:
    agent = Asking()
    async with rig(tmp_path, agent.play) as bot:
        await asked(bot, agent)
        await asyncio.gather(bot.say("first"), bot.say("second"))
        await asyncio.sleep(0)
        ends = await told(bot, 3)

    texts = [end.text for end in ends]
    assert LATE not in texts
    assert "you said first" in texts


async def test_an_answer_without_words_is_refused_and_the_question_stays_open(tmp_path: Path) -> None:
    agent = Asking()
    async with rig(tmp_path, agent.play) as bot:
        question = await asked(bot, agent)
        await bot.say(question.buttons[0].value)
        await bot.say("blue")
        ends = await told(bot, 3)

    assert {end.text for end in ends[1:]} == {EMPTY, "you said blue"}
