"""Plugins: found, trusted or not, loaded one by one, and none keeps the bot from starting."""

import asyncio
import os
import py_compile
import shutil
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bot.extension import Parts
from bot.hooks import AgentEnded, BeforeAgentStart, Hooks, MessageReceived, turn_state
from bot.operations.plugins import list_plugins
from bot.plugins import FOLDER, Plugin, load_plugins
from bot.settings import Settings
from bot.settings.plugins import PluginsSettings
from tests.factories import inbound

EXAMPLE = Path(__file__).parent.parent / "examples" / "own_plugin.py"
SOON = 0.2  # seconds; for plugins that hang
HELLO = '''
from bot import command, hook, tool

__version__ = "1.2"

@tool
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()

def setup(api):
    @api.command
    def hello(name: str = "you") -> str:
        """Say hello"""
        return f"Hello {name}!"

    api.hook("message_received", lambda event: None, priority=3)
'''
MARKED = '''
from bot import hook

@hook("message_received")
def look(event):
    """Look at it."""
'''


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """Forget what was imported."""
    yield
    for name in [name for name in sys.modules if name.startswith("switchboard_plugin_")]:
        del sys.modules[name]


def write(home: Path, code: str, name: str = "hello.py", *, mode: int = 0o600) -> Path:
    """A plugin in the folder of a bot, written by whoever runs it."""
    file = home / FOLDER / name
    for folder in reversed(file.relative_to(home).parents[:-1]):
        (home / folder).mkdir(mode=0o700, exist_ok=True)
    file.write_text(code, "utf-8")
    file.chmod(mode)
    return file


def settings(**sections: Any) -> PluginsSettings:
    return PluginsSettings.model_validate(sections)


async def load(home: Path, *, seconds: float = 20, **sections: Any) -> tuple[Plugin, ...]:
    return await load_plugins(settings(**sections), home, seconds=seconds)


async def fault_of(home: Path, **sections: Any) -> str:
    """Why the only plugin is not in use."""
    (plugin,) = await load(home, **sections)
    assert plugin.fault is not None
    assert plugin.parts == Parts()
    return plugin.fault


# --- finding and loading


async def test_without_a_folder_there_are_no_plugins(home: Path) -> None:
    assert await load(home) == ()


async def test_a_file_registers_what_it_marks_and_what_it_sets_up(home: Path) -> None:
    file = write(home, HELLO)

    (plugin,) = await load(home)

    assert plugin.fault is None
    assert (plugin.name, plugin.version, plugin.place) == ("hello", "1.2", str(file))
    assert [tool.name for tool in plugin.parts.tools] == ["shout"]
    assert [command.spec.name for command in plugin.parts.commands] == ["hello"]
    (hook,) = plugin.parts.hooks
    assert (hook.plugin, hook.priority, hook.point) == ("hello", 3, MessageReceived)


async def test_a_file_with_marks_alone_needs_no_setup(home: Path) -> None:
    write(home, MARKED)

    (plugin,) = await load(home)

    assert plugin.fault is None
    assert [hook.plugin for hook in plugin.parts.hooks] == ["hello"]


async def test_a_folder_is_a_plugin_whose_files_import_each_other(home: Path) -> None:
    write(
        home,
        "from .words import GREETING\ndef setup(api):\n    api.logger.info(GREETING)\n",
        "shop/__init__.py",
    )
    write(home, "GREETING = 'hi'\n", "shop/words.py")

    (plugin,) = await load(home)

    assert (plugin.name, plugin.fault) == ("shop", None)


async def test_plugins_are_loaded_in_the_order_of_their_names(home: Path) -> None:
    for name in ("b.py", "c.py", "a.py"):
        write(home, MARKED, name)

    assert [plugin.name for plugin in await load(home)] == ["a", "b", "c"]


async def test_what_begins_with_a_dot_or_a_line_and_what_is_no_python_is_left_alone(home: Path) -> None:
    for name in ("_draft.py", ".hidden.py", "notes.txt", "__pycache__/x.py"):
        write(home, "raise SystemExit", name)

    assert await load(home) == ()


