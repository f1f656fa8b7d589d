"""`/verbose` and `/think`: shown, chosen for a session, kept, and taken back."""

from bot.messages import SessionKey
from tests.commands.desk import Desk

MAIN = SessionKey("telegram:default:main")


async def test_without_a_word_what_holds_is_shown_with_the_other_choices(desk: Desk) -> None:
    verbose, think = await desk.says("/verbose"), await desk.says("/think")

    assert "not shown" in verbose.text
    assert [button.value for button in verbose.buttons] == ["/verbose on", "/verbose full"]
    assert [button.value for button in think.buttons] == ["/think on"]
    assert desk.store.choices.of(MAIN).verbosity == "off"


async def test_what_is_chosen_holds_for_the_session_alone_and_over_a_restart(desk: Desk) -> None:
    await desk.says("/verbose FULL")
    await desk.says("/think on")
    await desk.store.choices.load()

    choice = desk.store.choices.of(MAIN)
    assert (choice.verbosity, choice.shows_thinking) == ("full", True)
    assert desk.store.choices.of(SessionKey("telegram:default:other")).verbosity == "off"


async def test_it_is_taken_back(desk: Desk) -> None:
    await desk.says("/verbose on")
    await desk.says("/think on")
    await desk.says("/verbose off")
    await desk.says("/think off")

    choice = desk.store.choices.of(MAIN)
    assert (choice.verbosity, choice.shows_thinking) == ("off", False)


async def test_another_word_is_refused_and_changes_nothing(desk: Desk) -> None:
    answers = [await desk.says("/verbose loud"), await desk.says("/think twice")]

    assert all(answer.reason == "error" and "Usage" in answer.text for answer in answers)
    assert desk.store.choices.of(MAIN).verbosity == "off"
