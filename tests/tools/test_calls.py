"""Calls of tools: every step on the way, every way it goes wrong, and many at once."""

import asyncio
import json
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, field_validator

from bot.agent.taint import Source
from bot.errors import StoreError
from bot.messages import Attachment
from bot.models.base import FunctionCall, ToolCall
from bot.tools import Tool, ToolContext, ToolFault, ToolOutput, declare, tool
from bot.tools.arguments import parse_arguments
from bot.tools.base import Arguments, Denied, Form, Gate, Status, Watch
from bot.tools.calls import AT_ONCE, SKIPPED, CallLimits, CallResult, ToolCalls
from bot.tools.jobs import Countdown, Jobs
from bot.tools.registry import Offer
from bot.tools.results import Results
from tests.factories import inbound
from tests.pictures import png

CONTEXT = ToolContext(message=inbound(), is_admin=True, depth=1)


def wish(name: str, arguments: str = "", *, number: int = 1) -> ToolCall:
    """A call as a model writes it."""
    return ToolCall(id=f"call_{number}", function=FunctionCall(name=name, arguments=arguments))


def wishes(name: str, count: int) -> list[ToolCall]:
    """The same call many times, told apart by its argument."""
    return [wish(name, json.dumps({"number": number}), number=number) for number in range(count)]


@tool
async def echo(text: str, times: int = 1) -> str:
    """Say it back."""
    return text * times


@tool(timeout=0.02)
async def hang(number: int = 0) -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


patient = replace(hang, timeout=60.0)


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    """Jobs that are given up on soon."""
    opened = Jobs(reap=0.02)
    yield opened
    await opened.aclose()


class Rig:
    """Makes the calls of a turn."""

    def __init__(self, jobs: Jobs, directory: Path) -> None:
        self.jobs = jobs
        self.results = Results(directory, limit=2_000)

    def offer(
        self,
        *tools: Tool,
        gates: tuple[Gate, ...] = (),
        gate_seconds: float = 5,
        batch_seconds: float = 60,
        pictures: int = 8,
    ) -> ToolCalls:
        return ToolCalls(
            Offer.of(tools),
            CONTEXT,
            results=self.results,
            jobs=self.jobs,
            gates=gates,
            limits=CallLimits(batch=batch_seconds, gate=gate_seconds, pictures=pictures),
        )

    async def carry_out(self, offered: Tool, arguments: str = "", *gates: Gate) -> CallResult:
        call = wish(offered.name, arguments)
        return await self.offer(offered, gates=gates).carry_out(call, CONTEXT)


@pytest.fixture
def rig(jobs: Jobs, tmp_path: Path) -> Rig:
    return Rig(jobs, tmp_path / "artifacts")


# --- finding


async def test_a_call_gets_its_arguments_and_gives_its_text(rig: Rig) -> None:
    result = await rig.carry_out(echo, '{"text": "ab", "times": 2}')

    assert result == CallResult(text="abab")


async def test_an_unknown_tool_is_answered_with_the_names_that_are_near(rig: Rig) -> None:
    calls = rig.offer(echo, hang)

    near = await calls.carry_out(wish("ecko"), CONTEXT)
    far = await calls.carry_out(wish("q" * 1_000), CONTEXT)
    none = await rig.offer().carry_out(wish("echo"), CONTEXT)

    assert near == CallResult(text="There is no tool 'ecko': did you mean echo?", status="error")
    assert far.text == f"There is no tool '{'q' * 64}': there are echo, hang."
    assert none.text == "There is no tool 'echo': there are none here."


async def test_the_model_sees_the_schemas_in_the_order_given(rig: Rig) -> None:
    calls = rig.offer(hang, echo)

    assert calls.schemas == (hang.schema, echo.schema)
    assert calls.schemas is calls.schemas