async def test_an_installed_package_brings_its_plugin(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "shop-3.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 3.1\n")
    (info / "entry_points.txt").write_text(
        "[switchboard.plugins]\nshop = shop_for_tests:begin\nwhole = shop_for_tests\n"
    )
    (site / "shop_for_tests.py").write_text(
        "from bot.settings import Section\nclass Settings(Section):\n    city: str = 'Paris'\n"
        "def begin(api):\n    api.command(lambda: api.settings.city, name=api.name, help='Tell the city')\n"
        "setup = begin\n"
    )
    monkeypatch.syspath_prepend(str(site))
    assert PathDistribution(info).version == "3.1"

    shop, whole = await load(home, shop={"city": "Rome"})

    assert (shop.name, shop.version, shop.fault) == ("shop", "3.1", None)
    assert (whole.name, whole.version, whole.fault) == ("whole", "3.1", None)
    assert shop.place == "shop_for_tests:begin"


async def test_a_plugin_is_read_anew_at_each_start(home: Path) -> None:
    file = write(home, HELLO)
    await load(home)
    file.write_text(HELLO.replace("1.2", "1.3"))

    (plugin,) = await load(home)

    assert plugin.version == "1.3"


# --- faults


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def setup(api):\n    1 / 0", "ZeroDivisionError"),
        ("def setup(api", "SyntaxError"),
        ("import no_such_module", "it needs no_such_module: install it"),
        ("import sys; sys.exit(3)", "it raised SystemExit"),
        ("def setup(api):\n    raise SystemExit", "it raised SystemExit"),
        ("raise KeyboardInterrupt", "it raised KeyboardInterrupt"),
        ("async def setup(api): ...", "not async"),
        ("setup = 7", "setup is a function"),
        ("x = 1", "no function setup"),
        ("def setup(): ...", "TypeError"),
        ("def setup(api):\n    api.hook('nonsense', print)", "no hook point 'nonsense'"),
        ("def setup(api):\n    api.tool(lambda x: x)", "tool '<lambda>'"),
        ("def setup(api):\n    raise TimeoutError('no answer')", "TimeoutError: no answer"),
        ("class Settings: ...\ndef setup(api): ...", "not made of bot.settings.Section"),
    ],
)
async def test_a_broken_plugin_is_told_of_and_the_others_are_loaded(
    home: Path, code: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(home, code, "broken.py")
    write(home, HELLO)

    broken, hello = await load(home)

    assert broken.fault is not None
    assert fault in broken.fault
    assert hello.fault is None
    logged = [vars(record) for record in caplog.records if record.msg == "plugin not loaded"]
    assert [(line["plugin"], line["cause"]) for line in logged] == [("broken", broken.fault)]


async def test_a_plugin_that_fails_half_way_brings_nothing(home: Path) -> None:
    write(home, f"{HELLO}\n    raise ValueError('half way')\n")

    assert await fault_of(home) == "half way"


async def test_a_plugin_that_hangs_is_left_behind(home: Path) -> None:
    release = threading.Event()
    sys.modules["switchboard_plugin_test_release"] = release  # type: ignore[assignment]  # reached by import
    write(home, "import sys\nsys.modules['switchboard_plugin_test_release'].wait()\n" + MARKED)

    (plugin,) = await load(home, seconds=SOON)
    release.set()

    assert plugin.fault == "it is not loaded after 0.2 s: setup only registers"
    for thread in threading.enumerate():
        if thread.name == "plugin hello":
            await asyncio.to_thread(thread.join, 5)


@pytest.mark.parametrize("name", ["Hello.py", "9lives.py", "with-dash.py", f"{'a' * 33}.py", "enabled.py"])
async def test_a_name_that_no_plugin_can_have_is_refused(home: Path, name: str) -> None:
    write(home, HELLO, name)

    assert "a plugin's name" in await fault_of(home)


async def test_the_second_plugin_of_a_name_is_refused(home: Path) -> None:
    write(home, MARKED, "shop/__init__.py")
    write(home, MARKED, "shop.py")

    first, second = await load(home)

    assert first.fault is None
    assert second.fault == f"there is another plugin of this name: {home / FOLDER / 'shop'}"


async def test_tools_and_commands_keep_the_names_they_have(home: Path) -> None:
    write(home, HELLO, "a.py")
    write(home, HELLO, "b.py")
    write(home, HELLO.replace("shout", "whisper"), "c.py")

    a, b, c = await load(home)

    assert a.fault is None
    assert b.fault == "there is another tool 'shout'"
    assert c.fault == "there is another command 'hello'"
    assert b.parts.hooks == c.parts.hooks == ()


@pytest.mark.parametrize(
    ("tools", "commands", "fault"),
    [(("shout",), (), "tool 'shout'"), ((), ("hello",), "command 'hello'")],
)
async def test_names_of_the_bot_itself_are_taken(
    home: Path, tools: tuple[str, ...], commands: tuple[str, ...], fault: str
) -> None:
    write(home, HELLO)

    (plugin,) = await load_plugins(settings(), home, taken_tools=tools, taken_commands=commands)

    assert plugin.fault == f"there is another {fault}"


# --- whom to trust


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
async def test_a_file_that_others_can_write_is_refused(home: Path, mode: int) -> None:
    file = write(home, "raise SystemExit", mode=mode)

    assert await fault_of(home) == f"others can write {file}: chmod go-w {file}"


@pytest.mark.parametrize("folder", [".", FOLDER])
async def test_a_folder_that_others_can_write_is_refused(home: Path, folder: str) -> None:
    write(home, "raise SystemExit")
    (home / folder).chmod(0o777)

    assert "others can write" in await fault_of(home)


async def test_a_link_is_judged_by_where_it_leads(home: Path, tmp_path: Path) -> None:
    write(home, MARKED, "own.py")
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "linked.py").write_text(MARKED)
    (shared / "linked.py").chmod(0o644)
    (home / FOLDER / "linked.py").symlink_to(shared / "linked.py")

    before = await load(home)
    shared.chmod(0o777)  # whoever writes here can put another file in its place
    after = await load(home)

    assert [plugin.fault for plugin in before] == [None, None]
    assert after[0].fault == f"others can write {shared}: chmod go-w {shared}"
    assert after[1].fault is None


