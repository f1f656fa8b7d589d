"""A talk of thousands of messages through the whole bot: nothing is lost, and no prompt is ever too long."""

import logging
import math
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import pytest

from bot.agent.estimate import estimate_prompt, estimate_schemas
from bot.app import App
from bot.backends.native import NativeBackend
from bot.errors import ContextOverflow
from bot.messages import End
from bot.models.base import Finish, ModelEvent, ModelProfile, ModelRequest, TextDelta, Usage
from tests.bots import settings_for
from tests.test_agent import ANN, message_of

FACT = re.compile(r"fact \d+ is \w+")
WORDS = (
    "we",
    "went",
    "over",
    "the",
    "plan",
    "again",
    "and",
    "nobody",
    "minded",
    "that",
    "it",
    "took",
    "long",
)
TURNS = 1_000
EVERY = 25  # turns, there is a fact to keep
USUAL = ModelProfile(window=128_000, max_output=8_192)
SMALL = ModelProfile(window=8_000, max_output=1_000)


class CountingModel:
    """A model that counts in its own way, refuses what is too long, and keeps facts when it summarises.

    Args:
        ratio: Its count of what we guess.
        has_usage: It tells its count.
        can_summarise: It says something when it is to summarise.
    """

    def __init__(
        self, profile: ModelProfile, ratio: float, *, has_usage: bool, can_summarise: bool = True
    ) -> None:
        self.profile = profile
        self._ratio = ratio
        self._has_usage = has_usage
        self._can_summarise = can_summarise
        self.refused = 0
        self.summaries = 0
        self.most = 0
        self.last: ModelRequest | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`."""
        guess = estimate_prompt(request.messages) + estimate_schemas(request.tools)
        count = math.ceil(guess * self._ratio)
        if count + request.max_completion_tokens > self.profile.window:
            self.refused += 1
            raise ContextOverflow("too long")
        text = self._answer(request)
        yield TextDelta(text=text)
        if self._has_usage:
            yield Usage(model=request.model, prompt=count, completion=len(text) // 4)
        yield Finish(reason="stop")

    def _answer(self, request: ModelRequest) -> str:
        if "You keep the notes" in request.messages[0].content:
            self.summaries += 1
            if not self._can_summarise:
                return ""
            return "\n".join(dict.fromkeys(FACT.findall(request.messages[-1].content))) or "nothing"
        self.last = request
        self.most = max(self.most, len(request.messages))
        return f"I see: {request.messages[-1].content[-60:]}"

    async def aclose(self) -> None:
        """Nothing to let go of."""


async def have_talk(app: App, turns: int) -> set[str]:
    """Say so much, with a fact now and then; gives the facts."""
    random, facts = Random(7), set()
    with app.bus.outbound(channel="terminal") as answers:
        for number in range(turns):
            text = " ".join(random.choices(WORDS, k=random.randrange(4, 40)))
            if number % EVERY == 0:
                facts.add(fact := f"fact {number} is v{random.randrange(10**6)}")
                text = f"{fact}. {text}"
            message = message_of(text, ANN)
            await app.bus.publish(message)
            async for part in answers:
                if isinstance(part, End) and part.run == message.run:
                    assert part.reason == "done", part.text
                    break
    return facts


@pytest.mark.parametrize(
    ("profile", "has_usage"),
    [(USUAL, True), (SMALL, True), (SMALL, False)],
    ids=["usual", "small", "small and silent"],
)
async def test_every_fact_of_a_long_talk_is_kept_and_no_prompt_is_too_long(
    home: Path, caplog: pytest.LogCaptureFixture, profile: ModelProfile, has_usage: bool
) -> None:
    caplog.set_level(logging.INFO, "bot.agent.compaction")
    model = CountingModel(profile, 1.3, has_usage=has_usage)
    backend = NativeBackend(model, model="m")
    async with App(settings_for(home), backend=backend, has_web=False) as app:
        facts = await have_talk(app, TURNS)

    assert model.last is not None
    shown = set(FACT.findall("\n".join(message.content for message in model.last.messages)))
    assert len(facts) == TURNS // EVERY
    assert facts <= shown
    assert model.refused == 0
    assert 3 <= model.summaries <= TURNS // 10
    assert "prompt folded" not in caplog.messages  # such a summary is not kept: it would be made at each turn


async def test_a_talk_of_very_short_messages_is_summarised_for_their_number(home: Path) -> None:
    model = CountingModel(USUAL, 1.0, has_usage=True)
    backend = NativeBackend(model, model="m")
    async with App(settings_for(home, context_top_k=40), backend=backend, has_web=False) as app:
        facts = await have_talk(app, 100)

    assert model.last is not None
    shown = set(FACT.findall("\n".join(message.content for message in model.last.messages)))
    assert facts <= shown
    assert 4 <= model.summaries <= 10
    assert model.most <= 40 + 4  # the instructions, the summary, the time and the message


async def test_where_no_summary_can_be_had_short_messages_are_answered_all_the_same(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = CountingModel(USUAL, 1.0, has_usage=True, can_summarise=False)
    backend = NativeBackend(model, model="m")
    async with App(settings_for(home, context_top_k=10), backend=backend, has_web=False) as app:
        await have_talk(app, 8)

    assert model.most == 10 + 3
    assert "history not summarised, only its end is shown" in caplog.messages
