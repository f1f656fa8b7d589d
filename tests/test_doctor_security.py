"""What `doctor --security` points out, and what it is content with."""

import os
from pathlib import Path

import pytest

from bot.operations.doctor import doctor
from bot.operations.exposure import Finding, look_for_exposure, show
from bot.settings import Settings
from tests.bots import settings_for

TOKEN = "0123456789abcdef0123456789abcdef"
PLATFORM: dict[str, object] = {"telegram": {"token": "1:a"}, "admins": "telegram:42"}


def findings(settings: Settings, mark: str) -> str:
    return "\n".join(f"{one.text} | {one.way_out}" for one in look_for_exposure(settings) if one.mark == mark)


def opened(home: Path, **changes: object) -> str:
    return findings(settings_for(home, **changes), "open")


@pytest.fixture(autouse=True)
def private(home: Path) -> None:
    home.chmod(0o700)


@pytest.fixture(autouse=True)
def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)


def test_a_bot_with_nothing_set_is_open_to_nobody(home: Path) -> None:
    assert opened(home) == ""


@pytest.mark.parametrize(
    ("changes", "told", "way_out"),
    [
        ({"web": {"host": "0.0.0.0", "token": TOKEN}}, "without TLS", "BOT_WEB__HOST"),
        ({"web": {"token": "short"}}, "can be guessed", "BOT_WEB__TOKEN"),
        ({"telegram": {"token": "1:a"}}, "admins: nobody", "BOT_ADMINS"),
        (PLATFORM | {"tools": {"profile": "full"}}, "profile full for everybody", "BOT_TOOLS__PROFILE"),
        (
            {"tools": {"channels": {"web": {"profile": "coding"}}}},
            "web, profile coding",
            "BOT_TOOLS__PROFILE",
        ),
        ({"tools": {"allow": "exec"}}, "everybody has exec", "BOT_TOOLS__ALLOW"),
        ({"approvals": {"rules": {"exec": {"mode": "auto"}}}}, "exec runs without asking", "bot.toml"),
        ({"sandbox": {"unsafe": True}}, "commands do all", "bubblewrap"),
        ({"sandbox": {"network": True}}, "commands reach the network", "BOT_SANDBOX__NETWORK"),
        (
            {"openai": {"base_url": "http://models.example.org/v1"}},
            "sent to models.example.org without TLS",
            "BOT_OPENAI__BASE_URL",
        ),
        (
            {"mcp": {"files": {"url": "http://files.example.org/mcp"}}},
            "sent to files.example.org without TLS",
            "BOT_MCP__FILES__URL",
        ),
        (
            {
                "public_url": "https://bot.example.org",
                "feishu": {"app_id": "a", "app_secret": "b", "mode": "webhook", "verification_token": "c"},
            },
            "not signed",
            "BOT_FEISHU__ENCRYPT_KEY",
        ),
        ({"redaction": {"outbound": {"secrets": "off"}}}, "not hidden (outbound)", "BOT_REDACTION__OUTBOUND"),
        ({"log": {"level": "DEBUG"}}, "level DEBUG", "BOT_LOG__LEVEL"),
    ],
)
def test_what_is_open_is_told_with_what_closes_it(
    home: Path, changes: dict[str, object], told: str, way_out: str
) -> None:
    text = opened(home, **changes)

    assert told in text
    assert way_out in text


def test_a_token_that_is_only_named_is_not_called_short(home: Path) -> None:
    assert opened(home, web={"token": "secret:page"}) == ""


def test_files_that_others_can_read_are_named(home: Path) -> None:
    (home / "audit").mkdir()
    (home / "audit" / "one.jsonl").write_text("x")
    (home / "closed").mkdir(mode=0o700)
    (home / "closed" / "two").write_text("x")
    for path, mode in (("audit", 0o755), ("audit/one.jsonl", 0o640), ("closed/two", 0o644)):
        (home / path).chmod(mode)
    Path(".env").write_text("BOT_NAME=x")
    Path(".env").chmod(0o644)

    while_closed = opened(home)
    home.chmod(0o755)
    while_open = opened(home)

    assert "one.jsonl" not in while_closed
    assert "chmod 600 .env" in while_closed
    assert "home/audit/one.jsonl" in while_open
    assert "closed" not in while_open
    assert f"chmod -R go= {home}" in while_open


def test_a_key_beside_its_secrets_is_a_note(home: Path) -> None:
    (home / "secret.key").write_text("x")
    (home / "secret.key").chmod(0o600)

    assert "BOT_SECRET_KEY" in findings(settings_for(home), "note")


def test_secrets_in_the_clear_are_counted(home: Path) -> None:
    settings = settings_for(home, telegram={"token": "1:a"}, discord={"token": "secret:discord"})

    assert "1 stand in the settings in the clear" in findings(settings, "note")


def test_what_is_open_stands_first() -> None:
    lines = list(
        show([Finding("ok", "fine"), Finding("note", "so so", "that"), Finding("open", "bad", "this")])
    )

    assert [line.strip() for line in lines] == [
        "open     bad",
        "this",
        "note     so so",
        "that",
        "ok       fine",
    ]


def test_the_exit_code_tells_whether_something_is_open(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOT_HOME", str(home))
    closed = doctor(probe=False, security=True)
    monkeypatch.setenv("BOT_LOG__LEVEL", "DEBUG")
    is_open = doctor(probe=False, security=True)

    assert (closed, is_open) == (0, 1)
    assert "BOT_LOG__LEVEL=INFO" in capsys.readouterr().out