async def test_every_file_of_a_package_is_looked_at(home: Path) -> None:
    write(home, MARKED, "shop/__init__.py")
    deep = write(home, "", "shop/parts/deep.py", mode=0o666)

    assert await fault_of(home) == f"others can write {deep}: chmod go-w {deep}"


async def test_a_link_inside_of_a_package_is_refused(home: Path, tmp_path: Path) -> None:
    write(home, MARKED, "shop/__init__.py")
    (home / FOLDER / "shop" / "parts").symlink_to(tmp_path)

    assert "is a link" in await fault_of(home)


async def test_a_pipe_is_not_waited_for(home: Path) -> None:
    write(home, MARKED, "_other.py")
    os.mkfifo(home / FOLDER / "pipe.py", 0o600)

    assert "is no file" in await fault_of(home)


async def test_a_link_that_leads_nowhere_is_refused(home: Path) -> None:
    write(home, MARKED, "_other.py")
    (home / FOLDER / "gone.py").symlink_to(home / "nothing.py")

    assert "can't be read" in await fault_of(home)


async def test_a_file_of_another_user_is_refused(home: Path) -> None:
    file = write(home, "raise SystemExit")
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(file, 12345, -1)

    assert "belongs to another user (uid 12345)" in await fault_of(home)


async def test_compiled_code_beside_a_file_is_not_run(home: Path) -> None:
    file = write(home, MARKED)
    evil = write(home, "raise RuntimeError('evil')", "_evil.py")
    cache = file.parent / "__pycache__"
    cache.mkdir()
    status = file.stat()
    evil.write_text("raise RuntimeError('evil')".ljust(status.st_size))
    os.utime(evil, ns=(status.st_atime_ns, status.st_mtime_ns))
    compiled = py_compile.compile(str(evil), str(cache / "evil.pyc"), doraise=True)
    assert compiled is not None
    shutil.copy(compiled, cache / f"hello.{sys.implementation.cache_tag}.pyc")

    (plugin,) = await load(home)

    assert plugin.fault is None


# --- settings


