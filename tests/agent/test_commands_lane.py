"""Commands do not wait for the turns of their session, only for each other."""

from dataclasses import dataclass, field
from pathlib import Path

from bot.agent.seams import Seams
from bot.bus import Receipt
from bot.messages import Button, End, InboundMessage, Kind, SessionKey
from tests.agent.rig import Gate, Rig, inbound, rig


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    buttons: tuple[Button, ...] = ()


@dataclass
class Desk:
    """Commands that a test plays: they begin with a slash, and may wait at a gate."""

    gates: dict[str, Gate] = field(default_factory=dict)
    obeyed: list[str] = field(default_factory=list)

    def matches(self, text: str) -> bool:
        return text.startswith("/")

    async def run(self, message: InboundMessage) -> Answer:
        self.obeyed.append(message.text)
        if (gate := self.gates.get(message.text)) is not None:
            await gate.wait()
        return Answer(f"did {message.text}", (Button(label="Again", value=message.text),))


def ends_of(bot: Rig) -> list[str]:
    return [end.text for end in bot.ends]


async def test_a_command_is_obeyed_while_a_turn_runs(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), seams=Seams(commands=Desk())) as bot:
        await bot.say("a long question")
        await gate.reached()
        await bot.say("/status")
        (end,) = await bot.ended(1)
        gate.open()
        await bot.ended(2)

        assert (end.text, end.buttons[0].value) == ("did /status", "/status")
        assert ends_of(bot) == ["did /status", "done"]


async def test_commands_of_a_session_are_obeyed_one_after_another(tmp_path: Path) -> None:
    desk = Desk({"/slow": Gate()})
    async with rig(tmp_path, seams=Seams(commands=desk)) as bot:
        await bot.say("/slow")
        await desk.gates["/slow"].reached()
        await bot.say("/quick")
        await bot.say("hello")
        await bot.ended(1)
        before = list(desk.obeyed)
        desk.gates["/slow"].open()
        await bot.ended(3)

        assert before == ["/slow"]
        assert ends_of(bot) == ["echo: hello ", "did /slow", "did /quick"]


async def test_a_command_is_for_people_and_not_for_the_model(tmp_path: Path) -> None:
    async with rig(tmp_path, seams=Seams(commands=Desk())) as bot:
        await bot.say("/status")
        await bot.ended(1)
        await bot.say("hello")
        await bot.ended(2)

        (turn,) = bot.backend.turns
        assert not any("status" in message.content for message in turn.messages)
        assert [line.in_context for line in await bot.history()] == [False, False, True, True]


async def test_a_redelivered_command_is_obeyed_once(tmp_path: Path) -> None:
    desk = Desk()
    async with rig(tmp_path, seams=Seams(commands=desk)) as bot:
        message = inbound("/status")
        receipts = [await bot.bus.publish(message) for _ in range(3)]
        await bot.ended(1)

        assert receipts == [Receipt.ACCEPTED, Receipt.DUPLICATE, Receipt.DUPLICATE]
        assert desk.obeyed == ["/status"]


async def test_a_command_is_not_waited_behind_and_is_no_part_of_a_burst(tmp_path: Path) -> None:
    async with rig(tmp_path, seams=Seams(commands=Desk()), debounce={"web": 0.2}) as bot:
        await bot.say("one")
        await bot.say("/status")
        await bot.say("two")
        await bot.ended(3)

        assert [end.text for end in bot.ends if end.text] == ["did /status", "echo: one\ntwo "]


async def test_a_kill_stops_the_turn_and_no_command(tmp_path: Path) -> None:
    gate, desk = Gate(), Desk({"/slow": Gate()})
    async with rig(tmp_path, gate.play("so far"), seams=Seams(commands=desk)) as bot:
        await bot.say("a long question")
        await gate.reached()
        await bot.say("/slow")
        await desk.gates["/slow"].reached()
        await bot.say("/kill")
        await bot.ended(2)
        killed = {end.reason for end in bot.ends}
        desk.gates["/slow"].open()
        ends = await bot.ended(3)

        assert killed == {"killed", "done"}
        assert ends[-1].text == "did /slow"


async def test_a_command_that_waits_and_is_taken_back_is_not_obeyed(tmp_path: Path) -> None:
    desk = Desk({"/slow": Gate()})
    async with rig(tmp_path, seams=Seams(commands=desk)) as bot:
        await bot.say("/slow")
        await desk.gates["/slow"].reached()
        second = inbound("/second")
        await bot.bus.publish(second)
        await bot.bus.publish(inbound("", kind=Kind.DELETE, target=second.platform_id))
        desk.gates["/slow"].open()
        await bot.ended(2)

        assert desk.obeyed == ["/slow"]


async def test_a_command_that_was_not_obeyed_before_a_restart_is_obeyed_after_it(tmp_path: Path) -> None:
    desk, again = Desk({"/slow": Gate()}), Desk()
    async with rig(tmp_path, seams=Seams(commands=desk), shutdown_grace=0.1) as bot:
        await bot.say("/slow")
        await desk.gates["/slow"].reached()
        await bot.say("/second")
    async with rig(tmp_path, seams=Seams(commands=again)) as bot:
        await bot.ended(2)

        assert again.obeyed == ["/slow", "/second"]


async def test_activity_tells_of_turns_and_not_of_commands(tmp_path: Path) -> None:
    desk = Desk({"/slow": Gate()})
    async with rig(tmp_path, seams=Seams(commands=desk)) as bot:
        await bot.say("/slow")
        await desk.gates["/slow"].reached()
        activity = bot.loop.activity(SessionKey("web:default:main"))
        desk.gates["/slow"].open()
        await bot.ended(1)

        assert activity == (None, 0)


async def test_a_chat_whose_name_ends_like_the_lane_of_commands_is_no_such_lane(tmp_path: Path) -> None:
    desk = Desk({"/slow": Gate()})
    async with rig(tmp_path, seams=Seams(commands=desk)) as bot:
        await bot.say("/slow", "main")
        await desk.gates["/slow"].reached()
        await bot.say("hello", "main/")
        (end,) = await bot.ended(1)
        desk.gates["/slow"].open()
        await bot.ended(2)

        assert isinstance(end, End)
        assert end.text == "echo: hello "


async def test_a_turn_that_is_killed_before_its_first_step_is_ended_and_not_done_again(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, max_concurrent_turns=1) as bot:
        for number in range(40):  # where the kill falls differs: before, in and after the first step
            said = inbound(f"question {number}")
            await bot.bus.publish(said)
            await bot.say("/kill")
            await bot.ended(2 * number + 2)

        assert await bot.store.journal.unfinished() == []
