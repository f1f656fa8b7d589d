"""`mcp list` and `mcp test`, called as the command line calls them."""

import sys
from pathlib import Path

import pytest

from bot.errors import ConfigError
from bot.operations.mcp import mcp_list, mcp_test
from bot.settings.mcp import McpServerSettings

ROUGH = Path(__file__).parent / "tools" / "mcp_servers" / "rough.py"


def rough(*args: str, **options: object) -> McpServerSettings:
    """A server that starts fast."""
    values = {"command": sys.executable, "args": ("-S", str(ROUGH), *args), **options}
    return McpServerSettings.model_validate(values)


def test_the_list_shows_all_servers_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    away = McpServerSettings.model_validate(
        {
            "url": "https://me:hidden@example.org/mcp?key=hidden",
            "headers": {"Authorization": "hidden"},
            "is_enabled": False,
        }
    )
    code = mcp_list({"files": rough("hidden", env={"KEY": "hidden"}), "away": away})

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "away  off  https://example.org/mcp  tools: *",
        f"files  on   {sys.executable} (3 arguments)  tools: *",
    ]


def test_an_empty_list_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert mcp_list({}) == 0
    assert mcp_test({}) == 0
    assert "[mcp.name]" in capsys.readouterr().out


def test_servers_that_answer_show_their_tools(capsys: pytest.CaptureFixture[str]) -> None:
    code = mcp_test({"good": rough("--odd", tools=("echo",)), "off": rough(is_enabled=False)})
    out = capsys.readouterr().out

    assert code == 0
    assert "good: ready after" in out
    assert "  + echo" in out
    assert "  - die" in out
    assert "off" not in out
    assert "\x1b" not in out


def test_a_server_that_fails_is_shown_with_its_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = "import sys; sys.exit('no \x1b[31msuch key')"
    code = mcp_test({"good": rough(), "bad": McpServerSettings(command=sys.executable, args=("-c", words))})
    out = capsys.readouterr().out

    assert code == 1
    assert "bad: failed: it ended\n  | no [31msuch key\n" in out
    assert "good: ready" in out


def test_only_the_server_that_is_named_is_tested_though_it_is_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert mcp_test({"one": rough(is_enabled=False), "two": rough()}, "one") == 0
    assert capsys.readouterr().out.startswith("one: ready")


def test_a_name_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"'three' .* there is: one, two"):
        mcp_test({"one": rough(), "two": rough()}, "three")
