import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.hosts import HostRule, parse_authority, parse_origin

RULE = HostRule("127.0.0.1", 8765, ("chat.example.org", "box.lan:9000"))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8765",
        "localhost:8765",
        "LOCALHOST:8765",
        "[::1]:8765",
        "127.8.8.8:8765",
        "chat.example.org",
        "chat.example.org:444",
        "box.lan:9000",
    ],
)
def test_our_own_names_are_let_in(host: str) -> None:
    assert RULE.admits_host(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost.evil.example:8765",
        "box.lan:9001",
        "127.0.0.1:8765@evil",
        "127.0.0.1:8765/x",
        "a b",
        "[::1",
        "127.0.0.1:x",
        "chat.example.org.evil.example",
        "10.0.0.1:8765",
    ],
)
def test_other_names_are_turned_away(host: str | None) -> None:
    assert not RULE.admits_host(host)


@pytest.mark.parametrize(
    ("origin", "host", "is_ours"),
    [
        (None, "localhost:8765", True),
        ("http://localhost:8765", "localhost:8765", True),
        ("https://chat.example.org", "chat.example.org", True),
        ("https://chat.example.org", "chat.example.org:443", True),
        ("http://localhost:3000", "localhost:8765", False),
        ("http://127.0.0.1:8765", "localhost:8765", False),
        ("null", "localhost:8765", False),
        ("file://", "localhost:8765", False),
        ("https://evil.example", "chat.example.org", False),
        ("chrome-extension://abc", "localhost:8765", False),
    ],
)
def test_only_our_own_pages_may_talk_to_us(origin: str | None, host: str, is_ours: bool) -> None:
    assert RULE.admits_origin(origin, host) is is_ours


@given(text=st.text())
def test_no_header_breaks_the_parser(text: str) -> None:
    parse_authority(text)
    parse_origin(text)
    RULE.admits_host(text)
    RULE.admits_origin(text, text)
