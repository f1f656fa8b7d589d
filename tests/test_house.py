"""The plan of the house: which way imports point, and what costs nothing until it is asked for."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bot

ROOT = Path(__file__).parent.parent
PACKAGES = ("bot", "channels", "memory", "security")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
WIRING = "bot.app"
COMMAND_LINE = ("bot.cli", "bot.__main__", "bot.operations.")
PUBLIC = "bot.api"  # a bot of one's own is run from there
HEAVY = (
    *("openai", "discord", "telegram", "slack_bolt", "lark_oapi"),
    *("mem0", "numpy", "aiohttp", "nicegui", "xllamacpp", "mcp", "mcp_types", "httpx2", "agents"),
    *("fastapi", "prometheus_client", "opentelemetry"),
)


def module_name(file: Path) -> str:
    """The dotted name of a file."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): ast.parse(file.read_text("utf-8")) for file in FILES}


def targets(statement: ast.stmt) -> Iterator[str]:
    """The modules of ours that an import statement names."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and statement.module:
        inner = [f"{statement.module}.{alias.name}" for alias in statement.names]
        names = [name if name in MODULES else statement.module for name in inner]
    else:
        names = []
    yield from (name for name in names if name.partition(".")[0] in PACKAGES)


def is_for_types(node: ast.AST) -> bool:
    """Whether it is a block that only type checkers read."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(module: str) -> set[str]:
    """All that a module imports, inside functions too."""
    found: set[str] = set()
    waiting: list[ast.AST] = [MODULES[module]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            found |= set(targets(node))
        waiting += [] if is_for_types(node) else ast.iter_child_nodes(node)
    return found


def imports_at_start(module: str) -> set[str]:
    """What a module imports when it is imported itself: all but what stands inside functions."""
    found: set[str] = set()
    waiting: list[ast.AST] = [MODULES[module]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(node):
            continue
        if isinstance(node, ast.stmt):
            found |= set(targets(node))
        waiting += ast.iter_child_nodes(node)
    return found - {module}


def loaded_by(code: str, tmp_path: Path) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`."""
    ask = f"import sys\n{code}\nprint('\\nLOADED', *sys.modules)"
    child = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return set(child.stdout.rpartition("LOADED")[2].split())


def test_no_import_goes_round_in_a_circle() -> None:
    graph = {module: imports_at_start(module) for module in MODULES}

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("module", [name for name in MODULES if name.partition(".")[0] == "bot"])
def test_the_core_imports_no_other_package_but_where_all_is_wired(module: str) -> None:
    others = {name for name in imports(module) if name.partition(".")[0] != "bot"}

    assert others == set() or module == WIRING or module.startswith(f"{WIRING}.")


@pytest.mark.parametrize("module", MODULES)
def test_only_the_command_line_and_the_public_face_import_the_wiring(module: str) -> None:
    wired = any(name == WIRING or name.startswith(f"{WIRING}.") for name in imports(module))
    assert not wired or module == PUBLIC or module.startswith((*COMMAND_LINE, WIRING))


@pytest.mark.parametrize("module", [name for name in MODULES if name.partition(".")[0] == "memory"])
def test_the_store_knows_no_channel_and_no_guard(module: str) -> None:
    assert {name.partition(".")[0] for name in imports(module)} <= {"bot", "memory"}


@pytest.mark.parametrize(
    "code",
    [
        "import bot",
        "import bot.messages, bot.bus, bot.settings",
        "import runpy\nsys.argv = ['bot', '--help']\n"
        "try:\n    runpy.run_module('bot', run_name='__main__')\nexcept SystemExit:\n    pass",
    ],
    ids=["import bot", "import the core", "python -m bot --help"],
)
def test_what_is_not_asked_for_is_not_loaded(code: str, tmp_path: Path) -> None:
    loaded = loaded_by(code, tmp_path)

    assert "bot" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_every_public_name_is_there() -> None:
    assert bot.__all__ == sorted(bot.__all__)
    for name in bot.__all__:
        assert getattr(bot, name) is not None, name


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Application'"):
        getattr(bot, "Application")  # noqa: B009 - the type checker knows that it is not there


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(MODULES[module]), module
