"""Sessions of a chat: begun, listed, resumed, renamed, reset, cleared, deleted, and nobody else's."""

from pathlib import Path

import pytest

from bot.commands.engine import Activity
from bot.commands.sessions import BUSY, UNCHANGED
from memory.store import Store
from tests.commands.desk import Desk, chat_key


async def test_a_new_session_takes_what_is_said_from_now_on(desk: Desk) -> None:
    old = await desk.talks("hello")
    answer = await desk.says("/new trip to Rome")
    new = await desk.talks("which flights are there?")

    assert "**trip to Rome**" in answer.text
    assert old == chat_key()
    assert new.startswith(f"{old}:")
    assert await desk.lines(old) == ["hello", "re: hello"]
    assert await desk.lines(new) == ["which flights are there?", "re: which flights are there?"]


async def test_the_list_shows_number_title_or_first_words_messages_and_which_is_current(desk: Desk) -> None:
    await desk.talks("hello *there*")
    await desk.says("/new Rome")
    await desk.talks("flights?")
    answer = await desk.says("/sessions")

    assert answer.text.splitlines() == [
        "**Sessions of this chat**",
        "- `2` Rome: 2 messages, just now (current)",
        r"- `1` hello \*there\*: 2 messages, just now",
    ]
    assert [(button.label, button.value) for button in answer.buttons] == [("1: hello *there*", "/resume 1")]


async def test_commands_alone_make_no_session_in_the_list(desk: Desk) -> None:
    await desk.talks("/help")
    await desk.says("/new")

    assert (await desk.says("/sessions")).text.splitlines()[1:] == [
        "- `2` (nothing said yet): 0 messages, just now (current)"
    ]


async def test_a_session_is_resumed_by_its_number(desk: Desk) -> None:
    old = await desk.talks("hello")
    await desk.says("/new")
    answer = await desk.says("/resume 1")

    assert answer.text == "Back in session 1: hello."
    assert await desk.talks("again") == old


async def test_without_a_name_the_session_before_is_resumed(desk: Desk) -> None:
    old = await desk.talks("hello")
    await desk.says("/new")
    await desk.says("/resume")

    assert await desk.talks("again") == old


@pytest.mark.parametrize("words", ["rome", "TRIP to", "trip to rome", "which hotel"])
async def test_a_session_is_resumed_by_words_of_it(desk: Desk, words: str) -> None:
    await desk.says("/new Trip to Rome")
    rome = await desk.talks("Which hotel is good?")
    await desk.says("/new Paris")
    await desk.says(f"/resume {words}")

    assert await desk.talks("again") == rome


async def test_words_of_several_sessions_ask_which(desk: Desk) -> None:
    await desk.says("/new trip to Rome")
    await desk.says("/new trip to Paris")
    await desk.says("/new other")
    answer = await desk.says("/resume trip")

    assert answer.text.splitlines()[0] == "Which one? Say `/resume <number>`."
    assert {button.value for button in answer.buttons} == {"/resume 2", "/resume 3"}


@pytest.mark.parametrize("which", ["9", "nothing like it"])
async def test_a_session_that_is_not_there_is_told(desk: Desk, which: str) -> None:
    assert "There is no session" in (await desk.says(f"/resume {which}")).text


async def test_a_title_is_one_line_and_bounded(desk: Desk) -> None:
    await desk.says("/rename a\nlong   " + "x" * 200)
    (session,) = await desk.store.sessions.of_chat(chat_key())

    assert session.title is not None
    assert session.title.startswith("a long xxx")
    assert len(session.title) == 80


async def test_after_a_reset_the_model_sees_nothing_and_people_see_all(desk: Desk) -> None:
    session = await desk.talks("secret plan")
    await desk.says("/reset")
    await desk.talks("hello")

    assert await desk.seen(session) == ["hello", "re: hello"]
    assert await desk.lines(session) == ["secret plan", "re: secret plan", "hello", "re: hello"]


@pytest.mark.parametrize("text", ["/clear", "/delete"])
async def test_what_destroys_asks_first(desk: Desk, text: str) -> None:
    session = await desk.talks("hello")
    asked = await desk.says(text)
    declined = await desk.says(f"{asked.buttons[0].value.removesuffix('yes')}no")

    assert asked.buttons[0].style == "danger"
    assert f"`{asked.buttons[0].value}`" in asked.text
    assert declined.text == UNCHANGED
    assert await desk.lines(session) == ["hello", "re: hello"]


async def test_a_cleared_session_goes_on_without_what_was_said(desk: Desk) -> None:
    session = await desk.talks("hello")
    answer = await desk.says((await desk.says("/clear")).buttons[0].value)
    again = await desk.talks("anew")

    assert answer.text == "The messages of this session are deleted."
    assert again == session
    assert await desk.lines(session) == ["anew", "re: anew"]
    assert (await desk.store.sessions.of_chat(chat_key()))[0].messages == 2


