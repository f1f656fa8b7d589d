"""Whatever goes wrong between the bot and a platform: one answer, in order, nothing missing."""

from pathlib import Path

import pytest

from tests.agent.rig import Gate
from tests.contract.house import connected, living
from tests.simulators.platform import Fault, Simulator

AT_LEAST_ONCE = "telegram"  # has nothing by which a message could be recognised


@pytest.mark.parametrize("count", [1, 5])
async def test_a_platform_that_is_asked_too_often_gets_its_answer_later(
    simulator: Simulator, home: Path, count: int
) -> None:
    async with living(simulator, home):
        simulator.fail(Fault(kind="limit", count=count, seconds=0.2))
        await simulator.user_says("ann", "hello")
        await simulator.said("ann", "echo: hello")

    assert simulator.texts("ann") == ["echo: hello"]


async def test_a_broken_front_end_is_waited_out(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home):
        simulator.fail(Fault(kind="status", count=3, status=502))
        await simulator.user_says("ann", "hello")
        await simulator.said("ann", "echo: hello")

    assert simulator.texts("ann") == ["echo: hello"]


async def test_a_call_that_is_cut_off_before_it_is_obeyed_is_made_again(
    simulator: Simulator, home: Path
) -> None:
    async with living(simulator, home):
        simulator.fail(Fault(kind="cut", count=2))
        await simulator.user_says("ann", "hello")
        await simulator.said("ann", "echo: hello")

    assert simulator.texts("ann") == ["echo: hello"]


async def test_an_answer_that_was_lost_after_the_effect_is_not_said_twice(
    simulator: Simulator, home: Path
) -> None:
    async with living(simulator, home):
        simulator.fail(Fault(kind="lose", count=1))
        await simulator.user_says("ann", "hello")
        await simulator.said("ann", "echo: hello")
        await simulator.user_says("ann", "more")
        await simulator.said("ann", "echo: more")

    texts = simulator.texts("ann")
    assert texts[-1] == "echo: more"
    assert set(texts) == {"echo: hello", "echo: more"}
    if simulator.name != AT_LEAST_ONCE:
        assert texts == ["echo: hello", "echo: more"]


async def test_a_connection_that_breaks_costs_no_message(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home):
        await simulator.user_says("ann", "before")
        await simulator.said("ann", "echo: before")
        await simulator.drop()
        await simulator.user_says("ann", "meanwhile")
        await simulator.said("ann", "echo: meanwhile")

    assert simulator.texts("ann") == ["echo: before", "echo: meanwhile"]


async def test_a_platform_that_dies_and_comes_back_gets_what_it_is_owed(
    simulator: Simulator, home: Path
) -> None:
    gate = Gate()
    async with living(simulator, home, gate.play("", "It is done.")) as house:
        await simulator.user_says("ann", "go")
        await gate.reached()
        async with simulator.away():
            gate.open()
        await connected(house.app)
        await simulator.said("ann", "It is done.")

    assert simulator.texts("ann") == ["It is done."]


async def test_what_is_said_while_the_bot_is_away_is_answered_when_it_is_back(
    simulator: Simulator, home: Path
) -> None:
    async with living(simulator, home):
        await simulator.user_says("ann", "first")
        await simulator.said("ann", "echo: first")
    if simulator.name == "slack":
        pytest.skip("Slack delivers nothing to an app that is not connected, after its last retry")

    await simulator.user_says("ann", "second")
    async with living(simulator, home):
        await simulator.said("ann", "echo: second")

    assert simulator.texts("ann") == ["echo: first", "echo: second"]


async def test_one_dead_platform_is_no_hindrance_to_the_page(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house, simulator.away():
        link = house.app.hubs["web"].connect()
        link.close()
        status = house.app.status()

    assert {channel.channel for channel in status.channels} >= {"web", simulator.name}
