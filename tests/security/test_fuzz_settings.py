"""Whatever stands in the settings, it is taken or told; nothing ends in a traceback."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.errors import ConfigError
from bot.settings import load_settings, walk_settings

VARIABLES = sorted(
    variable.replace("<NAME>", "ONE") for variable, *_ in walk_settings() if variable != "BOT_HOME"
)
SECTIONS = sorted({variable.removeprefix("BOT_").split("__")[0].lower() for variable in VARIABLES})

words = st.sampled_from(
    [
        *("", " ", "true", "0", "-1", "1e999", "nan", "inf", "999999999999999999999", "null", "{}", "[]"),
        *('{"a": 1}', '["x"]', '{"a": {"b": []}}', "a,b", ",,,", "secret:x", "secret:", "http://", "://"),
        *("http://[::1", "https://x y", "telegram:", ":1", "[", "(", "*", "\\", "\n", "é", "\ud83d\ude00"),
        *("a" * 5_000, "1/minute", "0/minute", "[" * 200, '{"a":' * 50, "127.0.0.1", "::1", "0.0.0.0"),
    ]
)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
values = st.one_of(words.filter(lambda word: word.isprintable() or word == "\n"), texts)


def is_taken_or_told(**overrides: object) -> bool:
    """Whether the settings are good, or what is wrong with them is said in the usual way."""
    try:
        load_settings(**overrides)
    except ConfigError as error:
        return str(error).startswith("The settings can't be used:\n  - ")
    return True


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=st.dictionaries(st.sampled_from(VARIABLES), values, min_size=1, max_size=6))
def test_any_variables_are_taken_or_told(given_: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        for name, value in given_.items():
            patched.setenv(name, value)

        assert is_taken_or_told()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.from_regex(r"BOT_[A-Z0-9_]{0,40}", fullmatch=True), value=values)
def test_any_name_of_ours_is_known_or_told(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv(name, value)

        assert is_taken_or_told()


nested = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), values),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=120, deadline=None)
@given(given_=st.dictionaries(st.sampled_from(SECTIONS), nested, min_size=1, max_size=4))
def test_any_data_in_place_of_sections_are_taken_or_told(given_: dict[str, object]) -> None:
    given_.pop("home", None)

    assert is_taken_or_told(**given_)


@settings(max_examples=120, deadline=None)
@given(data=st.one_of(st.binary(max_size=200), texts.map(str.encode)))
@example(data=b"[web]\nport = 1\n[web]\nport = 2")
@example(data=b"\xff\xfe")
@example(data=b"a = " + b"[" * 2_000)
@example(data=b"[mcp.x]\ncommand = 1")
def test_any_file_is_taken_or_told(data: bytes) -> None:
    for name in ("bot.toml", ".env"):
        Path(name).write_bytes(data)

        assert is_taken_or_told()
        Path(name).unlink()


SECRETS = [
    "BOT_WEB__TOKEN",
    "BOT_TELEGRAM__TOKEN",
    "BOT_OPENAI__API_KEY",
    "BOT_SLACK__BOT_TOKEN",
    "BOT_REDACTION__HASH_KEY",
    "BOT_APIS__ONE__HEADERS",
    "BOT_MCP__ONE__ENV",
]


@pytest.mark.parametrize("variable", SECRETS)
def test_a_secret_that_is_refused_is_not_repeated(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2-hunter2-hunter2"
    monkeypatch.setenv(variable, f'{{"X Y": "{secret}\\n"}}' if "__ONE__" in variable else f"{secret}\x7f")
    monkeypatch.setenv("BOT_WEB__PORT", "many")

    with pytest.raises(ConfigError) as caught:
        load_settings()

    assert secret not in str(caught.value)
