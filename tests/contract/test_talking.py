"""What people can do on every platform: talk, in private and in groups, and be answered as they expect."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import Attachment
from tests.agent.rig import Gate
from tests.contract.house import living, says, until
from tests.simulators.platform import File, Simulator

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 64
OGG = b"OggS" + b"\0" * 64


async def test_a_direct_message_is_answered(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home):
        await simulator.user_says("ann", "hello")

        await simulator.said("ann", "echo: hello")

    assert len(simulator.chat("ann")) == 1


async def test_messages_of_one_chat_are_answered_in_order(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home):
        for number in range(3):
            await simulator.user_says("ann", f"message {number}")
        await simulator.said("ann", "echo: message 2")

    assert simulator.texts("ann") == [f"echo: message {number}" for number in range(3)]


async def test_a_streamed_answer_is_the_text_of_the_model(simulator: Simulator, home: Path) -> None:
    words = [f"word{number} " for number in range(200)]
    async with living(simulator, home, says(*words)):
        await simulator.user_says("ann", "go")

        await simulator.said("ann", "".join(words).strip())

    assert len(simulator.chat("ann")) == 1


async def test_an_answer_grows_in_place(simulator: Simulator, home: Path) -> None:
    gate = Gate()
    async with living(simulator, home, gate.play("The beginning", " and the end.")):
        await simulator.user_says("ann", "go")
        await simulator.until(lambda: any(shown.text == "The beginning" for shown in simulator.chat("ann")))
        gate.open()

        await simulator.said("ann", "The beginning and the end.")

    assert len(simulator.chat("ann")) == 1


async def test_a_group_is_answered_when_the_bot_is_mentioned(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        await simulator.user_says("team", "lunch at noon?", direct=False)
        await simulator.user_says("team", "what did I say?", direct=False, mentions_bot=True)
        await simulator.until(lambda: bool(simulator.chat("team")))

    assert len(house.prompts) == 1
    assert house.prompts[0].endswith("what did I say?")


async def test_what_was_said_in_the_group_before_is_given_along(simulator: Simulator, home: Path) -> None:
    if simulator.name == "feishu":
        pytest.skip("Feishu sends a bot nothing of a group but what mentions it")
    async with living(simulator, home) as house:
        await simulator.user_says("team", "lunch at noon", direct=False, user="bob")
        await simulator.user_says("team", "when is lunch?", direct=False, mentions_bot=True)
        await until(lambda: bool(house.backend.turns))

    assert "lunch at noon" in house.prompts[0]
    assert house.prompts[0].index("lunch at noon") < house.prompts[0].index("when is lunch?")


async def test_a_bot_that_is_called_by_its_name_answers(simulator: Simulator, home: Path) -> None:
    if simulator.name == "feishu":
        pytest.skip("Feishu sends a bot nothing of a group but what mentions it")
    async with living(simulator, home, name="Switchboard") as house:
        await simulator.user_says("team", "switchboard, are you there?", direct=False)
        await simulator.until(lambda: bool(simulator.chat("team")))

    assert len(house.prompts) == 1


async def test_other_bots_are_not_answered(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home) as house:
        await simulator.user_says("team", "beep", direct=False, mentions_bot=True, is_bot=True, user="robot")
        await simulator.user_says("ann", "hello")
        await simulator.said("ann", "echo: hello")

    assert len(house.prompts) == 1


async def test_a_thread_is_answered_in_the_thread(simulator: Simulator, home: Path) -> None:
    async with living(simulator, home):
        root = await simulator.user_says("team", "topic", direct=False)
        await simulator.user_says("team", "in here", direct=False, mentions_bot=True, thread=root)
        await simulator.until(lambda: bool(simulator.chat("team")))

    (answer,) = simulator.chat("team")
    assert answer.thread is not None
    assert root.endswith(answer.thread)


async def test_a_long_answer_arrives_whole_in_few_messages(simulator: Simulator, home: Path) -> None:
    paragraphs = [f"{number}: " + "lorem ipsum dolor sit amet " * 12 for number in range(40)]
    text = "\n\n".join(paragraph.strip() for paragraph in paragraphs)
    async with living(simulator, home, says(text)):
        await simulator.user_says("ann", "go")
        await simulator.until(lambda: "39: " in "".join(simulator.texts("ann")))
        await simulator.until(lambda: "".join(simulator.texts("ann")).endswith("amet"))

    arrived = "".join("".join(simulator.texts("ann")).split())
    assert arrived == "".join(text.split())


async def test_every_element_of_markdown_is_readable(simulator: Simulator, home: Path) -> None:
    text = (
        "# Heading\n\nSome **bold**, *italic*, ~~struck~~ and `code` text.\n\n"
        "- one\n- two\n\n1. first\n2. second\n\n> quoted\n\n[link](https://example.org/x)\n\n"
        "```python\nprint('<hi> & bye')\n```\n\n| a | b |\n|---|---|\n| cell1 | cell2 |\n\nThe end."
    )
    async with living(simulator, home, says(text)):
        await simulator.user_says("ann", "go")
        await simulator.until(lambda: "The end." in "".join(simulator.texts("ann")))

    shown = "\n".join(simulator.texts("ann"))
    for words in ("Heading", "bold", "italic", "struck", "code", "one", "first", "quoted", "link"):
        assert words in shown
    for words in ("print('<hi> & bye')", "cell1", "cell2"):
        assert words in shown
    assert "**" not in shown


@pytest.mark.parametrize("text", ["**half", "```py\nprint(", "| a | b |\n|--", "[link](http", "*_`~["])
async def test_unfinished_markdown_breaks_nothing(simulator: Simulator, home: Path, text: str) -> None:
    gate = Gate()
    async with living(simulator, home, gate.play(f"Look: {text}", "\n\nDone.")):
        await simulator.user_says("ann", "go")
        await gate.reached()
        await simulator.until(lambda: bool(simulator.chat("ann")))
        gate.open()
        await simulator.until(lambda: "Done." in "".join(simulator.texts("ann")))

    assert not any(call.status >= 400 for call in simulator.calls)


async def test_nobody_is_pinged_by_what_the_model_says(simulator: Simulator, home: Path) -> None:
    text = "Hey @everyone and @here, <!channel> <@U0ANN> <@&1> <at id=all></at> look."
    async with living(simulator, home, says(text)):
        await simulator.user_says("team", "go", direct=False, mentions_bot=True)
        await simulator.until(lambda: "look." in "".join(simulator.texts("team")))

    assert [shown.pinged for shown in simulator.chat("team")] == [[]]


@pytest.mark.parametrize(
    "file",
    [
        File(name="plan.txt", data=b"the plan", mime="text/plain"),
        File(name="cat.jpg", data=JPEG, mime="image/jpeg", kind="image"),
        File(name="note.ogg", data=OGG, mime="audio/ogg", kind="voice"),
    ],
    ids=lambda file: file.kind,
)
async def test_a_file_that_is_sent_is_fetched(simulator: Simulator, home: Path, file: File) -> None:
    async with living(simulator, home) as house:
        await simulator.upload("ann", file, text="look at this")
        await until(lambda: bool(house.backend.turns))

    prompt = house.prompts[0]
    if simulator.name != "feishu" or file.kind == "image":  # Feishu's files have no caption
        assert "look at this" in prompt
    path = Path(prompt.partition(") at ")[2].rstrip("]"))
    assert path.is_relative_to(home / "media")
    assert await asyncio.to_thread(path.read_bytes) == file.data


async def test_files_of_an_answer_arrive(simulator: Simulator, home: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_bytes(b"the plan")
    (tmp_path / "cat.png").write_bytes(PNG)
    files = (
        Attachment(kind="file", name="plan.txt", mime="text/plain", path=str(tmp_path / "plan.txt")),
        Attachment(kind="image", name="cat.png", mime="image/png", path=str(tmp_path / "cat.png")),
    )

    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="Here they are.")
        yield DoneEvent(attachments=files)

    def arrived() -> list[bytes]:
        return [file.data for shown in simulator.chat("ann") for file in shown.files]

    async with living(simulator, home, answer):
        await simulator.user_says("ann", "files please")
        await simulator.until(lambda: len(arrived()) == 2)

    assert sorted(arrived()) == sorted([b"the plan", PNG])
    assert "Here they are." in simulator.texts("ann")


async def test_silence_is_not_posted(simulator: Simulator, home: Path) -> None:
    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        asks = "quiet" in turn.messages[-1].content
        for piece in ("NO", "_REP", "LY") if asks else ("spoken",):
            yield MessageEvent(content=piece)
        yield DoneEvent()

    async with living(simulator, home, answer):
        await simulator.user_says("ann", "quiet")
        await simulator.user_says("ann", "speak")
        await simulator.said("ann", "spoken")

    assert simulator.texts("ann") == ["spoken"]
