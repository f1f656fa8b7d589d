"""`/model` and `/backend`: chosen for one session, kept over a restart."""

from pathlib import Path

from bot.agent.choice import NO_CHOICE, Choice
from memory.store import Store
from tests.commands.desk import Desk, chat_key


async def test_the_models_are_listed_and_the_configured_ones_offered(desk: Desk) -> None:
    answer = await desk.says("/model")

    assert answer.text.splitlines()[:3] == ["**Models**", "- `gpt-5-mini` (answers here)", "- `gpt-5`"]
    assert "`Vendor/Large-2`" in answer.text
    assert [button.value for button in answer.buttons] == ["/model gpt-5"]


async def test_a_model_is_chosen_for_one_session_only(desk: Desk) -> None:
    await desk.says("/model vendor/large-2")
    await desk.says("/new")

    assert desk.store.choices.of(chat_key()) == Choice(model="Vendor/Large-2")
    assert desk.store.choices.of(await desk.talks("hello")) == NO_CHOICE
    assert "(answers here)\n- `gpt-5`" in (await desk.says("/model")).text


async def test_a_model_that_nobody_offers_is_not_chosen(desk: Desk) -> None:
    answer = await desk.says("/model gpt-5-nana")

    assert answer.text.startswith("There is no model `gpt-5-nana`. Did you mean `gpt-5-nano`")
    assert desk.store.choices.of(chat_key()) == NO_CHOICE


async def test_a_long_list_is_cut(desk: Desk) -> None:
    desk.bot.offered = tuple(f"m{number}" for number in range(100))

    assert "… and 70 more" in (await desk.says("/model")).text


async def test_the_default_comes_back(desk: Desk) -> None:
    await desk.says("/model gpt-5")
    answer = await desk.says("/model default")

    assert answer.text == "This session is answered by `gpt-5-mini` from now on."
    assert desk.store.choices.of(chat_key()) == NO_CHOICE


async def test_a_backend_is_chosen_beside_the_model(desk: Desk) -> None:
    await desk.says("/model gpt-5")
    await desk.says("/backend claude_code")

    assert desk.store.choices.of(chat_key()) == Choice(model="gpt-5", backend="native")
    assert "There is no backend `magic`" in (await desk.says("/backend magic")).text
    assert "- `native` (answers here)" in (await desk.says("/backends")).text


async def test_a_choice_outlives_a_restart_but_not_its_session(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await Desk(home, store).says("/model gpt-5")
    async with Store(home, synchronous="NORMAL") as store:
        kept = store.choices.of(chat_key())
        await Desk(home, store).says("/delete 1 yes")
        left = store.choices.of(chat_key())
    async with Store(home, synchronous="NORMAL") as store:
        after = store.choices.of(chat_key())

    assert (kept, left, after) == (Choice(model="gpt-5"), NO_CHOICE, NO_CHOICE)
