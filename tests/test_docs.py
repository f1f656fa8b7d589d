"""What the documents say is what the code does."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from typer.main import get_command

from bench.report import cells
from bench.results import Result
from bot.app import App
from bot.cli import app
from bot.commands.help import document as commands_document
from bot.settings import env_example, walk_settings
from channels.registry import ADAPTERS
from tests.bots import settings_for

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BY_SETTING = {"exec", "process", "script", "api_request"}  # only with bubblewrap, or with APIs to reach
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands() -> set[str]:
    """Every command of the command line, as it is typed."""
    found = set()
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]  # a click group
        subcommands = getattr(command, "commands", None)
        found |= {f"{name} {sub}" for sub in subcommands} if subcommands else {name}
    return found


def test_the_example_of_settings_is_generated_from_the_settings() -> None:
    assert (ROOT / ".env.example").read_text("utf-8") == env_example()


def test_every_setting_that_a_document_names_exists() -> None:
    known = {variable for variable, *_ in walk_settings()}
    for document in DOCUMENTS:
        named = set(re.findall(r"`?\b(BOT_[A-Z0-9_]+[A-Z0-9])\b", document.read_text("utf-8")))
        named = {re.sub("__ACCOUNTS__[A-Z]+__", "__ACCOUNTS__<NAME>__", name) for name in named}
        planned = {"BOT_DATABASE_URL", "BOT_BUS_URL"}  # docs/decisions.md says that they are not there yet
        assert named - known - planned == set(), document.name


def test_every_command_that_a_document_names_exists() -> None:
    words = {command.split(" ")[0] for command in commands()}
    for document in DOCUMENTS:
        named = set(re.findall(r"python -m bot ([a-z]+)", document.read_text("utf-8")))
        assert named <= words, document.name


def test_the_readme_names_every_command() -> None:
    table = README[README.index("## Use it") : README.index("## What it promises")]
    missing = {command for command in commands() if command != "run" and command.split(" ")[-1] not in table}

    assert missing == set()


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text("utf-8")):
        assert (document.parent / target).exists(), target


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"`make ([a-z]+)`", README)) | set(
        re.findall(r"^make ([a-z]+)$", README, re.M)
    ):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_python_example_of_the_readme_passes_the_type_checker(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    file = tmp_path / "example.py"
    file.write_text(example, "utf-8")

    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout


async def test_the_document_of_the_commands_is_generated_from_them(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), has_web=False) as running:
        assert (ROOT / "docs" / "commands.md").read_text("utf-8") == commands_document(running.commands.specs)


async def test_the_table_of_tools_has_every_tool_and_no_other(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), has_web=False) as running:
        await running.settled()
        names = {tool.name for tool in running.tools}

    text = (ROOT / "docs" / "tools.md").read_text("utf-8")
    rows = text[text.index("| tools |") :].split("\n\n")[0].splitlines()
    told = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    assert told - BY_SETTING == names - BY_SETTING


def test_the_readme_has_every_platform() -> None:
    table = README[README.index("| channel |") : README.index("## What it promises")]

    assert [name for name in ADAPTERS if name.capitalize() not in table] == []


def test_the_change_log_keeps_an_unreleased_part() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_extra_that_a_document_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for document in DOCUMENTS:
        for named in re.findall(r"switchboard-bot\[([a-z,]+)\]", document.read_text("utf-8")):
            assert set(named.split(",")) <= set(extras), document.name


def test_the_table_of_performance_shows_what_was_measured() -> None:
    results = msgspec.json.decode((ROOT / "bench" / "results.json").read_bytes(), type=list[Result])

    shown = (ROOT / "docs" / "performance.md").read_text("utf-8")
    missing = [result.name for result in results if f"| {' | '.join(cells(result))} |" not in shown]
    assert missing == []
    assert {True} <= {result.met for result in results}