WITH_SETTINGS = """
from pydantic import SecretStr
from bot.settings import Section

class Settings(Section):
    city: str = "Paris"
    key: SecretStr | None = None
    days: int = 1

def setup(api):
    api.command(lambda: f"{api.settings.city} {api.data_dir}", name="where", help="Tell where")
"""


async def test_a_plugin_reads_its_part_of_the_settings(home: Path) -> None:
    write(
        home,
        WITH_SETTINGS.replace("def setup(api):", "def setup(api):\n    assert api.settings.city == 'Rome'"),
    )

    (plugin,) = await load(home, hello={"city": "Rome"})

    assert plugin.fault is None


async def test_wrong_settings_are_named_and_no_value_is_shown(home: Path) -> None:
    write(home, WITH_SETTINGS)

    fault = await fault_of(home, hello={"days": "sk-secret-text", "town": "Rome"})

    assert "[plugins.hello] days:" in fault
    assert "[plugins.hello] town:" in fault
    assert "sk-secret-text" not in fault


async def test_a_plugin_without_settings_takes_none(home: Path) -> None:
    write(home, MARKED)

    assert "[plugins.hello] city:" in await fault_of(home, hello={"city": "Rome"})


async def test_plugins_are_left_out_by_name_or_all_at_once(home: Path) -> None:
    write(home, MARKED, "a.py")
    write(home, MARKED, "b.py")

    assert [plugin.name for plugin in await load(home, disabled="a")] == ["b"]
    assert await load(home, enabled=False) == ()


async def test_settings_for_nobody_are_told_of(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    await load(home, ghost={"city": "Rome"}, off={"city": "Rome"}, disabled="off")

    assert [(record.msg, vars(record)["plugin"]) for record in caplog.records] == [
        ("settings of a plugin that is not there", "ghost")
    ]


def test_a_plugins_settings_are_a_table() -> None:
    with pytest.raises(ValidationError, match="hello"):
        settings(hello="Rome")


async def test_a_plugin_has_a_folder_of_its_own_when_it_asks_for_one(home: Path) -> None:
    write(home, MARKED, "without.py")
    write(home, "def setup(api):\n    (api.data_dir / 'x').write_text('1')\n", "with_data.py")

    await load(home)

    assert [path.name for path in (home / "plugins-data").iterdir()] == ["with_data"]
    assert (home / "plugins-data" / "with_data").stat().st_mode & 0o777 == 0o700


# --- the command line


def test_all_plugins_are_listed_with_what_they_bring_and_what_is_wrong(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(home, HELLO)
    write(home, "1 / 0", "broken.py")

    code = list_plugins(Settings(home=home), settings(disabled="other"))

    out = capsys.readouterr().out
    assert code == 1
    assert f"ok     hello 1.2  {file}\n" in out
    assert "tools: shout\n" in out
    assert "commands: /hello\n" in out
    assert "hooks: message_received\n" in out
    assert "fault  broken" in out
    assert "ZeroDivisionError: division by zero" in out
    assert "off    other" in out


def test_a_bot_without_plugins_says_where_they_would_be(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list_plugins(Settings(home=home), settings()) == 0
    assert f"none in {home / FOLDER}" in capsys.readouterr().out


def test_plugins_that_are_switched_off_are_not_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home, "raise SystemExit")

    assert list_plugins(Settings(home=home), settings(enabled=False)) == 0
    assert "switched off" in capsys.readouterr().out


# --- the example


async def test_the_example_greets_somebody_new_once(home: Path) -> None:
    write(home, EXAMPLE.read_text("utf-8"), "greeter.py")
    (plugin,) = await load(home, greeter={"greeting": "Ahoy"})
    hooks, message = Hooks(), inbound()
    assert plugin.fault is None
    for hook in plugin.parts.hooks:
        hooks.add(hook)

    async def turn() -> tuple[str, ...]:
        with turn_state():
            await hooks.fire(MessageReceived(message=message))
            left = await hooks.fire(BeforeAgentStart(message=message))
            await hooks.fire(AgentEnded(message=message, reason="done", text="", seconds=0.1))
        await hooks.aclose()
        return left.injected

    first, second = await turn(), await turn()

    assert first == ("Begin your answer with 'Ahoy'.",)
    assert second == ()
