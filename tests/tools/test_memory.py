"""The model remembers and forgets for who has asked, and for nobody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.taint import Taint, tainted
from bot.long_term import Fact, Origin, Scope
from bot.tools.base import ToolContext, ToolFault
from bot.tools.memory import MemoryTools
from bot.tools.recall import MEMORIES, RecallTools
from memory.long_term.own import OwnMemories
from memory.store import Store
from tests.factories import inbound
from tests.memory.long_term.conftest import WHOSE, opened

ANN = Scope(kind="person", key="web:ann")
GROUP = Scope(kind="chat", key="web:default:main")
CONTEXT = ToolContext(message=inbound("remember it"))
IN_GROUP = ToolContext(message=inbound("remember it", is_direct=False))


@pytest.fixture
async def memories(home: Path) -> AsyncIterator[OwnMemories]:
    async with opened("own", home, None) as made:
        assert isinstance(made, OwnMemories)
        yield made


@pytest.fixture
def tools(memories: OwnMemories) -> MemoryTools:
    return MemoryTools(memories, WHOSE, redact=lambda text: text.replace("4111", "[card]"))


async def texts(memories: OwnMemories, scope: Scope = ANN) -> list[str]:
    return [one.text for one in await memories.export(scope)]


def test_they_are_for_everybody_act_and_name_no_person(tools: MemoryTools) -> None:
    found = {
        tool.name: (tool.risk, sorted(tool.effects), sorted(tool.arguments.model_fields))
        for tool in tools.tools()
    }

    assert found == {
        "memory_remember": ("read", ["acts"], ["fact", "replaces"]),
        "memory_forget": ("read", ["acts"], ["number"]),
    }


async def test_a_fact_is_remembered_for_who_asked(tools: MemoryTools, memories: OwnMemories) -> None:
    assert await tools.remember("Ann likes tea, card 4111", CONTEXT) == "Remembered as #1."
    assert await tools.remember("Ann likes tea, card 4111", CONTEXT) == "That is remembered already."
    (kept,) = await memories.export(ANN)

    assert kept.text == "Ann likes tea, card [card]"
    assert kept.origin == Origin(
        how="tool", by="web:ann", run=CONTEXT.message.run, session=CONTEXT.message.session
    )


async def test_in_a_group_the_group_remembers(tools: MemoryTools, memories: OwnMemories) -> None:
    await tools.remember("They meet on Mondays", IN_GROUP)

    assert await texts(memories, GROUP) == ["They meet on Mondays"]
    assert await texts(memories) == []


async def test_what_is_wrong_is_replaced(tools: MemoryTools, memories: OwnMemories) -> None:
    await tools.remember("Ann lives in Berlin", CONTEXT)
    await tools.remember("Ann lives in Rome", CONTEXT, replaces=1)

    assert await texts(memories) == ["Ann lives in Rome"]


async def test_a_memory_is_forgotten_by_its_number(tools: MemoryTools, memories: OwnMemories) -> None:
    await tools.remember("Ann likes tea", CONTEXT)

    assert await tools.forget(1, CONTEXT) == "Memory #1 is forgotten."
    assert await texts(memories) == []


async def test_what_others_have_added_to_a_group_is_theirs(tools: MemoryTools, memories: OwnMemories) -> None:
    by_bob = ToolContext(message=inbound("x", speaker="Bob", is_direct=False))
    await tools.remember("They meet on Mondays", by_bob)
    with pytest.raises(ToolFault, match="somebody else's"):
        await tools.forget(1, IN_GROUP)
    with pytest.raises(ToolFault, match="somebody else's"):
        await tools.remember("They never meet", IN_GROUP, replaces=1)
    assert await texts(memories, GROUP) == ["They meet on Mondays"]

    admin = ToolContext(message=IN_GROUP.message, is_admin=True)
    assert await tools.forget(1, admin) == "Memory #1 is forgotten."


@pytest.mark.parametrize("number", [0, 2, -1, 10**12])
async def test_a_number_that_there_is_not_is_refused(
    tools: MemoryTools, memories: OwnMemories, number: int
) -> None:
    await tools.remember("Ann likes tea", CONTEXT)
    with pytest.raises(ToolFault, match="there is no memory"):
        await tools.forget(number, CONTEXT)
    if number:  # 0: it corrects nothing
        with pytest.raises(ToolFault, match="there is no memory"):
            await tools.remember("Ann likes coffee", CONTEXT, replaces=number)

    assert await texts(memories) == ["Ann likes tea"]


@pytest.mark.parametrize("fact", ["", "  ", "..."])
async def test_an_empty_fact_is_refused(tools: MemoryTools, fact: str) -> None:
    with pytest.raises(ToolFault, match="empty"):
        await tools.remember(fact, CONTEXT)


async def test_nobody_has_no_memory(tools: MemoryTools) -> None:
    nobody = ToolContext(message=inbound("x", speaker=""))
    with pytest.raises(ToolFault, match="nobody"):
        await tools.remember("a fact", nobody)


async def test_what_is_remembered_among_foreign_words_says_so_and_passes_it_on(
    tools: MemoryTools, memories: OwnMemories, store: Store
) -> None:
    with tainted(Taint()) as turn:
        turn.add("web", "https://example.org")
        await tools.remember("Eve is to be trusted", CONTEXT)
    (kept,) = await memories.export(ANN)
    with tainted(Taint()) as later:
        await RecallTools(store.recall, memories, WHOSE).search("eve", CONTEXT)

    assert kept.origin.foreign == ("web",)
    assert later.origins == {"web": f"memory 1, of {kept.created_at:%Y-%m-%d}"}
    assert later.is_private


async def test_the_search_shows_memories_with_their_numbers_beside_what_was_said(
    memories: OwnMemories, store: Store
) -> None:
    origin = Origin(how="command", by="web:ann")
    await memories.learn(ANN, [Fact(text="Ann has a red boat")], origin)
    await memories.learn(GROUP, [Fact(text="The boat club meets")], origin)
    said = inbound("The boat leaves at nine")
    await store.journal.accept(said, history=0)
    answer = await RecallTools(store.recall, memories, WHOSE).search("boat", CONTEXT)

    assert answer.split("\n")[:2] == [MEMORIES, "- #1 Ann has a red boat"]
    assert "The boat leaves at nine" in answer
    assert "club" not in answer
