"""Commands, buttons, kills, edits and deletions, the same on every platform."""

from pathlib import Path

import pytest

from tests.agent.rig import Gate
from tests.contract.house import living
from tests.simulators.platform import Simulator


async def test_a_native_command_is_answered(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        await simulator.slash("ann", "ping")
        await simulator.until(lambda: bool(simulator.chat("ann")))

    assert house.prompts == []


async def test_a_typed_command_is_answered_in_a_group_without_a_mention(
    simulator: Simulator, home: Path
) -> None:
    if simulator.name == "feishu":
        pytest.skip("Feishu sends a bot nothing of a group but what mentions it")
    async with living(simulator, home) as house:
        await simulator.user_says("team", "!ping", direct=False)
        await simulator.until(lambda: bool(simulator.chat("team")))

    assert house.prompts == []


async def test_kill_stops_an_answer_in_the_middle(simulator: Simulator, home: Path) -> None:
    gate = Gate()
    async with living(simulator, home, gate.play("It goes on", " for ever.")):
        await simulator.user_says("ann", "go")
        await gate.reached()
        await simulator.user_says("ann", "/kill")
        await simulator.said("ann", "Agent run cancelled for this session.")
        await simulator.until(
            lambda: any("[Response interrupted]" in text for text in simulator.texts("ann"))
        )
        gate.open()

    assert not any("for ever" in text for text in simulator.texts("ann"))


async def test_a_button_is_pressed(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        await simulator.user_says("ann", "remember me")
        await simulator.said("ann", "echo: remember me")
        await simulator.user_says("ann", "/clear")
        await simulator.until(lambda: any(shown.buttons for shown in simulator.chat("ann")))
        asked = next(shown for shown in simulator.chat("ann") if shown.buttons)
        await simulator.click(asked.id, asked.buttons[0])
        await simulator.until(lambda: len(simulator.chat("ann")) >= 3)
        await simulator.user_says("ann", "who am I?")
        await simulator.said("ann", "echo: who am I?")

    assert not any("remember me" in part.content for part in house.backend.turns[-1].messages)


async def test_an_edited_message_is_known_as_edited(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        first = await simulator.user_says("ann", "my name is Bob")
        await simulator.said("ann", "echo: my name is Bob")
        await simulator.user_edits("ann", first, "my name is Ann")
        await simulator.user_says("ann", "what is my name?")
        await simulator.said("ann", "echo: what is my name?")

    history = [part.content for part in house.backend.turns[-1].messages]
    assert any("my name is Ann" in line for line in history)
    assert "my name is Bob" not in history


async def test_a_deleted_message_is_forgotten(simulator: Simulator, home: Path) -> None:
    if simulator.name == "telegram":
        pytest.skip("Telegram tells bots nothing of deletions")
    async with living(simulator, home) as house:
        first = await simulator.user_says("ann", "the secret is 42")
        await simulator.said("ann", "echo: the secret is 42")
        await simulator.user_deletes("ann", first)
        await simulator.user_says("ann", "what is it?")
        await simulator.said("ann", "echo: what is it?")

    users = [part.content for part in house.backend.turns[-1].messages if part.role == "user"]
    assert not any("42" in line for line in users)


async def test_an_event_that_comes_twice_is_answered_once(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        await simulator.user_says("ann", "once")
        await simulator.said("ann", "echo: once")
        await simulator.redeliver()
        await simulator.user_says("ann", "next")
        await simulator.said("ann", "echo: next")

    assert len(house.prompts) == 2
    assert simulator.texts("ann") == ["echo: once", "echo: next"]


async def test_a_burst_is_one_question(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home, channel={"debounce": 0.5}) as house:
        for text in ("one", "two", "three"):
            await simulator.user_says("ann", text)
        await simulator.until(lambda: bool(simulator.chat("ann")))
        await simulator.until(lambda: "three" in "".join(simulator.texts("ann")))

    assert house.prompts == ["one\ntwo\nthree"]
