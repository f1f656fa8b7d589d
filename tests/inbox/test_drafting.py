"""Drafts: what the agent would say, for the operator alone."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.prompt import PromptBuilder
from bot.agent.spending import Spending
from bot.agent.workspace import Workspace
from bot.backends.base import AgentEvent, DoneEvent, ErrorEvent, MessageEvent, TurnInput
from bot.inbox.base import InboxError
from bot.inbox.drafting import Drafts
from bot.messages import Address, SessionKey
from tests.agent.rig import Gate, echo
from tests.inbox.office import ANN, BEN, CHAT, GUEST, office
from tests.simulators.model import say
from tests.test_agent import BOB, talking


async def test_a_draft_answers_what_was_said_and_is_kept_nowhere(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.says("Do you have it in blue?")
        before, posts = await bot.lines(), list(bot.boards["board"].posts)
        parts = len(bot.parts)
        draft = await bot.desk.draft(CHAT, ANN)
        after, outbox = await bot.lines(), await bot.app.store.outbox.pending("board")
        prompt, tools = bot.prompt(), bot.backend.turns[-1].tools.schemas

    assert draft == "echo: Do you have it in blue?"
    assert after == before
    assert bot.boards["board"].posts == posts
    assert (len(bot.parts), outbox) == (parts, [])
    assert "hello" in prompt
    assert tools == ()
    assert bot.audited("draft") == ["web:ann"]


async def test_a_draft_behind_a_reply_says_what_comes_next(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.reply(CHAT, "One moment, I look it up", ANN)
        draft = await bot.desk.draft(CHAT, ANN)

    assert "Write what should be said to this person next" in draft
    assert "One moment, I look it up" in bot.prompt()


async def test_the_operator_pays_for_a_draft(home: Path) -> None:
    async with talking(home, say("Hi."), say("Blue.")) as talk:
        await talk.answer("hello", BOB)
        draft = await talk.app.desk.draft(SessionKey("terminal:default:main"), BEN)
        calls = await talk.app.store.database.read(
            lambda db: dict(db.execute("SELECT person, sum(calls) FROM usage GROUP BY person").fetchall())
        )

    assert draft == "Blue."
    assert calls == {"terminal:bob": 1, "board:ben": 1}


async def test_secrets_are_hidden_in_a_draft(home: Path) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4"
    async with office(home, openai={"api_key": key, "base_url": "http://127.0.0.1:9/v1"}) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.says(f"Is it {key}?")
        draft = await bot.desk.draft(CHAT, ANN)

    assert key not in draft


async def test_what_the_model_could_not_do_is_said(home: Path) -> None:
    async def fail(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield ErrorEvent(content="The model is away.")

    async def say_nothing(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield DoneEvent()

    async with office(home) as bot:
        await bot.says("hello")
        bot.backend.play = fail
        with pytest.raises(InboxError, match="The model is away"):
            await bot.desk.draft(CHAT, ANN)
        bot.backend.play = say_nothing
        with pytest.raises(InboxError, match="nothing to suggest"):
            await bot.desk.draft(CHAT, ANN)


async def test_one_draft_of_a_conversation_is_written_at_a_time(home: Path) -> None:
    gate = Gate()
    async with office(home) as bot:
        await bot.says("hello")
        bot.backend.play = gate.play(after="Blue it is")
        first = asyncio.create_task(bot.desk.draft(CHAT, ANN))
        await gate.reached()
        with pytest.raises(InboxError, match="being written already"):
            await bot.desk.draft(CHAT, BEN)
        gate.open()

        assert await first == "Blue it is"


async def test_a_model_that_hangs_is_waited_for_only_so_long(home: Path) -> None:
    gate = Gate()
    async with office(home) as bot:
        await bot.says("hello")
        bot.backend.play = gate.play()
        prompts = PromptBuilder(name="Rig", workspace=Workspace(home / "workspace"), top_k=9, max_tokens=999)
        drafts = Drafts(
            bot.backend,
            bot.app.store.journal,
            prompts,
            Spending(),
            guard=None,
            redact=str,
            history=9,
            seconds=0.05,
        )
        with pytest.raises(InboxError, match="took more than"):
            await drafts.write(await bot.desk.conversation(CHAT), ANN)
        is_running = bot.backend.running

    assert is_running == 0


async def test_a_turn_can_run_while_a_draft_is_written(home: Path) -> None:
    gate = Gate()

    async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.session != CHAT:  # the draft's
            await gate.wait()
        yield MessageEvent(content="Here you are")
        yield DoneEvent()

    async with office(home, play) as bot:
        await bot.says("hello")
        draft = asyncio.create_task(bot.desk.draft(CHAT, ANN))
        await gate.reached()
        answer = await bot.says("hello again")
        gate.open()

        assert await draft == answer.text == "Here you are"


async def test_who_only_looks_gets_no_draft_nor_anybody_of_what_is_not_there(home: Path) -> None:
    async with office(home, echo) as bot:
        await bot.says("hello")
        with pytest.raises(InboxError, match="Only owners and admins"):
            await bot.desk.draft(CHAT, GUEST)
        with pytest.raises(InboxError, match="There is no conversation"):
            await bot.desk.draft(Address(channel="board", chat="nobody").session(), ANN)
