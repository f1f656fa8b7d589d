"""What watchers are told of the work on an answer: what may be shown, and only where somebody watches."""

from collections.abc import Mapping

from bot.agent.news import News
from bot.backends.base import ThinkingEvent, ToolUseEvent
from bot.bus import LocalBus
from bot.messages import Missed, RunId, SessionKey, SystemEvent, Thinking, ToolStart
from bot.models.base import FunctionCall, ToolCall
from bot.settings.redaction import ModelPlace
from security.redaction import Policy, Redactor

HERE, ELSEWHERE = SessionKey("web:dm:here"), SessionKey("web:dm:elsewhere")
SECRET = "hunter2-hunter2"
CALL = ToolCall(id="c1", function=FunctionCall(name="exec", arguments=f'{{"key": "{SECRET}"}}'))


class Watched:
    """The news of a turn, and each text in which something had to be hidden."""

    def __init__(self) -> None:
        self.bus = LocalBus()
        self.hidden: list[Mapping[str, int]] = []
        policy = Policy.of(ModelPlace(), key=b"key")
        redactor = Redactor(policy, [SECRET], on_hidden=self.hidden.append)
        self.news = News(self.bus, HERE, RunId("r1"), redactor)


def shown(event: SystemEvent | Missed | None) -> str:
    """The text of an event."""
    match event:
        case ToolStart(arguments=text) | Thinking(text=text):
            return text
        case _:
            raise AssertionError(event)


async def test_a_call_is_told_without_what_must_not_be_shown() -> None:
    watched = Watched()
    with watched.bus.events(wants=lambda kind, session: session == HERE) as events:
        await watched.news.tell(ToolUseEvent(call=CALL))

        assert SECRET not in shown(events.take())
        assert len(watched.hidden) == 1


async def test_nothing_is_made_of_a_call_that_nobody_wants_to_know_of() -> None:
    watched = Watched()
    with watched.bus.events(wants=lambda kind, session: session == ELSEWHERE) as events:
        await watched.news.tell(ToolUseEvent(call=CALL))

        assert events.take() is None
        assert watched.hidden == []


async def test_who_comes_in_the_middle_of_a_thought_does_not_see_half_of_a_secret() -> None:
    watched = Watched()
    await watched.news.tell(ThinkingEvent(content=f"I use {SECRET[:9]}"))
    with watched.bus.events() as events:
        await watched.news.tell(ThinkingEvent(content=f"{SECRET[9:]} for it. "))
        await watched.news.tell(ToolUseEvent(call=CALL))

        thought = ""
        while not isinstance(event := events.take(), ToolStart):
            thought += shown(event)

    assert SECRET[9:] not in thought
    assert thought.endswith("for it. ")
