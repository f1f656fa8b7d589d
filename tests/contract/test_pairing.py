"""How people who are unknown come in, on every platform."""

import re
from pathlib import Path

from tests.contract.house import living
from tests.simulators.platform import Simulator

CODE = re.compile(r"\b[A-Z]{4}-[A-Z]{4}\b")
PAIRING = {"mode": "pairing"}


async def code_in(simulator: Simulator, chat: str) -> str:
    """The code that the bot says in a chat."""
    await simulator.until(lambda: any(CODE.search(text) for text in simulator.texts(chat)))
    return next(found[0] for text in simulator.texts(chat) if (found := CODE.search(text)))


async def test_who_is_unknown_gets_a_code_and_an_answer_once_they_are_let_in(
    simulator: Simulator, home: Path
) -> None:
    async with living(simulator, home, access=PAIRING) as house:
        await simulator.user_says("ann", "what is it?")
        code = await code_in(simulator, "ann")
        asked_nothing = house.prompts == []
        await house.app.doors.let_in(code)

        await simulator.said("ann", "echo: what is it?")
        await simulator.user_says("ann", "and now?")
        await simulator.said("ann", "echo: and now?")

    assert asked_nothing


async def test_a_group_is_let_in_as_a_whole(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home, access=PAIRING) as house:
        await simulator.user_says("town", "hello", direct=False, mentions_bot=True)
        code = await code_in(simulator, "town")
        await house.app.doors.let_in(code)
        await simulator.until(lambda: any("echo:" in text for text in simulator.texts("town")))
        await simulator.user_says("town", "me too", user="bob", direct=False, mentions_bot=True)

        await simulator.until(lambda: any("me too" in text for text in simulator.texts("town")))


async def test_an_admin_lets_somebody_in_by_a_button(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home, access=PAIRING) as house:
        await simulator.user_says("bob", "I run this", user="bob")
        await house.app.doors.let_in(await code_in(simulator, "bob"))
        await simulator.said("bob", "echo: I run this")
        await simulator.user_says("bob", "here I am", user="bob")
        await simulator.said("bob", "echo: here I am")
        await simulator.user_says("ann", "let me in")
        await simulator.until(lambda: any("Ann" in text or "ann" in text for text in simulator.texts("bob")))
        asking = next(one for one in simulator.chat("bob") if one.buttons)
        await simulator.click(asking.id, "Let in", user="bob")

        await simulator.said("ann", "echo: let me in")
