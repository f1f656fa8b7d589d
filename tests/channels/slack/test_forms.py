"""Answers that are typed into a form: opened in time, sent back to where the question stands."""

import pytest

from bot.messages import Button, InboundMessage, Trigger
from tests.channels.slack.conftest import Bench, final

QUESTION = "Which colour shall it be?"
ASK = Button(label="Answer…", value="/answer 12ab34", form=QUESTION)


async def opened(bench: Bench, *, thread: str | None = None, form: str = QUESTION) -> str:
    """Post a question, and press its button; gives the question that the form shows."""
    adapter = await bench.running()
    place = bench.place("team", direct=False, thread=thread)
    button = Button(label=ASK.label, value=ASK.value, form=form)
    posted = await adapter.post(place, final(form, buttons=(button,)), key="k1")
    await bench.slack.click(posted, ASK.label, user="bob")
    await bench.slack.until(lambda: "bob" in bench.slack.api.modals.open)
    return bench.slack.api.modals.open["bob"].question


async def sent(bench: Bench, text: str, heard: str) -> InboundMessage:
    await bench.slack.send_form("bob", text)
    return await bench.ear.heard(heard)


async def test_what_is_typed_comes_back_behind_the_value_of_the_button(bench: Bench) -> None:
    question = await opened(bench)
    message = await sent(bench, "sky blue,\nplease", "/answer 12ab34 sky blue,\nplease")

    assert question == QUESTION
    assert message.trigger is Trigger.BUTTON
    assert message.address == bench.place("team", direct=False)
    assert message.sender.id == bench.slack.world.person("bob").id


async def test_the_answer_belongs_to_the_thread_of_the_question(bench: Bench) -> None:
    await opened(bench, thread="root")
    message = await sent(bench, "blue", "/answer 12ab34 blue")

    assert message.address == bench.place("team", direct=False, thread="root")


@pytest.mark.parametrize("form", ["", "x" * 10_000, "é \N{CAT} <@U1> & more"])
async def test_any_question_makes_a_form_that_slack_takes(bench: Bench, form: str) -> None:
    shown = await opened(bench, form=form or " ")
    await sent(bench, "", "/answer 12ab34")

    assert shown


async def test_a_form_that_is_delivered_twice_counts_once(bench: Bench) -> None:
    await opened(bench)
    await sent(bench, "blue", "/answer 12ab34 blue")
    takes = bench.ear.takes
    await bench.slack.redeliver()
    await bench.ear.until(lambda: bench.ear.takes > takes)

    assert len(bench.ear.taken) == 1


async def test_a_form_that_can_not_be_opened_costs_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = await bench.running()
    posted = await adapter.post(bench.place("team", direct=False), final("?", buttons=(ASK,)), key="k1")
    bench.slack.api.refused["views.open"] = "expired_trigger_id"
    await bench.slack.click(posted, ASK.label, user="bob")
    await bench.slack.until(lambda: any(call.method == "views.open" for call in bench.slack.calls))
    await bench.slack.until(lambda: bench.slack.push.acknowledged == 2)  # the echo of the post, and the press

    assert "form not opened" in caplog.text
    assert bench.ear.taken == {}
