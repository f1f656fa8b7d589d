"""`/context`: what fills the window, as the next turn would send it, and what to do when it is full."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.compaction import Summary
from bot.agent.estimate import estimate_prompt, estimate_schema
from bot.agent.next_prompt import NextPrompt
from bot.agent.prompt import PromptBuilder
from bot.agent.workspace import Workspace
from bot.commands.context import BAR, EMPTY, FULL, ContextCommands, draw_bar
from bot.commands.registry import Commands
from bot.messages import InboundMessage, utc_now
from bot.models.base import ModelProfile, PromptMessage, ToolSchema
from tests.agent.rig import PlayedBackend
from tests.commands.desk import Desk, Notes, chat_key, message
from tests.simulators.model import Reply, Request, call, say
from tests.test_agent import talking

TOOL = ToolSchema(name="read", description="Read a file. " * 30, parameters=b"{}")


class Window:
    """A desk whose model has a window of a size that the test chooses."""

    def __init__(self, desk: Desk, home: Path) -> None:
        self.desk = desk
        self.backend = PlayedBackend()
        prompts = PromptBuilder(
            name="Ada", workspace=Workspace(home / "workspace"), top_k=12, max_tokens=100_000
        )
        store = desk.store
        prompt = NextPrompt(store.journal, prompts, self.backend, history=12, offers=self._offer)
        own = ContextCommands(store.sessions, prompt)
        self._commands = Commands(own.commands(), admins=lambda: (), audit=Notes())

    def _offer(self, message: InboundMessage) -> tuple[ToolSchema, ...]:
        return (TOOL,)

    async def shown(self, window: int = 8_000, *, answer: int = 1_000, compact: bool = False) -> str:
        """What `/context` says of a window with so many tokens, and so many for the answer."""
        self.backend.profile = ModelProfile(window=window, max_output=answer, compact=compact)
        return (await self._commands.run(message("/context"))).text


@pytest.fixture
def window(desk: Desk, home: Path) -> Window:
    return Window(desk, home)


def figures(text: str) -> dict[str, int]:
    """The figures of an answer, by what they are of."""
    lines = [line[2:].split(": ") for line in text.splitlines() if line.startswith("- ")]
    return {name: int(figure.split()[0].replace(",", "")) for name, figure in lines}


async def test_what_fills_the_window_is_told_part_by_part(window: Window) -> None:
    await window.desk.talks("x" * 4_000)
    text = await window.shown()

    told = figures(text)
    used = sum(figure for name, figure in told.items() if name not in ("Free", "Kept for the answer"))
    assert f"about {used:,} of 8,000 tokens, {used / 8_000:.0%}" in text
    assert told["Tools"] == estimate_schema(TOOL)
    assert told["What people said"] >= 1_000
    assert told["What I said"] >= 1_000
    assert (told["Tool results"], told["Kept for the answer"]) == (0, 1_000)
    assert told["Free"] == 7_000 - used
    assert "Of 2 messages, the newest 2 are shown to me word for word." in text


async def test_before_anything_is_said_there_is_no_talk_to_tell_of(window: Window) -> None:
    empty = await window.shown()
    await window.desk.talks("hello")
    await window.desk.says("/reset")

    assert "word for word" not in empty
    assert await window.shown() == empty


async def test_a_summary_is_told_of_and_what_it_covers_is_not_counted_twice(window: Window) -> None:
    for _ in range(3):
        await window.desk.talks("x" * 4_000)
    before = figures(await window.shown(20_000))
    summary = Summary(upto=4, text="notes", at=utc_now(), tokens=7)
    await window.desk.store.summaries.keep(chat_key(), summary)
    text = await window.shown(20_000)

    assert "the newest 2 are shown to me word for word, and what came before as a summary of 7 tokens" in text
    assert figures(text)["What people said"] < before["What people said"] - 1_900


async def test_a_small_model_has_no_tools_to_read_of(window: Window) -> None:
    assert figures(await window.shown(compact=True))["Tools"] == 0


@pytest.mark.parametrize(
    ("size", "advice"),
    [(20_000, ""), (5_800, "more than 80% full"), (5_000, "more than 95% full")],
)
async def test_a_window_that_gets_full_is_told_with_the_way_out(
    window: Window, size: int, advice: str
) -> None:
    await window.desk.talks("x" * 9_000)
    text = await window.shown(size, answer=100)

    assert ("`/compact`" in text and "`/new`" in text) is bool(advice)
    assert advice in text


@given(share=st.floats(0, 2))
def test_the_bar_is_as_full_as_the_window_and_looks_so_only_when_it_is(share: float) -> None:
    bar = draw_bar(share)

    assert len(bar) == BAR
    assert bar == FULL * bar.count(FULL) + EMPTY * bar.count(EMPTY)
    assert (bar.count(EMPTY) == 0) == (share >= 1)
    assert (bar.count(FULL) == 0) == (share == 0)


def keeps_notes(request: Request) -> Reply:
    """A model that lists files at first, and writes a summary when it is asked to."""
    messages = request.body["messages"]
    if "You keep the notes" in messages[0]["content"]:
        return say("They said word a lot.")
    return say("yes " * 30) if messages[-1]["role"] != "user" else call("list")


async def test_it_tells_what_the_next_turn_really_sends(home: Path) -> None:
    skill = home / "workspace" / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: Make tea\n---\n", "utf-8")
    async with talking(home, context_tokens=400, compaction={"summary_tokens": 100}) as talk:
        talk.model.respond = keeps_notes
        await talk.app.settled()
        for _ in range(3):
            await talk.answer("word " * 150)
        told = figures((await talk.answer("/context")).text)
        await talk.answer("x")
        asked = talk.model.requests[-2].body

    sent = [prompt_message(part) for part in asked["messages"][:-1]]
    assert "- tea: Make tea" in sent[0].content
    assert sent[1].content.startswith("[Summary of the conversation so far]")
    assert told["Tools"] == sum(estimate_schema(schema_of(tool)) for tool in asked["tools"])
    newest = 5  # tokens of a message that says nothing
    assert (
        sum(told[name] for name in ("Instructions", "What people said", "What I said"))
        == estimate_prompt(sent) + newest
    )


def prompt_message(part: dict[str, Any]) -> PromptMessage:
    return PromptMessage(role=part["role"], content=part["content"])


def schema_of(tool: dict[str, Any]) -> ToolSchema:
    """A tool as it was before it went out."""
    function = tool["function"]
    parameters = json.dumps(function["parameters"], separators=(",", ":")).encode()
    return ToolSchema(name=function["name"], description=function["description"], parameters=parameters)
