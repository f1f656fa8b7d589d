"""`/queue`: shown, chosen for a session, kept over a restart, and taken back."""

from pathlib import Path

from bot.agent.queueing import QueueRules
from bot.messages import SessionKey
from tests.commands.desk import Desk

MAIN = SessionKey("telegram:default:main")


async def test_without_words_the_rules_are_shown(desk: Desk) -> None:
    answer = await desk.says("/queue")

    assert "`steer`" in answer.text
    assert [button.value for button in answer.buttons] == [
        "/queue followup",
        "/queue collect",
        "/queue interrupt",
        "/queue steer-backlog",
    ]


async def test_chosen_rules_hold_for_the_session_alone_and_over_a_restart(desk: Desk, tmp_path: Path) -> None:
    answer = await desk.says("/queue collect debounce:2s cap:25 drop:old")

    rules = QueueRules(mode="collect", debounce=2.0, cap=25, drop="old")
    assert "`collect`" in answer.text
    assert "25" in answer.text
    assert desk.store.choices.of(MAIN).queue == rules
    assert desk.store.choices.of(SessionKey("telegram:default:other")).queue is None
    await desk.store.choices.load()
    assert desk.store.choices.of(MAIN).queue == rules


async def test_a_part_of_the_rules_can_be_changed_and_all_taken_back(desk: Desk) -> None:
    await desk.says("/queue collect")
    await desk.says("/queue cap:5")
    queue = desk.store.choices.of(MAIN).queue
    assert queue is not None
    assert (queue.mode, queue.cap) == ("collect", 5)

    answer = await desk.says("/queue reset")

    assert desk.store.choices.of(MAIN).queue is None
    assert "`steer`" in answer.text


async def test_a_model_and_rules_are_chosen_beside_each_other(desk: Desk) -> None:
    await desk.says("/queue collect")
    await desk.says("/backend native")

    choice = desk.store.choices.of(MAIN)
    assert choice.backend == "native"
    assert choice.queue is not None


async def test_wrong_rules_change_nothing(desk: Desk) -> None:
    answer = await desk.says("/queue all of it")

    assert answer.reason == "error"
    assert desk.store.choices.of(MAIN).queue is None
