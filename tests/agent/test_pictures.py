"""Pictures that people send are shown in the turn they came with, and what can't be shown is told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.agent.compaction import Compactor
from bot.agent.estimate import Calibration, estimate_picture
from bot.agent.pictures import Seen, look, show
from bot.agent.prompt import Prompt
from bot.agent.queueing import QueueRules
from bot.agent.steering import ADDED
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import Attachment
from bot.models.base import ModelProfile, Picture, PromptMessage
from bot.models.picture_files import MAX_PICTURES
from bot.settings.compaction import CompactionSettings
from tests.agent.rig import inbound, rig
from tests.agent.test_steering import TwoSteps, steer
from tests.pictures import GIF, png
from tests.simulators.model import call, fail, say
from tests.test_agent import ANN, message_of, talking

SEEING = ModelProfile(window=10_000, max_output=100, sees=True)
PROMPT = Prompt(
    messages=(
        PromptMessage(role="system", content="Be kind."),
        PromptMessage(role="user", content="earlier"),
        PromptMessage(role="assistant", content="yes?"),
        PromptMessage(role="user", content="look\n[Attached image: a.png (image/png)]"),
    ),
    tokens=40,
)


def put(place: Path, name: str, data: bytes, **changes: object) -> Attachment:
    path = place / name
    path.write_bytes(data)
    given = {"kind": "image", "name": name, "path": str(path)} | changes
    return Attachment(**given)  # type: ignore[arg-type]  # typed by the names above


async def test_the_newest_message_is_shown_with_its_pictures_and_counts_them(tmp_path: Path) -> None:
    files = (put(tmp_path, "a.png", png(600, 600)), put(tmp_path, "b.gif", GIF))
    prompt = await show(PROMPT, inbound("look", attachments=files), SEEING)

    assert prompt.messages[:-1] == PROMPT.messages[:-1]
    assert prompt.messages[-1].content == PROMPT.messages[-1].content
    assert [picture.mime for picture in prompt.messages[-1].pictures] == ["image/png", "image/gif"]
    assert prompt.tokens == 40 + estimate_picture(600, 600) + estimate_picture(21, 13)


async def test_a_model_that_sees_nothing_gets_the_same_prompt(tmp_path: Path) -> None:
    message = inbound("look", attachments=(put(tmp_path, "a.png", png()),))
    blind = ModelProfile(window=10_000, max_output=100)

    assert await show(PROMPT, message, blind) is PROMPT


@pytest.mark.parametrize(
    "attachment",
    [
        Attachment(kind="image", name="not fetched.png"),
        Attachment(kind="image", name="gone.png", fault="it is gone"),
        Attachment(kind="voice", name="a.ogg", path="/dev/null", mime="audio/ogg"),
        Attachment(kind="file", name="a.pdf", path="/dev/null", mime="application/pdf"),
    ],
)
async def test_a_message_without_pictures_leaves_the_prompt_as_it_is(attachment: Attachment) -> None:
    assert await show(PROMPT, inbound("look", attachments=(attachment,)), SEEING) is PROMPT


async def test_what_can_not_be_shown_is_named(tmp_path: Path) -> None:
    files = (
        put(tmp_path, "a.png", png()),
        put(tmp_path, "b.heic", b"\x00\x00\x00\x18ftypheic" + bytes(50)),
        put(tmp_path, "c.svg", b"<svg/>"),
    )
    prompt = await show(PROMPT, inbound("look", attachments=files), SEEING)

    assert prompt.messages[-1].content.endswith("\n[Not shown here: b.heic, c.svg]")
    assert len(prompt.messages[-1].pictures) == 1


async def test_a_picture_that_was_sent_as_a_file_is_looked_at(tmp_path: Path) -> None:
    file = put(tmp_path, "a.png", png(), kind="file", mime="image/png")

    assert len((await look([file])).pictures) == 1


async def test_no_more_are_looked_at_than_a_message_may_have(tmp_path: Path) -> None:
    files = [put(tmp_path, f"{number}.png", png()) for number in range(MAX_PICTURES + 2)]
    seen = await look(files)

    assert len(seen.pictures) == MAX_PICTURES
    assert seen.note == "[Not shown here: 8.png, 9.png]"
    assert (await look(files, most=1)).pictures == seen.pictures[:1]
    assert await look([]) == Seen()


async def test_a_prompt_that_hooks_have_emptied_is_left_alone(tmp_path: Path) -> None:
    prompt = Prompt(messages=PROMPT.messages[:1], tokens=9)
    message = inbound("look", attachments=(put(tmp_path, "a.png", png()),))

    assert await show(prompt, message, SEEING) is prompt


class LookingAgent(TwoSteps):
    """Notes what it is told between its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[PromptMessage] = []

    async def play(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        await self.gate.wait()
        self.taken += await turn.steering.take()
        yield MessageEvent(content="seen")
        yield DoneEvent()


async def test_pictures_in_what_is_said_meanwhile_are_shown_and_no_more_than_fit(tmp_path: Path) -> None:
    agent, files = LookingAgent(), tuple(put(tmp_path, f"{n}.png", png()) for n in range(5))
    async with rig(tmp_path, agent.play, rules=QueueRules(mode="steer")) as bot:
        await steer(bot, agent, "and these", "these as well", attachments=files)
        await bot.ended(3)

    first, second = agent.taken
    assert first.content.startswith(f"{ADDED}\nand these\n[Attached image: 0.png")
    assert (len(first.pictures), len(second.pictures)) == (5, MAX_PICTURES - 5)
    assert second.content.endswith("[Not shown here: 3.png, 4.png]")


async def test_a_picture_in_the_workspace_that_the_model_reads_is_seen_at_the_next_step(home: Path) -> None:
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "a.png").write_bytes(png())
    async with talking(home, call("read", '{"path": "a.png"}'), say("It is red.")) as talk:
        end = await talk.answer("What is in a.png?")

    assert end.text == "It is red."
    assert [request.pictures for request in talk.model.requests] == [[], [png()]]
    assert "1 from `read`" in talk.model.requests[1].last_user_text


