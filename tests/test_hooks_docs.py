"""docs/hooks.md and docs/plugins.md say what the code does."""

import re
from pathlib import Path

import pytest

from bot.extension import Extension
from bot.hooks import effects, points
from bot.hooks.base import Point
from bot.hooks.document import document
from bot.hooks.effects import Effect
from bot.hooks.names import FOREIGN
from bot.hooks.points import ALL, POINTS
from bot.plugins import DATA, FOLDER, GROUP, LOAD_SECONDS, PluginApi, load_plugins
from bot.settings.plugins import PluginsSettings

ROOT = Path(__file__).parent.parent
HOOKS = (ROOT / "docs" / "hooks.md").read_text("utf-8")
TABLE = HOOKS[HOOKS.index("## Effects") : HOOKS.index("## Names")]
PLUGINS = (ROOT / "docs" / "plugins.md").read_text("utf-8")
FEATURES = (  # what other systems offer
    *("agent:bootstrap", "before_agent_start", "agent_end", "before_compaction", "after_compaction"),
    *("before_tool_call", "after_tool_call", "tool_result_persist", "message_received", "message_sending"),
    *("message_sent", "session_start", "session_end", "gateway_start", "gateway_stop"),
    *("before_model_resolve", "agent_turn_prepare", "before_prompt_build", "before_agent_reply"),
    *("before_agent_finalize", "llm_input", "llm_output", "model_call_started", "model_call_ended"),
    *("inbound_claim", "before_dispatch", "reply_dispatch", "before_message_write", "subagent_*"),
    *("cron_changed", "before_install", "processPrompts", "finalizePrompts", "postProcess"),
    *("userMessageReceived", "agentStatusChanged", "responseUpdate", "responseComplete", "toolExecuted"),
)


def test_the_document_of_the_hooks_is_generated_from_them() -> None:
    assert document() == HOOKS


def test_the_document_has_every_point_and_every_effect_once() -> None:
    kinds = [kind for kind in vars(effects).values() if isinstance(kind, type) and issubclass(kind, Effect)]

    for name in POINTS:
        assert HOOKS.count(f"| `{name}` | `{POINTS[name].__name__}` |") == 1
    for kind in kinds:
        assert kind is Effect or TABLE.count(f"| `{kind.__name__}` | ") == 1, kind


def test_every_point_of_the_module_is_registered() -> None:
    made = {kind for kind in vars(points).values() if isinstance(kind, type) and hasattr(kind, "blocked")}

    assert made - {Point} == set(ALL)


@pytest.mark.parametrize("name", FEATURES)
def test_every_hook_of_another_system_has_its_place(name: str) -> None:
    found = [one for one in FOREIGN if one.theirs == name]

    assert found
    assert all(one.ours in POINTS or one.how.startswith("not there") for one in found)


def test_every_place_that_is_named_for_a_foreign_hook_exists() -> None:
    assert {one.ours for one in FOREIGN} - {""} <= set(POINTS)


def examples(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document, re.S)


@pytest.mark.parametrize("code", examples(HOOKS) + examples(PLUGINS))
def test_the_examples_run(code: str) -> None:
    exec(compile(code, "example.py", "exec"), {"__name__": "example"})


async def test_the_plugin_of_five_lines_is_one(home: Path) -> None:
    (home / FOLDER).mkdir(mode=0o700)
    file = home / FOLDER / "hello.py"
    file.write_text(examples(PLUGINS)[0], "utf-8")
    file.chmod(0o600)

    (plugin,) = await load_plugins(PluginsSettings(), home)

    assert plugin.fault is None
    assert [command.spec.name for command in plugin.parts.commands] == ["hello"]


def test_the_document_of_the_plugins_names_what_there_is() -> None:
    methods = {name for name in vars(Extension) if not name.startswith("_")} - {"parts"}
    offered = {*methods, "settings", "data_dir", "logger"}

    assert set(re.findall(r"^\| `api\.(\w+)", PLUGINS, re.M)) == offered
    assert hasattr(PluginApi, "data_dir")
    assert f"`{GROUP}`" in PLUGINS
    assert f"`BOT_HOME/{FOLDER}/<name>.py`" in PLUGINS
    assert f"`BOT_HOME/{DATA}/<name>`" in PLUGINS
    assert f"{LOAD_SECONDS:.0f} seconds" in PLUGINS
    assert all(f"`{name} = " in PLUGINS for name in PluginsSettings.model_fields)