# --- arguments


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{bad}", "no valid JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"text": "a",\n x}', 'line 2, column 2, after \'{"text": "a",\\n \''),
        ('{"text": "a', 'end too soon, after \'{"text": "a\''),
        ('{"text": ', "Send them whole"),
        ('{"text": "a"} {}', "no valid JSON: Extra data"),
        ('{"text": "a\n"}', "Invalid control character"),
        ("\ufeff{}", "no valid JSON"),
        ("[1]", "must be one JSON object (it takes text, times?), not a list"),
        ("null", "not null"),
        ('"text"', "not a str"),
        ('{"text": "a", "text": "b"}', "have 'text' twice"),
        ('{"text": {"a": 1, "a": 2}}', "have 'a' twice"),
        ('{"text": "a", "times": NaN}', "times: expected a number or null, got nan"),
        ('{"text": ["x", {"y": -Infinity}]}', "text[1].y: expected a number or null, got -inf"),
        ('{"times": 1e999}', "times: expected a number or null, got inf"),
        ('{"text": ' + "[" * 100 + "]" * 100 + "}", "nested more than 64 deep"),
        ("[" * 100_000, "nested more than 64 deep"),
        ('{"times": ' + "9" * 5_000 + "}", "A number in the arguments is too long"),
        ('{"text": "' + "a" * 4_000_000 + '"}', "longer than 4,000,000 characters"),
        ("{}", "do not fit (it takes text, times?):\ntext: is missing"),
        ("  ", "text: is missing"),
        ('{"text": 1}', "text: Input should be a valid string (got 1)"),
        ('{"text": "a", "times": "many"}', "times: Input should be a valid integer"),
        ('{"text": "a", "color": "red"}', "color: there is no such argument"),
    ],
)
async def test_wrong_arguments_are_answered_with_their_place_and_what_was_expected(
    rig: Rig, text: str, fault: str
) -> None:
    result = await rig.carry_out(echo, text)

    assert fault in result.text
    assert result.status == "error"
    assert len(result.text) < 500


async def test_no_arguments_at_all_are_an_empty_object(rig: Rig) -> None:
    @tool
    async def now() -> str:
        """Tell the time."""
        return "noon"

    for text in ("", " \n", "{}"):
        assert (await rig.carry_out(now, text)).text == "noon"


async def test_of_many_faults_the_first_are_told_and_the_others_counted(rig: Rig) -> None:
    @tool
    async def add(numbers: list[int]) -> str:
        """Add."""
        return str(sum(numbers))

    lines = (await rig.carry_out(add, json.dumps({"numbers": ["x" * 10_000] * 50}))).text.split("\n")

    assert lines[1].startswith("numbers[0]: Input should be a valid integer")
    assert lines[-1] == "and 42 more"
    assert len(lines) == 10
    assert all(len(line) <= 300 for line in lines)


async def test_a_fault_that_a_tools_own_check_finds_is_told_in_its_words(rig: Rig) -> None:
    class Day(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def _is_one(cls, name: str) -> str:
            if name != "monday":
                raise ValueError("only monday will do")
            return name

    async def plan(day: Day) -> str:
        """Plan."""
        return day.name

    text = (await rig.carry_out(declare(plan), '{"day": {"name": "friday"}}')).text

    assert text.endswith("day.name: only monday will do (got 'friday')")


async def test_half_a_character_does_not_reach_the_tool(rig: Rig) -> None:
    result = await rig.carry_out(echo, r'{"text": "a\ud800b"}')

    assert result.text == "a\N{REPLACEMENT CHARACTER}b"


async def test_a_tool_that_takes_any_object_gets_all_of_it(rig: Rig) -> None:
    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")

    async def pass_on(**arguments: object) -> str:
        return json.dumps(arguments)

    form = Form(echo.schema, Anything)
    result = await rig.carry_out(replace(echo, form=lambda: form, handler=pass_on), '{"a": {"b": [1]}}')

    assert result.text == '{"a": {"b": [1]}}'


values = st.recursive(st.none() | st.floats() | st.integers() | st.text(), st.lists)
objects = st.dictionaries(st.sampled_from(["text", "times", "color"]), values)


@given(st.text() | values.map(json.dumps) | objects.map(json.dumps))
def test_whatever_a_model_writes_is_read_or_refused_with_a_word(text: str) -> None:
    try:
        arguments = parse_arguments(echo, text)
    except ToolFault as fault:
        arguments = {"text": str(fault), "times": 1}

    assert isinstance(arguments["text"], str)
    assert isinstance(arguments["times"], int)


async def test_the_tool_learns_for_whom_it_is_called(rig: Rig) -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext, what: str) -> str:
        """Look."""
        seen.append(context)
        return what

    result = await rig.carry_out(look, '{"what": "there"}')

    assert result.text == "there"
    assert seen == [replace(CONTEXT, call_id="call_1")]


