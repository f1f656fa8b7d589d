"""What `doctor` says of changes that admins made while the bot ran."""

from pathlib import Path

import pytest

from bot.operations.doctor import changed_lines, examine
from bot.settings import load_settings
from channels.registry import SDKS
from memory.store import Store


async def test_what_admins_changed_is_listed(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.changed_settings.change("name", "Hal", by="telegram:1")
        await store.rules.change(
            [("user", "telegram:default:42", "block"), ("converse", "discord:default:5", "on")],
            by="telegram:1",
        )

    assert await changed_lines(load_settings(home=home)) == [
        "name = Hal",
        "converse discord:default:5 = on",
        "user telegram:default:42 = block",
    ]


def test_a_bot_that_has_not_run_has_no_changes(tmp_path: Path) -> None:
    report = examine(load_settings(home=tmp_path / "none"), is_probing=False)

    assert "Changed by admins" not in "\n".join(report.lines)
    assert not (tmp_path / "none").exists()


def test_platforms_are_listed_with_their_accounts(home: Path) -> None:
    accounts = {"sales": {"token": "2:b"}}
    report = examine(
        load_settings(home=home, telegram={"token": "1:a", "accounts": accounts}), is_probing=False
    )

    assert "  ok       telegram: on (default, sales)" in report.lines
    assert any(line.startswith("  ok       discord: off") for line in report.lines)


def test_a_platform_without_its_sdk_says_how_to_get_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SDKS, "telegram", "nobody_has_this")
    report = examine(load_settings(home=home, telegram={"token": "1:a"}), is_probing=False)

    found = [line for line in report.lines if "telegram" in line and "missing" in line]
    assert found
    assert "pip install 'switchboard-bot[telegram]'" in found[0]
    assert report.is_lacking


def test_an_mcp_server_whose_program_is_not_there_is_missing(home: Path) -> None:
    servers = {"files": {"command": "no-such-program"}, "old": {"command": "gone", "is_enabled": False}}
    report = examine(load_settings(home=home, mcp=servers), is_probing=False)

    assert "  missing  MCP server files: there is no program 'no-such-program'" in report.lines
    assert "  ok       MCP server old: off" in report.lines


def test_whether_commands_can_be_run_is_told_without_making_the_bot_lack_something(home: Path) -> None:
    (home / "workspace").mkdir()
    settings = load_settings(home=home, openai={"base_url": "http://127.0.0.1:9/v1"})
    report = examine(settings, is_probing=False)

    assert any("commands" in line for line in report.lines if line.startswith(("  ok", "  note")))
    assert not report.is_lacking