async def test_a_picture_that_is_sent_is_seen_in_its_turn_and_only_there(home: Path, tmp_path: Path) -> None:
    file = put(tmp_path, "cat.png", png(), mime="image/png")
    async with talking(home, call("list"), say("A cat."), say("You are welcome.")) as talk:
        message = replace(message_of("What is it?", ANN), attachments=(file,))
        await talk.app.bus.publish(message)
        await talk.until(lambda end: end.run == message.run)
        await talk.answer("Thanks!")

    assert [request.pictures for request in talk.model.requests] == [[png()], [png()], []]


async def test_a_bot_on_a_server_that_takes_no_pictures_answers_all_the_same(
    home: Path, tmp_path: Path
) -> None:
    file = put(tmp_path, "cat.png", png(), mime="image/png")
    async with talking(home, say("I can't see it.")) as talk:
        talk.model.eyes = lambda request: fail(400, "this model does not support images")
        message = replace(message_of("What is it?", ANN), attachments=(file,))
        await talk.app.bus.publish(message)
        end = await talk.until(lambda end: end.run == message.run)

    assert end.text == "I can't see it."
    assert [len(request.pictures) for request in talk.model.requests] == [1, 0]


async def test_a_prompt_whose_older_pictures_fill_the_window_is_not_summarised() -> None:
    async def never(messages: tuple[PromptMessage, ...], max_tokens: int) -> str:
        raise AssertionError("no summary is needed")

    picture = Picture(mime="image/png", data=b"", width=1024, height=1024)
    messages = tuple(PromptMessage(role="user", content=f"{n}", pictures=(picture,)) for n in range(12))
    compactor = Compactor(CompactionSettings(), Calibration())
    folded = await compactor.fold(messages, max_tokens=8_000, complete=never)

    left = [len(message.pictures) for message in folded]
    assert left == sorted(left)
    assert len(left) == 12
    assert 0 < sum(left) < 12