async def test_the_model_can_not_say_for_whom_it_calls(rig: Rig) -> None:
    @tool
    async def look(context: ToolContext) -> str:
        """Look."""
        return context.person

    assert "context: there is no such argument" in (await rig.carry_out(look, '{"context": {}}')).text


# --- gates


class Note(Gate):
    """Lets pass, and notes what it saw."""

    def __init__(self, **changes: object) -> None:
        self.seen: list[dict[str, object]] = []
        self._changes = changes

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        self.seen.append(dict(arguments))
        return {**arguments, **self._changes} if self._changes else arguments


class Judge(Gate):
    """Does what it is told."""

    def __init__(self, act: Callable[[Arguments], object]) -> None:
        self._act = act

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        return self._act(arguments)  # type: ignore[return-value]  # that is what is tried


def broken(arguments: Arguments) -> object:
    raise RuntimeError("secret detail")


def meddling(arguments: Arguments) -> object:
    arguments["times"] = 3  # type: ignore[index]  # that is what is tried
    return arguments


async def test_gates_are_asked_in_order_and_see_what_those_before_have_changed(rig: Rig) -> None:
    first, second, last = Note(), Note(text="b"), Note()

    result = await rig.carry_out(echo, '{"text": "a"}', first, second, last)

    assert result.text == "b"
    assert first.seen == second.seen == [{"text": "a", "times": 1}]
    assert last.seen == [{"text": "b", "times": 1}]


async def test_what_a_gate_gives_is_validated_like_what_the_model_wrote(rig: Rig) -> None:
    changed = await rig.carry_out(echo, '{"text": "a"}', Note(times="2"))
    wrong = await rig.carry_out(echo, '{"text": "a"}', Note(times="many"))
    more = await rig.carry_out(echo, '{"text": "a"}', Note(color="red"))

    assert changed.text == "aa"
    assert wrong.text.startswith("Not made: a check changed the arguments into wrong ones.")
    assert "times: Input should be a valid integer" in wrong.text
    assert more.status == "error"


async def test_a_call_that_is_denied_is_not_made_and_the_model_is_told_why(rig: Rig) -> None:
    after = Note()

    result = await rig.carry_out(echo, '{"text": "a"}', Judge(lambda _: Denied(reason="Ann said no.")), after)

    assert result == CallResult(text="Not allowed: Ann said no.", status="error")
    assert after.seen == []


@pytest.mark.parametrize("act", [broken, meddling, lambda _: None, lambda _: sys.exit(1)])
async def test_a_gate_that_breaks_denies(
    rig: Rig, act: Callable[[Arguments], object], caplog: pytest.LogCaptureFixture
) -> None:
    made = Note()

    result = await rig.carry_out(echo, '{"text": "a"}', Judge(act), made)

    assert made.seen == []
    assert result.status == "error"
    assert "secret" not in result.text
    assert any(record.exc_info for record in caplog.records)