async def test_a_deleted_session_is_gone_and_a_new_one_begins(desk: Desk) -> None:
    session = await desk.talks("hello")
    answer = await desk.says((await desk.says("/delete")).buttons[0].value)
    next_one = await desk.talks("anew")

    assert answer.text == "Session 1 is deleted. A new session begins."
    assert next_one != session
    assert await desk.lines(session) == []
    assert [one.number for one in await desk.store.sessions.of_chat(chat_key())] == [2]


async def test_a_session_is_deleted_by_its_number(desk: Desk) -> None:
    current = await desk.talks("keep")
    await desk.says("/new old")
    await desk.talks("go")
    await desk.says("/resume 1")
    answer = await desk.says("/delete 2 yes")

    assert answer.text == "Session 2 is deleted."
    assert await desk.talks("still here") == current
    assert (await desk.says("/delete 2 yes")).text == "There is no session 2. `/sessions` lists them."


async def test_a_number_is_never_given_twice(desk: Desk) -> None:
    await desk.says("/new")
    await desk.talks("two")
    await desk.says("/delete 2 yes")
    await desk.talks("three")

    assert [session.number for session in await desk.store.sessions.of_chat(chat_key())] == [3]


async def test_a_current_session_without_a_number_is_not_deleted_unasked(desk: Desk) -> None:
    session = await desk.talks("hello")

    assert (await desk.says("/delete yes")).buttons[0].value == "/delete 1 yes"
    assert await desk.lines(session) != []


@pytest.mark.parametrize("text", ["/clear", "/clear yes", "/delete", "/delete 1 yes"])
@pytest.mark.parametrize("activity", [Activity(stage="model"), Activity(waiting=1)])
async def test_a_session_that_is_being_answered_is_not_destroyed(
    desk: Desk, text: str, activity: Activity
) -> None:
    session = await desk.talks("hello")
    desk.bot.busy[session] = activity
    answer = await desk.says(text)

    assert (answer.text, answer.reason, answer.buttons) == (BUSY, "error", ())
    assert await desk.lines(session) == ["hello", "re: hello"]


async def test_nobody_reaches_a_session_of_another_chat(desk: Desk) -> None:
    await desk.says("/new private", "mine")
    mine = await desk.talks("my secret", "mine")
    for text in ("/resume private", "/resume 2", f"/resume {mine}", "/delete 2 yes", "/resume my secret"):
        assert (await desk.says(text, "theirs")).reason == "error", text

    assert "secret" not in (await desk.says("/sessions", "theirs")).text
    assert await desk.talks("hi", "theirs") == chat_key("theirs")
    assert await desk.lines(mine) == ["my secret", "re: my secret"]


async def test_sessions_outlive_a_restart(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        desk = Desk(home, store)
        await desk.talks("hello")
        await desk.says("/new Rome")
        session = await desk.talks("flights?")
    async with Store(home, synchronous="NORMAL") as store:
        desk = Desk(home, store)

        assert await desk.talks("and hotels?") == session
        assert [one.number for one in await store.sessions.of_chat(chat_key())] == [2, 1]


async def test_an_archived_session_leaves_the_list_and_stands_in_one_of_its_own(desk: Desk) -> None:
    await desk.talks("hello")
    await desk.says("/new Rome")
    await desk.talks("flights?")
    answer = await desk.says("/sessions archive 1")

    listed, archived = await desk.says("/sessions"), await desk.says("/sessions archived")
    assert answer.text.startswith("Session 1 is archived")
    assert [line.split("`")[1] for line in listed.text.splitlines()[1:]] == ["2"]
    assert archived.text.splitlines() == [
        "**Archived sessions of this chat**",
        "- `1` hello: 2 messages, just now",
    ]
    assert [button.value for button in archived.buttons] == ["/resume 1"]


async def test_an_archived_session_is_taken_up_again_by_resume(desk: Desk) -> None:
    old = await desk.talks("hello")
    await desk.says("/new Rome")
    await desk.talks("flights?")
    await desk.says("/sessions archive 1")
    unnamed = await desk.says("/resume")
    await desk.says("/resume 1")

    assert unnamed.reason == "error"
    assert await desk.talks("again") == old
    assert "`1` hello" in (await desk.says("/sessions")).text
    assert (await desk.says("/sessions archived")).text == "No session of this chat is archived."


async def test_archiving_the_current_session_begins_a_new_one(desk: Desk) -> None:
    old = await desk.talks("hello")
    answer = await desk.says("/sessions archive 1")

    assert answer.text.endswith("A new session begins.")
    assert await desk.talks("else") != old
    assert await desk.lines(old) == ["hello", "re: hello"]


@pytest.mark.parametrize("text", ["/sessions archive", "/sessions archive 7"])
async def test_archiving_what_is_not_there_is_refused(desk: Desk, text: str) -> None:
    await desk.talks("hello")
    answer = await desk.says(text)

    assert answer.reason == "error"
    assert "`/sessions` lists them" in answer.text


async def test_a_busy_session_is_not_archived(desk: Desk) -> None:
    session = await desk.talks("hello")
    desk.bot.busy[session] = Activity(stage="model", seconds=1.0)

    assert (await desk.says("/sessions archive 1")).text == BUSY
