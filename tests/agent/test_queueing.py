"""Queue modes: what becomes of messages that wait; nothing of it is lost without a word."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.loop import DROPPED
from bot.agent.merging import OVERFLOW
from bot.agent.queueing import DROPS, MAX_CAP, MODES, QueueRules, parse_rules
from bot.agent.run import INTERRUPTED
from bot.bus import Receipt
from bot.messages import Sender
from tests.agent.rig import Gate, Rig, rig


async def flood(bot: Rig, gate: Gate, texts: list[str], **changes: object) -> list[Receipt]:
    """Say many things while a first turn stands at the gate, then open it."""
    await bot.say("first")
    await gate.reached()
    receipts = [await bot.say(text, "main", **changes) for text in texts]
    gate.open()
    return receipts


async def test_followup_gives_each_message_a_turn(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="followup")) as bot:
        await flood(bot, gate, ["a", "b", "c"])
        await bot.ended(4)

        assert [turn.messages[-1].content for turn in bot.backend.turns] == ["first", "a", "b", "c"]


async def test_collect_makes_one_turn_of_all_that_waited(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="collect", debounce=0.05)) as bot:
        await flood(bot, gate, ["a", "b", "c"])
        ends = await bot.ended(4)
        asked = [turn.messages[-1].content for turn in bot.backend.turns]

    assert asked == ["first", "a\nb\nc"]
    assert sorted(end.reason for end in ends) == ["done", "done", "silent", "silent"]


async def test_collect_says_who_said_what(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="collect", debounce=0.05)) as bot:
        await bot.say("first")
        await gate.reached()
        await bot.say("a")
        await bot.say("b", sender=Sender(id="bob", name="Bob"))
        gate.open()
        await bot.ended(3)
        asked = bot.backend.turns[-1].messages[-1].content

    assert "Ann: a" in asked
    assert "Bob: b" in asked


async def test_interrupt_ends_the_running_turn_and_answers_the_rest_at_once(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("shown"), rules=QueueRules(mode="interrupt")) as bot:
        await bot.say("first")
        await gate.reached()
        await bot.say("no, this")
        await bot.until(lambda: any(end.reason == "killed" for end in bot.ends))
        gate.open()
        ends = await bot.ended(2)

    assert [(end.reason, end.text) for end in ends] == [
        ("killed", f"shown\n\n{INTERRUPTED}"),
        ("done", "showndone"),
    ]


async def test_past_the_cap_the_oldest_are_answered_together(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="followup", cap=3)) as bot:
        await flood(bot, gate, [f"m{number}" for number in range(6)])
        await bot.ended(7)
        asked = [turn.messages[-1].content for turn in bot.backend.turns]

    together = "\n".join(f"- Ann: m{number}" for number in range(4))
    assert asked == ["first", f"{OVERFLOW.format(count=4)}\n{together}", "m4", "m5"]


async def test_old_drops_the_oldest_and_tells_their_senders(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="followup", cap=2, drop="old")) as bot:
        await flood(bot, gate, ["a", "b", "c"])
        ends = await bot.ended(4)
        lines = await bot.texts()

    assert [end.text for end in ends if end.reason == "killed"] == [DROPPED]
    assert ("user", "a") in lines
    assert [turn.messages[-1].content for turn in bot.backend.turns] == ["first", "b", "c"]


async def test_new_refuses_the_newest(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), rules=QueueRules(mode="followup", cap=2, drop="new")) as bot:
        receipts = await flood(bot, gate, ["a", "b", "c"])
        await bot.ended(4)

    assert receipts == [Receipt.ACCEPTED, Receipt.ACCEPTED, Receipt.REFUSED]


def test_rules_are_read_as_people_write_them() -> None:
    rules = parse_rules("collect debounce:2s cap:25 drop:summarize", QueueRules())

    assert rules == QueueRules(mode="collect", debounce=2.0, cap=25, drop="summarize")
    assert parse_rules("debounce:250ms", rules) == QueueRules(mode="collect", debounce=0.25, cap=25)
    assert parse_rules("", rules) == rules


@pytest.mark.parametrize(
    "words",
    ["nonsense", "cap:0", f"cap:{MAX_CAP + 1}", "cap:²", "debounce:61s", "debounce:-1", "drop:all", "mode:x"],
)
def test_wrong_rules_are_told(words: str) -> None:
    told = parse_rules(words, QueueRules())

    assert isinstance(told, str)
    assert "cap:25" in told


@given(
    st.sampled_from(MODES),
    st.integers(0, 60_000),
    st.integers(1, MAX_CAP),
    st.sampled_from(DROPS),
    st.permutations(range(4)),
)
def test_any_order_of_words_gives_the_same_rules(
    mode: str, millis: int, cap: int, drop: str, order: list[int]
) -> None:
    words = [mode, f"debounce:{millis}ms", f"cap:{cap}", f"drop:{drop}"]

    found = parse_rules(" ".join(words[index] for index in order), QueueRules())

    assert isinstance(found, QueueRules)
    assert (found.mode, found.debounce, found.cap, found.drop) == (mode, millis / 1000, cap, drop)


async def test_a_list_that_was_made_before_a_restart_is_not_put_into_another(tmp_path: Path) -> None:
    gate = Gate()
    rules = QueueRules(mode="followup", cap=1)
    together = f"{OVERFLOW.format(count=2)}\n- Ann: a\n- Ann: b"
    async with rig(tmp_path, gate.play(), rules=rules) as bot:
        await flood(bot, gate, [together, "c", "d"])
        await bot.ended(4)
        asked = [turn.messages[-1].content for turn in bot.backend.turns]

    assert asked == ["first", f"{OVERFLOW.format(count=4)}\n- Ann: a\n- Ann: b\n- Ann: c\n- Ann: d"]