async def test_a_gate_that_hangs_denies(rig: Rig) -> None:
    class Hanging(Gate):
        async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments:
            await asyncio.Event().wait()
            return arguments

    calls = rig.offer(echo, gates=(Hanging(),), gate_seconds=0.02)

    result = await calls.carry_out(wish("echo", '{"text": "a"}'), CONTEXT)

    assert result.text == "Not allowed: the check of this call took too long, so it was not made"


async def test_no_gate_is_asked_about_arguments_that_do_not_fit(rig: Rig) -> None:
    gate = Note()

    await rig.carry_out(echo, "{}", gate)

    assert gate.seen == []


# --- running


async def test_a_tool_that_takes_too_long_is_stopped_and_cleans_up(rig: Rig) -> None:
    cleaned: list[str] = []

    @tool(timeout=0.02)
    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")
        return "never"

    result = await rig.carry_out(slow)

    assert result.text.startswith("Stopped after 0.02 s.")
    assert (result.status, cleaned) == ("error", ["up"])


async def test_a_result_that_comes_while_the_tool_is_being_stopped_comes_too_late(rig: Rig) -> None:
    @tool(timeout=0.02)
    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"
        return "never"

    assert (await rig.carry_out(slow)).text.startswith("Stopped after 0.02 s.")


