"""The prompt: what never changes first, and the same bytes from turn to turn."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.agent.compaction import Summary
from bot.agent.constraints import HEADER, AgentsFile, Constraints, Directories
from bot.agent.estimate import estimate_prompt, estimate_schemas
from bot.agent.history import estimate_tokens
from bot.agent.prompt import OVERHEARD, REMIND_AT, TO_ANSWER, Prompt, PromptBuilder
from bot.agent.store import Begun, KeptCall, Overheard
from bot.agent.workspace import Workspace
from bot.messages import Attachment, InboundMessage, MessageId, StoredMessage, Trigger, encoder, utc_now
from bot.models.base import FunctionCall, ModelProfile, ToolCall, ToolSchema
from bot.tools.skills import Skills
from tests.factories import inbound

LARGE = ModelProfile(window=100_000, max_output=1_000)
SMALL = ModelProfile(window=2_048, max_output=256, compact=True)
REMINDER = "# Identity reminder"


@dataclass(slots=True)
class Conversation:
    """Builds the prompts of successive turns."""

    builder: PromptBuilder
    lines: list[StoredMessage] = field(default_factory=list)

    async def ask(
        self,
        message: InboundMessage,
        profile: ModelProfile = LARGE,
        *,
        heartbeat: str = "",
        ephemeral: str = "",
    ) -> Prompt:
        """The prompt of the next turn; its two lines join the history."""
        begun = Begun(attempt=1, turns=len(self.lines) + 1, history=tuple(self.lines))
        prompt = await self.builder.build(message, begun, profile, heartbeat=heartbeat, ephemeral=ephemeral)
        self.lines.append(line_of(message, len(self.lines) + 1))
        self.lines.append(answer_to(message, len(self.lines) + 1))
        return prompt


def line_of(message: InboundMessage, number: int = 1) -> StoredMessage:
    return StoredMessage(
        number=number,
        id=message.id,
        run=message.run,
        role="user",
        speaker=message.sender.name,
        text=message.text,
        at=message.received_at,
    )


def answer_to(message: InboundMessage, number: int = 2) -> StoredMessage:
    return replace(
        line_of(message, number),
        id=MessageId(f"{message.id}:answer"),
        role="assistant",
        speaker="Bot",
        text=f"answer to {message.text}",
    )


def system_of(prompt: Prompt) -> str:
    assert prompt.messages[0].role == "system"
    return prompt.messages[0].content


def facts_of(prompt: Prompt) -> str:
    assert prompt.messages[-2].role == "system"
    return prompt.messages[-2].content


def history_of(prompt: Prompt) -> list[str]:
    return [message.content for message in prompt.messages[1:-2]]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    moments = iter(range(0, 10_000, 2))  # every look at the clock is two seconds after the last
    return Workspace(tmp_path, clock=lambda: float(next(moments)))


@pytest.fixture
def builder(workspace: Workspace) -> PromptBuilder:
    return PromptBuilder(name="Ada", workspace=workspace, top_k=50, max_tokens=50_000)


@pytest.fixture
def talk(builder: PromptBuilder) -> Conversation:
    return Conversation(builder)


def write(workspace: Workspace, name: str, text: str) -> None:
    (workspace.directory / name).write_text(text, "utf-8")


async def test_the_layers_stand_from_what_never_changes_to_what_does(
    talk: Conversation, workspace: Workspace
) -> None:
    for name in ("AGENTS.md", "USER.md", "SOUL.md", "IDENTITY.md"):
        write(workspace, name, f"<{name}>")
    beat = inbound("beat", trigger=Trigger.HEARTBEAT)

    system = system_of(await talk.ask(beat, heartbeat="<heartbeat>", ephemeral="<ephemeral>"))

    layers = [
        *("You are Ada", "# How to answer", "# Where you are", "<AGENTS.md>", "<USER.md>", "<heartbeat>"),
        *("<ephemeral>", "<identity>\n", "<SOUL.md>", "<IDENTITY.md>", "\n</identity>"),
    ]
    places = [system.index(layer) for layer in layers]
    assert places == sorted(places)
    assert all(system.count(layer) == 1 for layer in layers)


async def test_the_message_comes_last_behind_the_time(talk: Conversation) -> None:
    await talk.ask(inbound("one"))

    prompt = await talk.ask(inbound("two"))

    roles = [message.role for message in prompt.messages]
    assert roles == ["system", "user", "assistant", "system", "user"]
    assert prompt.messages[-2].content.startswith("Current time: ")
    assert prompt.messages[-1].content == "two"


async def test_without_an_identity_there_is_one_of_the_bots_name(talk: Conversation) -> None:
    system = system_of(await talk.ask(inbound()))

    assert system.endswith("<identity>\nYou are Ada: friendly, calm and precise.\n</identity>")


async def test_heartbeat_context_is_for_heartbeats_only(talk: Conversation) -> None:
    assert "<heartbeat>" not in system_of(await talk.ask(inbound(), heartbeat="<heartbeat>"))


async def test_ephemeral_instructions_are_for_one_turn(talk: Conversation) -> None:
    first = system_of(await talk.ask(inbound("one"), ephemeral="<ephemeral>"))
    second = system_of(await talk.ask(inbound("two")))

    assert "<ephemeral>" in first
    assert "<ephemeral>" not in second


async def test_the_reminder_comes_once_the_conversation_is_long_and_stays(talk: Conversation) -> None:
    reminded = [
        (number, REMINDER in facts_of(await talk.ask(inbound(str(number))))) for number in range(REMIND_AT)
    ]

    lines = {number: 2 * number + 1 for number, _ in reminded}  # with the turn's own line
    assert reminded == [(number, lines[number] >= REMIND_AT) for number, _ in reminded]


async def test_the_reminder_stays_when_the_history_in_the_prompt_is_short(workspace: Workspace) -> None:
    builder = PromptBuilder(name="Ada", workspace=workspace, top_k=1, max_tokens=100)

    prompt = await builder.build(inbound(), Begun(attempt=1, turns=500, history=()), LARGE)

    assert REMINDER in facts_of(prompt)


async def test_all_before_the_time_is_the_same_bytes_from_turn_to_turn(talk: Conversation) -> None:
    """A request begins with the whole of the one before, but its last two, whether it is reminded or not."""
    before = b""
    for number in range(REMIND_AT):
        prompt = await talk.ask(inbound(f"question {number}"))
        request = encoder.encode(prompt.messages)
        steady = encoder.encode(prompt.messages[:-2]).rstrip(b"]")

        assert request.startswith(before)
        before = steady


async def test_the_preamble_is_how_an_ordinary_prompt_begins(talk: Conversation) -> None:
    for profile in (LARGE, SMALL):
        preamble = await talk.builder.preamble(profile)
        prompt = await talk.ask(inbound(), profile)

        assert prompt.messages[0] == preamble


async def test_a_changed_file_is_in_the_next_prompt(talk: Conversation, workspace: Workspace) -> None:
    write(workspace, "AGENTS.md", "be brief")
    first = system_of(await talk.ask(inbound()))
    write(workspace, "AGENTS.md", "be thorough")
    second = system_of(await talk.ask(inbound()))

    assert "be brief" in first
    assert "be thorough" in second
    assert "be brief" not in second


async def test_long_files_are_cut_visibly(talk: Conversation, workspace: Workspace) -> None:
    write(workspace, "AGENTS.md", "x" * 5_000)

    system = system_of(await talk.ask(inbound()))

    assert "[… cut: 4,000 of 5,000 characters are shown]" in system


async def test_the_history_has_at_most_so_many_lines(workspace: Workspace) -> None:
    talk = Conversation(PromptBuilder(name="Ada", workspace=workspace, top_k=3, max_tokens=10_000))
    for number in range(5):
        prompt = await talk.ask(inbound(str(number)))

    assert history_of(prompt) == ["answer to 2", "3", "answer to 3"]


async def test_the_history_has_at_most_so_many_tokens(workspace: Workspace) -> None:
    talk = Conversation(PromptBuilder(name="Ada", workspace=workspace, top_k=100, max_tokens=64))
    for _ in range(10):
        prompt = await talk.ask(inbound("x" * 40))

    assert 0 < sum(estimate_tokens(text) for text in history_of(prompt)) <= 64


@pytest.mark.parametrize("length", [10, 3_000, 6_000])
async def test_prompt_and_answer_fit_into_the_window(talk: Conversation, length: int) -> None:
    profile = ModelProfile(window=3_000, max_output=500)
    for _ in range(40):
        prompt = await talk.ask(inbound("y" * 400))

    prompt = await talk.ask(inbound("x" * length), profile)

    assert sum(estimate_tokens(message.content) for message in prompt.messages) <= 2_500


async def test_a_line_that_stands_twice_is_read_once(talk: Conversation) -> None:
    message = inbound("once")
    talk.lines += [line_of(message, 1), answer_to(message, 2), line_of(message, 3), answer_to(message, 4)]

    prompt = await talk.ask(inbound("next"))

    assert history_of(prompt) == ["once", "answer to once"]


async def test_a_last_line_that_says_the_same_as_the_message_is_not_doubled(talk: Conversation) -> None:
    talk.lines.append(line_of(inbound("hello")))

    prompt = await talk.ask(inbound("hello"))

    assert [message.content for message in prompt.messages].count("hello") == 1


async def test_the_same_words_of_another_person_are_kept(talk: Conversation) -> None:
    talk.lines.append(line_of(inbound("hello", speaker="Bo")))

    prompt = await talk.ask(inbound("hello"))

    assert [text.partition("] ")[2] for text in history_of(prompt)] == ["Bo: hello"]


async def test_the_same_question_after_an_answer_is_kept(talk: Conversation) -> None:
    await talk.ask(inbound("hello"))

    prompt = await talk.ask(inbound("hello"))

    assert history_of(prompt) == ["hello", "answer to hello"]


async def test_alone_with_the_bot_a_person_is_not_labelled(talk: Conversation) -> None:
    await talk.ask(inbound("one"))
    prompt = await talk.ask(inbound("two"))

    assert history_of(prompt) == ["one", "answer to one"]
    assert prompt.messages[-1].content == "two"


async def test_where_several_people_speak_every_line_names_its_speaker(talk: Conversation) -> None:
    bo = inbound("one", speaker="Bo")
    await talk.ask(bo)
    ann = inbound("two", speaker="Ann")
    prompt = await talk.ask(ann)

    assert history_of(prompt) == [f"[{bo.received_at:%Y-%m-%d %H:%M}] Bo: one", "answer to one"]
    assert prompt.messages[-1].content == f"[{ann.received_at:%Y-%m-%d %H:%M}] Ann: two"


async def test_in_a_group_the_first_message_names_its_speaker_already(talk: Conversation) -> None:
    prompt = await talk.ask(inbound("hi", is_direct=False))

    assert prompt.messages[-1].content.endswith("] Ann: hi")


async def test_attachments_are_named(talk: Conversation) -> None:
    message = replace(inbound("look"), attachments=(Attachment(kind="image", name="cat.png"),))

    prompt = await talk.ask(message)

    assert prompt.messages[-1].content == "look\n[Attached image: cat.png (application/octet-stream)]"


@pytest.mark.parametrize(
    "identity", ["", "Talk like a pirate. " * 500, "海賊のように話す。" * 500, "é" * 4_000]
)
async def test_the_prompt_of_a_small_model_is_short_whoever_the_bot_is(
    talk: Conversation, workspace: Workspace, identity: str
) -> None:
    write(workspace, "IDENTITY.md", identity)
    write(workspace, "AGENTS.md", "much to do " * 300)

    prompt = await talk.ask(inbound("hello"), SMALL)

    assert prompt.tokens <= 300
    assert identity[:50] in system_of(prompt)


async def test_the_prompt_of_a_small_model_has_one_system_message(talk: Conversation) -> None:
    for number in range(REMIND_AT):
        prompt = await talk.ask(inbound(str(number)), SMALL)

    assert [message.role for message in prompt.messages].count("system") == 1
    assert not any(REMINDER in message.content for message in prompt.messages)


async def test_the_guess_counts_every_message(talk: Conversation) -> None:
    prompt = await talk.ask(inbound("x" * 400))

    assert prompt.tokens == estimate_prompt(prompt.messages)


async def test_a_name_with_braces_is_taken_as_it_is(workspace: Workspace) -> None:
    write(workspace, "AGENTS.md", "use {curly} braces")
    builder = PromptBuilder(name="{Ada}", workspace=workspace, top_k=1, max_tokens=100)

    system = system_of(await builder.build(inbound(), Begun(attempt=1, turns=1, history=()), LARGE))

    assert system.startswith("You are {Ada},")
    assert "use {curly} braces" in system


# --- skills, and the rules of a folder


READ = (ToolSchema(name="read", description="Read a file.", parameters=b"{}"),)
OTHER = (ToolSchema(name="other", description="Something else.", parameters=b"{}"),)


@pytest.fixture
def well_read(workspace: Workspace) -> PromptBuilder:
    """A builder in whose workspace there are a skill and a project with rules."""
    for path, text in (
        ("skills/tea/SKILL.md", "---\nname: tea\ndescription: Make tea\n---\n"),
        ("shop/AGENTS.md", "use tabs"),
        ("AGENTS.md", "<AGENTS.md>"),
    ):
        (workspace.directory / path).parent.mkdir(parents=True, exist_ok=True)
        write(workspace, path, text)
    constraints = Constraints(
        AgentsFile(workspace.directory),
        Directories(),
        own=workspace.directory / "AGENTS.md",
        emit=lambda event: None,
    )
    return PromptBuilder(
        name="Ada",
        workspace=workspace,
        top_k=50,
        max_tokens=50_000,
        skills=Skills(workspace.directory / "skills"),
        constraints=constraints,
    )


async def test_skills_stand_behind_the_workspace_files_and_rules_of_a_folder_at_the_end(
    well_read: PromptBuilder,
) -> None:
    message = replace(inbound(), directory="shop")
    prompt = await well_read.build(message, heard(), LARGE, tools=READ, ephemeral="<ephemeral>")

    system = system_of(prompt)
    layers = ("<AGENTS.md>", "# Skills", "- tea: Make tea", "<ephemeral>", "<identity>", HEADER, "use tabs")
    places = [system.index(layer) for layer in layers]
    assert places == sorted(places)
    assert system.endswith("use tabs")


async def test_skills_are_named_only_to_those_who_can_read_them(well_read: PromptBuilder) -> None:
    with_tool = await well_read.build(inbound(), heard(), LARGE, tools=READ)
    without = await well_read.build(inbound(), heard(), LARGE, tools=OTHER)
    again = await well_read.build(inbound(), heard(), LARGE, tools=READ)

    assert "# Skills" in system_of(with_tool)
    assert "# Skills" not in system_of(without)
    assert system_of(again) == system_of(with_tool)


async def test_a_small_model_gets_neither(well_read: PromptBuilder) -> None:
    message = replace(inbound(), directory="shop")
    system = system_of(await well_read.build(message, heard(), SMALL, tools=READ))

    assert "Skills" not in system
    assert "use tabs" not in system


async def test_rules_of_a_folder_take_a_quarter_of_the_room_at_most(
    well_read: PromptBuilder, workspace: Workspace
) -> None:
    write(workspace, "shop/AGENTS.md", "rule " * 6_000)
    profile = ModelProfile(window=9_000, max_output=1_000)
    system = system_of(await well_read.build(replace(inbound(), directory="shop"), heard(), profile))

    assert estimate_tokens(system) < 2_000 + 200
    assert "characters left out" in system


async def test_tools_leave_less_room_for_the_history(talk: Conversation) -> None:
    profile = ModelProfile(window=3_000, max_output=500)
    tools = (ToolSchema(name="large", description="x" * 4_000, parameters=b"{}"),)
    for _ in range(40):
        await talk.ask(inbound("y" * 400))
    begun = Begun(attempt=1, turns=80, history=tuple(talk.lines))
    prompt = await talk.builder.build(inbound(), begun, profile, tools=tools)

    assert prompt.tokens + estimate_schemas(tools) <= 2_500


async def test_a_summary_takes_half_of_the_room_for_the_history_at_most(workspace: Workspace) -> None:
    builder = PromptBuilder(name="Ada", workspace=workspace, top_k=50, max_tokens=100)
    summary = Summary(upto=2, text="x" * 4_000, at=utc_now(), tokens=1_000)
    lines = tuple(line_of(inbound("x" * 40), number) for number in range(3, 20))
    begun = Begun(attempt=1, turns=20, history=lines, summary=summary)
    prompt = await builder.build(inbound(), begun, LARGE)

    assert 3 <= len(history_of(prompt)) - 1 <= 5


# --- groups


def heard(*texts: str) -> Begun:
    lines = tuple(Overheard(speaker="Bob", text=text, at=utc_now()) for text in texts)
    return Begun(attempt=1, turns=1, history=(), overheard=lines)


async def test_what_was_overheard_stands_before_the_message_and_apart_from_it(builder: PromptBuilder) -> None:
    prompt = await builder.build(inbound("what now?", is_direct=False), heard("lunch?", "at one"), LARGE)

    newest = prompt.messages[-1].content
    places = [
        newest.index(part) for part in (OVERHEARD, "Bob: lunch?", "Bob: at one", TO_ANSWER, "what now?")
    ]
    assert places == sorted(places)


async def test_without_anything_overheard_the_message_stands_alone(builder: PromptBuilder) -> None:
    prompt = await builder.build(inbound("what now?", is_direct=False), heard(), LARGE)

    assert OVERHEARD not in prompt.messages[-1].content
    assert TO_ANSWER not in prompt.messages[-1].content


@pytest.mark.parametrize("profile", [LARGE, SMALL])
async def test_only_where_it_was_not_addressed_is_the_bot_told_that_it_may_be_silent(
    builder: PromptBuilder, profile: ModelProfile
) -> None:
    message = inbound("lunch?", is_direct=False)
    asked = await builder.build(message, heard(), profile)
    read_along = await builder.build(replace(message, may_be_silent=True), heard(), profile)

    told = ["[NO_RESPONSE]" in part.content for part in read_along.messages]
    assert any(told)
    assert not any("[NO_RESPONSE]" in part.content for part in asked.messages)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 20_000), max_size=30), st.sampled_from([LARGE, SMALL]))
async def test_however_much_a_group_says_the_prompt_leaves_room_for_the_answer(
    builder: PromptBuilder, lengths: list[int], profile: ModelProfile
) -> None:
    texts = [f"line {number} " + "x" * length for number, length in enumerate(lengths)]
    message = inbound("what now?", is_direct=False)
    prompt = await builder.build(message, heard(*texts), profile)

    newest = prompt.messages[-1].content
    shown = [f"line {number} " in newest for number in range(len(texts))]
    assert prompt.tokens <= profile.window - profile.max_output
    assert shown == sorted(shown), "the newest are those that stay"
    assert newest.endswith("what now?")


async def test_a_tool_call_stays_in_sight_for_as_many_turns_as_it_should(builder: PromptBuilder) -> None:
    asked = [inbound(f"q{number}") for number in range(3)]
    lines = tuple(line for message in asked for line in (line_of(message), answer_to(message)))
    kept = tuple(
        KeptCall(
            run=message.run,
            call=ToolCall(id=f"c-{message.text}", function=FunctionCall(name="read", arguments="{}")),
            result=f"result for {message.text}",
            rounds=rounds,
        )
        for message, rounds in zip(asked, (2, 2, 1), strict=True)
    )
    begun = Begun(attempt=1, turns=7, history=lines, kept_calls=kept)

    prompt = await builder.build(inbound("now"), begun, LARGE)

    said = [(part.role, part.content) for part in prompt.messages if part.role != "system"]
    assert said == [
        ("user", "q0"),
        ("assistant", "answer to q0"),
        ("user", "q1"),
        ("assistant", ""),
        ("tool", "result for q1"),
        ("assistant", "answer to q1"),
        ("user", "q2"),
        ("assistant", ""),
        ("tool", "result for q2"),
        ("assistant", "answer to q2"),
        ("user", "now"),
    ]


async def test_a_small_model_reads_a_summary_that_is_there_and_no_time(builder: PromptBuilder) -> None:
    summary = Summary(upto=2, text="Ann likes tea.", at=utc_now(), tokens=10)
    begun = Begun(attempt=1, turns=2, history=(), summary=summary)

    prompt = await builder.build(inbound("hello"), begun, SMALL)

    assert [message.role for message in prompt.messages] == ["system", "user", "user"]
    assert "Ann likes tea." in prompt.messages[1].content
    assert prompt.tokens == estimate_prompt(prompt.messages)
