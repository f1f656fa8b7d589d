"""The commands as a whole: found, refused, explained, audited; no text makes them fail."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.commands.call import Answer, Call, Command
from bot.commands.registry import ADMINS_ONLY, OPERATORS_ONLY, Commands
from bot.commands.spec import Argument, CommandSpec
from bot.errors import StoreError
from bot.messages import Trigger
from memory.store import Store
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, Desk, Notes, message

NATIVE_ADMIN = {
    *("info", "setstatus", "setname", "allowuser", "blockuser"),
    *("allowchannel", "blockchannel", "restrictions", "converse"),
}
FUZZED = (
    *(
        "new",
        "sessions",
        "resume",
        "rename",
        "reset",
        "clear",
        "delete",
        "status",
        "model",
        "backend",
        "help",
    ),
    *("usage", "context", "whoami", "admin", "admin allowuser", "admin restrictions", "admin journal", ""),
)
REST = Argument(name="words", help="What to say", kind="rest")


async def echo(call: Call) -> Answer:
    return Answer(text=f"echo: {call.word('words')}")


async def break_down(call: Call) -> Answer:
    raise StoreError("the disk is full")


def command(name: str = "echo", **changes: object) -> Command:
    given: dict[str, object] = {"name": name, "help": "Say it again", "arguments": (REST,)}
    return Command(CommandSpec(**(given | changes)), echo)  # type: ignore[arg-type]  # typed by the names above


def registry(*commands: Command) -> Commands:
    return Commands(commands, admins=lambda: (), audit=Notes())


@pytest.mark.parametrize("text", ["/echo hi", "!echo hi", "/ECHO hi", "/echo@bot hi", " /echo  hi "])
async def test_a_command_is_obeyed_however_it_is_written(text: str) -> None:
    answer = await registry(command()).run(message(text))

    assert answer.text == "echo: hi"


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("/echo", "ours"),
        ("/echo@Bot", "ours"),
        ("/echo@other", "others"),
        ("!echo@other hi", "others"),
        ("/ecoh", "ours"),
        ("!ecoh", None),
        ("!important", None),
        ("/usr/bin/x is broken", None),
        ("hello", None),
    ],
)
def test_the_caller_learns_whose_a_command_is(text: str, whose: str | None) -> None:
    commands = registry(command())

    assert commands.whose(text, {"bot"}) == whose
    assert commands.matches(text, {"bot"}) is (whose == "ours")


@pytest.mark.parametrize(
    ("text", "is_known"),
    [("/echo", True), ("!echo hi", True), ("/ecoh", False), ("/echo@other", False), ("hello", False)],
)
def test_in_a_group_only_a_command_that_there_is_calls_the_bot(text: str, is_known: bool) -> None:
    assert registry(command()).knows(text, {"bot"}) is is_known


async def test_where_the_bot_reads_along_it_says_nothing_to_the_commands_of_others() -> None:
    answer = await registry(command()).run(replace(message("/play"), may_be_silent=True))

    assert (answer.text, answer.reason) == ("", "silent")


async def test_a_command_that_the_loop_obeys_is_explained_here(desk: Desk) -> None:
    answer = await desk.says("/kill all")

    assert answer.text.startswith("- `/kill [what]`: Stop the answer that is being written")


def test_without_a_name_of_our_own_every_bot_is_us() -> None:
    assert registry(command()).matches("/echo@anybody")


@given(
    text=st.text(alphabet=st.characters(exclude_characters="/!")) | st.from_regex(r"[/!] .*", fullmatch=True)
)
def test_ordinary_text_is_no_command(text: str) -> None:
    assert not registry(command()).matches(text)


async def test_an_unknown_command_gets_the_nearest_one(desk: Desk) -> None:
    answer = await desk.says("/staus")

    assert answer.text == "There is no command `/staus`. Did you mean `/status`? `/help` lists them all."
    assert answer.reason == "error"


async def test_the_nearest_command_is_one_that_the_person_may_use(desk: Desk) -> None:
    mine, theirs = await desk.says("/admin restrat"), await desk.says("/admin restrat", sender=BOSS)

    assert "/admin" not in mine.text.removeprefix("There is no command `/admin restrat`")
    assert "`/admin restart`" in theirs.text


async def test_a_group_without_its_second_word_is_explained(desk: Desk) -> None:
    assert "There is no command `/admin`" in (await desk.says("/admin", sender=BOSS)).text
    assert "`/admin info`" in (await desk.says("/help admin", sender=BOSS)).text


async def test_a_command_that_is_used_wrongly_shows_its_usage(desk: Desk) -> None:
    answer = await desk.says("/rename")

    assert answer.text == "title is missing.\nUsage: `/rename <title>`\nGive this session a title."


async def test_an_error_of_ours_is_told_and_not_raised() -> None:
    commands = registry(Command(CommandSpec(name="x", help="Break down"), break_down))

    answer = await commands.run(message("/x"))

    assert (answer.text, answer.reason) == ("That did not work: the disk is full", "error")


async def test_what_no_person_said_is_no_command() -> None:
    answer = await registry(command()).run(message("/echo hi", trigger=Trigger.SCHEDULE))

    assert answer.reason == "error"


@pytest.mark.parametrize(
    "wrong",
    [
        command("Echo"),
        command("echo it twice"),
        command("e" * 33),
        command(help=""),
        command(help="x" * 101),
        command(help="two\nlines"),
        command(arguments=(REST, REST)),
        command("help"),
        command("other", native="help"),
        Command(CommandSpec(name="x", help="x"), lambda call: echo(call)),
    ],
)
def test_a_command_that_can_not_be_is_refused_when_it_is_registered(wrong: Command) -> None:
    with pytest.raises(ValueError, match="command"):
        registry(wrong)


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="taken"):
        registry(command(), command())
    with pytest.raises(ValueError, match="taken"):
        registry(command("admin info"), command("admin"))


async def test_the_help_lists_every_command_that_one_may_use(desk: Desk) -> None:
    ours, theirs = (await desk.says("/help")).text, (await desk.says("/help", sender=BOSS)).text

    for spec in desk.commands.specs:
        assert (f"`/{spec.name}" in ours) is not spec.is_admin, spec.name
        assert f"`/{spec.name}" in theirs, spec.name


@pytest.mark.parametrize("asked", ["delete", "/delete", "DELETE"])
async def test_the_help_tells_about_one_command(desk: Desk, asked: str) -> None:
    answer = await desk.says(f"/help {asked}")

    assert answer.text.startswith("- `/delete [n] [yes|no]`: Delete a session\n  - `n`: ")


async def test_the_help_hides_what_one_may_not_use(desk: Desk) -> None:
    assert "There is no command" in (await desk.says("/help admin restart")).text


async def test_what_the_platforms_list_is_within_their_rules(desk: Desk) -> None:
    native = {spec.native: spec for spec in desk.commands.native}

    assert {name for name, spec in native.items() if spec.is_admin} == NATIVE_ADMIN
    assert len(native) == len(desk.commands.native) <= 100
    for name, spec in native.items():
        assert re.fullmatch(r"[a-z0-9_]{1,32}", name or "")
        assert 1 <= len(spec.help) <= 100
        assert all(1 <= len(argument.help) <= 100 for argument in spec.arguments)
        needs = [argument.is_required for argument in spec.arguments]
        assert needs == sorted(needs, reverse=True), "Discord wants what is required first"


async def test_a_name_of_a_menu_is_the_command_itself(desk: Desk) -> None:
    assert (await desk.says("/converse", sender=BOSS)).text == (
        await desk.says("/admin converse", sender=BOSS)
    ).text


async def test_hints_are_for_those_who_may_use_them(desk: Desk) -> None:
    for_all = {hint.name for hint in desk.commands.hints(is_admin=False)}
    for_admins = {hint.name for hint in desk.commands.hints()}

    assert {"/help", "/new", "/kill"} <= for_all
    assert for_admins - for_all == {f"/{spec.name}" for spec in desk.commands.specs if spec.is_admin}


async def test_every_admin_command_is_refused_to_others_and_audited(desk: Desk) -> None:
    specs = [spec for spec in desk.commands.specs if spec.is_admin]
    for spec in specs:
        assert (await desk.says(f"/{spec.name} a b")).text == ADMINS_ONLY

    assert [(event.action, event.status, event.severity) for event in desk.audit.events] == [
        (f"command {spec.name}", "denied", "warning") for spec in specs
    ]
    assert {event.actor for event in desk.audit.events} == {"telegram:42"}
    assert desk.bot.done == []


@pytest.mark.parametrize("text", ["restart", "reload", "broadcast hi", "journal"])
async def test_an_admin_of_one_group_does_not_steer_the_whole_bot(desk: Desk, text: str) -> None:
    answer = await desk.says(f"/admin {text}", sender=GUILD_ADMIN)

    assert answer.text == OPERATORS_ONLY
    assert desk.bot.done == []
    assert [event.status for event in desk.audit.events] == ["denied"]


async def test_an_admin_is_one_at_once_when_the_settings_change(desk: Desk) -> None:
    desk.admins.add("telegram:42")

    assert (await desk.says("/admin info")).reason == "done"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(FUZZED),
    rest=st.text(max_size=30)
    | st.sampled_from(["yes", "1", "1 yes", "2 yes", "default", "open yes", "forget x"]),
    is_boss=st.booleans(),
)
async def test_no_text_makes_a_command_raise(name: str, rest: str, is_boss: bool, tmp_path: Path) -> None:
    home = tmp_path / "fuzz"
    home.mkdir(exist_ok=True)
    async with Store(home, synchronous="NORMAL") as store:
        desk = Desk(home, store)
        answer = await desk.says(f"/{name} {rest}", sender=BOSS if is_boss else ANN)

    assert answer.text