async def test_a_tool_that_ignores_being_stopped_does_not_hold_up_the_turn(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    release, stops = asyncio.Event(), 0

    @tool(timeout=0.02)
    async def stubborn() -> str:
        """Never stop."""
        nonlocal stops
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                stops += 1
        return "done"

    result = await rig.carry_out(stubborn)
    await rig.jobs.aclose()
    release.set()

    assert "can't be stopped: it may still take effect" in result.text
    assert stops == 2
    assert {"job does not stop", "job left behind"} <= set(caplog.messages)


async def test_a_tool_in_a_thread_runs_on_and_the_model_is_told(rig: Rig) -> None:
    release = threading.Event()

    @tool(timeout=0.02)
    def blocking() -> str:
        """Block."""
        release.wait(30)
        return "done"

    result = await rig.carry_out(blocking)
    release.set()

    assert "took more than 0.02 s, and what it does can't be stopped" in result.text


async def test_a_tool_that_is_not_async_does_not_block_the_others(rig: Rig) -> None:
    meet = threading.Barrier(2, timeout=30)

    @tool
    def blocking(number: int) -> str:
        """Wait for the other one."""
        meet.wait()
        return str(number)

    results = await rig.offer(blocking).carry_out_all(wishes("blocking", 2))

    assert [result.text for result in results] == ["0", "1"]


async def test_a_tool_that_waits_for_a_person_has_no_other_time_limit(rig: Rig) -> None:
    @tool(timeout=0.01, is_waiting=True)
    async def ask() -> str:
        """Ask."""
        await asyncio.sleep(0.05)
        return "yes"

    assert (await rig.carry_out(ask)).text == "yes"


async def test_a_fault_is_told_to_the_model_in_its_own_words(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def open_door(door: str = "") -> str:
        """Open."""
        raise ToolFault(door and f"The {door} door is locked: ring first.")

    told = await rig.carry_out(open_door, '{"door": "front"}')
    silent = await rig.carry_out(open_door)

    assert told == CallResult(text="The front door is locked: ring first.", status="error")
    assert silent.text == "The tool failed."
    assert caplog.records == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("secret"), "ValueError"),
        (StoreError("secret"), "StoreError"),
        (TimeoutError("secret"), "TimeoutError"),
        (ExceptionGroup("secret", [OSError("secret")]), "ExceptionGroup"),
        (SystemExit("secret"), "RuntimeError"),
        (asyncio.CancelledError("secret"), "RuntimeError"),
    ],
)
async def test_what_breaks_a_tool_is_logged_and_not_told(
    rig: Rig, error: BaseException, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def bad() -> str:
        """Break."""
        raise error

    result = await rig.carry_out(bad)

    assert result == CallResult(text=f"The tool failed: {kind}", status="error")
    [record] = caplog.records
    assert (record.getMessage(), record.levelno) == ("tool failed", logging.ERROR)
    assert record.exc_info


@pytest.mark.parametrize("given", [None, 5, {"a": 1}, b"bytes", ToolOutput(text=None)])  # type: ignore[arg-type]
async def test_a_tool_that_gives_no_text_has_failed(rig: Rig, given: object) -> None:
    async def odd() -> object:
        """Be odd."""
        return given

    assert (await rig.carry_out(declare(odd))).text == "The tool failed: TypeError"


async def test_a_tool_that_has_nothing_to_say_says_so(rig: Rig) -> None:
    assert (await rig.carry_out(echo, '{"text": ""}')).text == "(nothing)"


async def test_all_that_a_tool_gives_arrives(rig: Rig, tmp_path: Path) -> None:
    file, picture = Attachment(kind="file", path="/a"), picture_at(tmp_path / "b")

    @tool(rounds=2)
    async def give() -> ToolOutput:
        """Give."""
        return ToolOutput(text="all", attachments=(file,), images=(picture,), is_final=True, has_spoken=True)

    calls, call = rig.offer(give), wish("give")
    result = await calls.carry_out(call, CONTEXT)
    event = await calls.call(call)

    assert result == CallResult(
        text="all", attachments=(file,), images=(picture,), is_final=True, has_spoken=True, rounds=2
    )
    assert (event.call, event.content, event.status, event.rounds) == (call, "all", "ok", 2)
    assert (event.attachments, event.is_final, event.has_spoken) == ((file,), True, True)
    assert [(shown.mime, shown.data) for shown in event.pictures] == [("image/png", png())]


def picture_at(path: Path) -> Attachment:
    path.write_bytes(png())
    return Attachment(kind="image", path=str(path))


async def test_pictures_that_can_not_be_shown_are_told_of(rig: Rig, tmp_path: Path) -> None:
    gone = Attachment(kind="image", path=str(tmp_path / "gone"))

    @tool
    async def give() -> ToolOutput:
        """Give."""
        return ToolOutput(text="both", images=(gone, picture_at(tmp_path / "here")))

    event = await rig.offer(give).call(wish("give"))

    assert len(event.pictures) == 1
    assert event.content.startswith("both\n[1 not shown: no picture that models take")


async def test_the_results_of_a_step_share_the_room_for_pictures(rig: Rig, tmp_path: Path) -> None:
    pictures = tuple(picture_at(tmp_path / f"{number}") for number in range(5))

    @tool
    async def give() -> ToolOutput:
        """Give."""
        return ToolOutput(text="some", images=pictures)

    asked = [wish("give", number=number) for number in range(3)]
    events = await rig.offer(give).call_all(asked, should_skip=lambda: False)

    assert [len(event.pictures) for event in events] == [5, 3, 0]
    assert [event.content.partition("\n")[2][:12] for event in events] == ["", "[2 not shown", "[5 not shown"]


async def test_a_model_that_sees_nothing_is_told_so_beside_the_result(rig: Rig, tmp_path: Path) -> None:
    @tool
    async def give() -> ToolOutput:
        """Give."""
        return ToolOutput(text="one", images=(picture_at(tmp_path / "a"),))

    event = await rig.offer(give, pictures=0).call(wish("give"))

    assert event.pictures == ()
    assert event.content == "one\n[1 not shown: the model cannot see]"


async def test_a_result_that_is_too_long_can_be_read_on(rig: Rig) -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    calls = rig.offer(echo, *rig.results.tools())

    short = await calls.carry_out(wish("echo", json.dumps({"text": text})), CONTEXT)
    rest = await calls.carry_out(wish("read_result", '{"id": "r1", "offset": 0}'), CONTEXT)

    assert len(short.text) <= 2_000
    assert 'read_result("r1"' in short.text
    assert rest.text.startswith(text[:1_800])


async def test_a_fault_is_not_longer_than_a_result(rig: Rig) -> None:
    @tool
    async def bad() -> str:
        """Break."""
        raise ToolFault("x" * 100_000)

    assert len((await rig.carry_out(bad)).text) <= 2_000


async def test_who_stops_the_turn_stops_the_tool(rig: Rig) -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return "never"

    turn = asyncio.create_task(rig.offer(slow).carry_out(wish("slow"), CONTEXT))
    await begun.wait()
    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn
    assert cleaned.is_set()


async def test_a_call_that_is_stopped_before_it_begins_leaves_nothing(rig: Rig) -> None:
    turn = asyncio.create_task(rig.offer(hang).carry_out(wish("hang"), CONTEXT))
    await asyncio.sleep(0)
    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn


# --- many


async def test_a_hundred_calls_run_eight_at_once_and_answer_in_order(rig: Rig) -> None:
    running, most, all_slots = 0, 0, asyncio.Event()

    @tool
    async def work(number: int) -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == AT_ONCE:
            all_slots.set()
        await all_slots.wait()
        for _ in range(number % 7):
            await asyncio.sleep(0)
        running -= 1
        return str(number)

    results = await rig.offer(work).carry_out_all(wishes("work", 100))

    assert [result.text for result in results] == [str(number) for number in range(100)]
    assert most == AT_ONCE


async def test_no_calls_have_no_results(rig: Rig) -> None:
    assert await rig.offer(echo).carry_out_all([]) == []


async def test_a_call_that_fails_does_not_touch_those_beside_it(rig: Rig) -> None:
    calls = [
        wish("echo", '{"text": "a"}'),
        wish("echo", "{"),
        wish("hang"),
        wish("nothing"),
        wish("echo", '{"text": "b"}'),
    ]

    results = await rig.offer(echo, hang).carry_out_all(calls)

    assert [result.status for result in results] == ["ok", "error", "error", "error", "ok"]
    assert (results[0].text, results[4].text) == ("a", "b")


async def test_when_time_is_up_what_has_ended_stays_and_the_rest_says_how_far_it_came(rig: Rig) -> None:
    calls = [wish("echo", '{"text": "a"}'), *wishes("hang", AT_ONCE + 2)]

    results = await rig.offer(echo, patient, batch_seconds=0.1).carry_out_all(calls)

    assert results[0] == CallResult(text="a")
    begun, waiting = results[1 : AT_ONCE + 1], results[AT_ONCE + 1 :]
    assert {result.text for result in begun} == {
        "Stopped: the calls of this step took more than 0.1 s together. What it had done stands."
    }
    assert {result.text for result in waiting} == {
        "Not started: the other calls of this step took more than 0.1 s."
    }
    assert {result.status for result in results[1:]} == {"error"}


async def test_when_time_is_up_a_tool_that_ignores_it_does_not_hold_up_the_others(rig: Rig) -> None:
    release = asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Never stop."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    calls = [wish("stubborn"), wish("echo", '{"text": "a"}')]
    results = await rig.offer(stubborn, echo, batch_seconds=0.05).carry_out_all(calls)
    release.set()

    assert [result.status for result in results] == ["error", "ok"]


async def test_time_in_which_a_person_is_waited_for_is_not_counted(rig: Rig) -> None:
    @tool(is_waiting=True)
    async def ask() -> str:
        """Ask."""
        await asyncio.sleep(0.15)
        return "yes"

    class Approval(Gate):
        async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments:
            await asyncio.sleep(0.1)
            return arguments

    calls = rig.offer(ask, echo, patient, gates=(Approval(),), batch_seconds=0.05)
    results = await calls.carry_out_all([wish("ask"), wish("echo", '{"text": "a"}'), wish("hang")])

    assert [result.text for result in results[:2]] == ["yes", "a"]
    assert results[2].text.startswith("Stopped: the calls of this step")


async def test_calls_that_have_not_begun_are_skipped_when_somebody_speaks(rig: Rig) -> None:
    made: list[int] = []

    @tool
    async def work(number: int) -> str:
        """Work."""
        made.append(number)
        return str(number)

    results = await rig.offer(work).carry_out_all(wishes("work", AT_ONCE + 3), should_skip=lambda: bool(made))

    assert [result.text for result in results[:AT_ONCE]] == [str(number) for number in range(AT_ONCE)]
    assert results[AT_ONCE:] == [CallResult(text=SKIPPED, status="error")] * 3
    assert made == list(range(AT_ONCE))


async def test_who_stops_the_turn_stops_all_its_calls(rig: Rig) -> None:
    begun: list[int] = []
    all_begun = asyncio.Event()
    cleaned: list[int] = []

    @tool
    async def slow(number: int) -> str:
        """Take long."""
        begun.append(number)
        if len(begun) == AT_ONCE:
            all_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(number)
        return "never"

    turn = asyncio.create_task(rig.offer(slow).carry_out_all(wishes("slow", 20)))
    await all_begun.wait()
    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn
    assert sorted(cleaned) == list(range(AT_ONCE))


# --- jobs


async def test_closing_stops_what_still_runs() -> None:
    jobs, begun = Jobs(reap=5), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    waiting = asyncio.create_task(jobs.run(slow, seconds=None, name="slow"))
    await begun.wait()
    await jobs.aclose()

    with pytest.raises(RuntimeError, match="slow cancelled itself"):
        await waiting


async def test_a_countdown_that_was_left_never_ends() -> None:
    expired = asyncio.Event()

    with Countdown(0.01, expired.set) as countdown, countdown.paused(), countdown.paused():
        await asyncio.sleep(0.03)
    await asyncio.sleep(0.03)

    assert not expired.is_set()


async def test_a_countdown_goes_on_when_the_last_pause_is_over() -> None:
    expired = asyncio.Event()

    with Countdown(0.01, expired.set) as countdown:
        with countdown.paused():
            with countdown.paused():
                pass
            await asyncio.sleep(0.03)
            assert not expired.is_set()
        async with asyncio.timeout(5):
            await expired.wait()


class Labels:
    """Marks what it is given."""

    async def take_in(
        self,
        tool: Tool,
        arguments: Arguments,
        text: str,
        *,
        status: Status,
        origins: tuple[tuple[Source, str], ...] = (),
    ) -> str:
        if "break" in text:
            raise ValueError("broken")
        return f"<{tool.name} {status}>{text}"


@pytest.mark.parametrize(
    ("given", "shown"),
    [("fine", "<work ok>fine"), ("fault", "<work error>fault"), ("break", "The tool failed: ValueError")],
)
async def test_the_model_reads_what_the_screen_has_made_of_a_result(rig: Rig, given: str, shown: str) -> None:
    def work() -> str:
        """Work."""
        if given == "fault":
            raise ToolFault(given)
        return given

    offered = declare(work)
    calls = rig.offer(offered)
    calls.watch = Watch(screen=Labels())
    result = await calls.carry_out(wish("work"), CONTEXT)

    assert result.text == shown


async def test_each_denial_of_a_gate_is_noted_with_its_name_and_reason(rig: Rig) -> None:
    class Never:
        def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
            return False

        async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Denied:
            return Denied(reason="never")

    def work() -> str:
        """Work."""
        return ""

    noted: list[tuple[str, str, str]] = []
    calls = rig.offer(declare(work), gates=(Never(),))
    calls.watch = Watch(
        note_denied=lambda tool, context, gate, reason: noted.append((gate, reason, tool.name))
    )
    await calls.carry_out(wish("work"), CONTEXT)

    assert noted == [("Never", "never", "work")]
