"""`/status`, `/whoami`, `/ping`, `/start`."""

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


async def test_the_bot_is_there(desk: Desk) -> None:
    assert (await desk.says("/ping")).text == "Pong."
    assert "I am Switchboard" in (await desk.says("/start")).text
