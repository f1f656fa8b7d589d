"""A whole bot on Slack that asks for a text: in a form, or in the chat."""

from pathlib import Path

from bot.app import App
from tests.bots import settings_for
from tests.simulators.model import ModelServer, call, say
from tests.simulators.slack import SlackSimulator


async def test_a_question_is_answered_in_a_form(home: Path) -> None:
    slack = SlackSimulator()
    async with slack, ModelServer() as model:
        model.script(call("ask_question", '{"question": "Which colour?"}'), say("Blue it is."))
        settings = settings_for(
            home,
            openai={"base_url": model.url, "api_key": "key"},
            slack={
                "bot_token": slack.bot_token,
                "app_token": slack.app_token,
                "base_url": f"{slack.url}/api/",
            },
        )
        async with App(settings):
            await slack.until(lambda: slack.push.greeted > 0)
            await slack.user_says("ann", "Paint it")
            await slack.until(lambda: any("Which colour?" in one.text for one in slack.chat("ann")))
            question = next(one for one in slack.chat("ann") if "Which colour?" in one.text)
            await slack.click(question.id, "Answer…")
            await slack.until(lambda: "ann" in slack.api.modals.open)
            await slack.send_form("ann", "sky blue")
            await slack.until(lambda: any(one.text == "Blue it is." for one in slack.chat("ann")))
        results = [part["content"] for part in model.requests[-1].body["messages"] if part["role"] == "tool"]

    assert results == ["sky blue"]
