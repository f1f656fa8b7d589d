"""`/status`, `/usage`, `/context`, `/whoami`, `/ping`, `/start`."""

from bot.commands.engine import Activity
from tests.commands.desk import BOSS, GUILD_ADMIN, Desk, chat_key


async def test_the_status_says_who_answers_for_how_long_and_what_goes_on_here(desk: Desk) -> None:
    await desk.talks("hello", tokens=1_234)
    await desk.says("/model gpt-5")
    desk.bot.busy[chat_key()] = Activity(stage="model", seconds=65, waiting=2)

    assert (await desk.says("/status")).text.splitlines() == [
        "**Switchboard**, up for 2 h 5 min",
        "- Model: `gpt-5`",
        "- Backend: `native`",
        "- Here: an answer has been under way for 1 min 5 s (model), 2 messages waiting",
        "- Session: `telegram:default:main`, 1,235 tokens so far",
    ]


async def test_an_idle_session_says_so(desk: Desk) -> None:
    assert "- Here: nothing runs\n" in (await desk.says("/status")).text


async def test_everybody_learns_who_they_are(desk: Desk) -> None:
    assert (await desk.says("/whoami")).text.splitlines() == [
        "- You: `telegram:42` (Ann)",
        "- Role: member",
        "- Chat: `telegram:main`",
        "- Session: `telegram:default:main`",
    ]
    assert "- Role: admin" in (await desk.says("/whoami", sender=BOSS)).text
    assert "- Role: admin" in (await desk.says("/whoami", sender=GUILD_ADMIN)).text


async def test_the_usage_is_added_up_by_model_for_the_session_and_the_chat(desk: Desk) -> None:
    await desk.talks("a", tokens=1_000)
    await desk.says("/new")
    await desk.talks("b", tokens=100)
    await desk.talks("c", tokens=10, model="gpt-5-mini")
    session, today = (await desk.says("/usage")).text.split("\n\n")

    assert session.splitlines() == [
        "**This session**: 112 tokens",
        "- `gpt-5`: 1 turn, 100 in (50 cached), 1 out",
        "- `gpt-5-mini`: 1 turn, 10 in (5 cached), 1 out",
    ]
    assert today.splitlines()[:2] == [
        "**This chat today (UTC)**: 1,113 tokens",
        "- `gpt-5`: 2 turns, 1,100 in (550 cached), 2 out",
    ]


async def test_only_those_who_steer_the_bot_see_what_others_used(desk: Desk) -> None:
    await desk.talks("a", "theirs", tokens=777)

    assert "778" not in (await desk.says("/usage")).text
    assert "778" not in (await desk.says("/usage", sender=GUILD_ADMIN)).text
    assert "**Everybody today (UTC)**: 778 tokens" in (await desk.says("/usage", sender=BOSS)).text


async def test_the_context_tells_what_fills_the_window(desk: Desk) -> None:
    empty = (await desk.says("/context")).text
    await desk.talks("x" * 4_000)
    full = (await desk.says("/context")).text
    await desk.says("/reset")

    assert "of 8,000 tokens" in empty
    assert "- History: 0 (0 of 0 messages)" in empty
    assert "- History: 2,003 (2 of 2 messages)" in full
    assert "- Kept for the answer: 1,000" in full
    assert (await desk.says("/context")).text == empty


async def test_the_bot_is_there(desk: Desk) -> None:
    assert (await desk.says("/ping")).text == "Pong."
    assert "I am Switchboard" in (await desk.says("/start")).text
