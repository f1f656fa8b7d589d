"""Where settings come from, what is refused, and that all that is wrong is told at once."""

from pathlib import Path

import annotated_types
import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from bot.errors import ConfigError
from bot.operations.doctor import examine
from bot.settings import Settings, env_example, load_settings, walk_settings

ROOT = Path(__file__).parent.parent
BESIDE = {  # what has to be set too, for the edge of a setting to make sense
    "BOT_OPENAI__CONTEXT_WINDOW": {"BOT_OPENAI__MAX_OUTPUT": "16"},
    "BOT_LOCAL__CONTEXT_WINDOW": {"BOT_LOCAL__MAX_OUTPUT": "16"},
    "BOT_MCP__<NAME>__TIMEOUT": {"BOT_MCP__ONE__URL": "http://127.0.0.1:9/mcp"},
    "BOT_INJECTION__MEDIUM": {"BOT_INJECTION__LOW": "0.0001"},
    "BOT_INJECTION__HIGH": {"BOT_INJECTION__LOW": "0.0001", "BOT_INJECTION__MEDIUM": "0.0002"},
    "BOT_INJECTION__CRITICAL": {
        "BOT_INJECTION__LOW": "0.0001",
        "BOT_INJECTION__MEDIUM": "0.0002",
        "BOT_INJECTION__HIGH": "0.0003",
    },
    **{
        f"BOT_{name}__BLOCK_MAX": {f"BOT_{name}__BLOCK_MIN": "50"}
        for name in ("TELEGRAM", "DISCORD", "SLACK", "FEISHU")
    },
    **{
        f"BOT_BUDGETS__{name}__COST": {"BOT_PRICES": '{"*": {"input": 1, "output": 2}}'}
        for name in ("PERSON", "GUEST", "SESSION", "CHANNEL", "ALL")
    },
}


def write_dotenv(text: str) -> None:
    Path(".env").write_text(text, "utf-8")


def write_toml(text: str) -> None:
    Path("bot.toml").write_text(text, "utf-8")


def faults(**overrides: object) -> str:
    """What `load_settings` complains of."""
    with pytest.raises(ConfigError) as caught:
        load_settings(**overrides)
    return str(caught.value)


def edges(field: FieldInfo) -> list[tuple[str, bool]]:
    """Values at the edges of a number, and whether they are good."""
    found: list[tuple[str, bool]] = []
    step = 1 if "int" in str(field.annotation) else 0.001
    for limit in field.metadata:
        match limit:
            case annotated_types.Ge(ge=int() | float() as low):
                found += [(str(low), True), (str(low - step), False)]
            case annotated_types.Gt(gt=int() | float() as low):
                found += [(str(low + step), True), (str(low), False)]
            case annotated_types.Le(le=int() | float() as high):
                found += [(str(high), True), (str(high + step), False)]
    return found


NUMBERS = [
    pytest.param(variable, value, is_good, id=f"{variable}={value}")
    for variable, _, field in walk_settings()
    for value, is_good in edges(field)
]
FLOATS = [name for name, _, field in walk_settings() if field.annotation is float]


def test_with_nothing_set_the_defaults_hold() -> None:
    assert load_settings() == Settings.model_construct()


def test_the_environment_ranks_above_dotenv_and_dotenv_above_toml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_NAME", "environment")
    write_dotenv("BOT_NAME=dotenv\nBOT_MODEL=dotenv\n")
    write_toml('name = "toml"\nmodel = "toml"\nbackend = "toml"\n')

    settings = load_settings()

    assert (settings.name, settings.model, settings.backend) == ("environment", "dotenv", "toml")


def test_the_order_holds_within_a_section_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB__PORT", "1")
    write_dotenv("BOT_WEB__PORT=2\nBOT_WEB__TOKEN=dotenv\n")
    write_toml('[web]\nport = 3\ntoken = "toml"\nhost = "localhost"\n')

    web = load_settings().web

    assert (web.port, web.token, web.host) == (1, SecretStr("dotenv"), "localhost")


def test_what_is_given_on_the_command_line_ranks_above_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB__PORT", "1")
    monkeypatch.setenv("BOT_WEB__HOST", "localhost")

    web = load_settings(web={"port": 9}).web

    assert (web.port, web.host) == (9, "localhost")


def test_the_plain_openai_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain")
    write_dotenv("OPENAI_BASE_URL=http://plain/v1\n")

    settings = load_settings()

    assert settings.openai.api_key == SecretStr("plain")
    assert settings.openai.base_url == "http://plain/v1"
    assert settings.effective_provider == "openai"


@pytest.mark.parametrize("source", ["environment", "dotenv", "toml"])
def test_our_names_rank_above_the_plain_openai_names(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain")
    match source:
        case "environment":
            monkeypatch.setenv("BOT_OPENAI__API_KEY", "ours")
        case "dotenv":
            write_dotenv("BOT_OPENAI__API_KEY=ours\n")
        case _:
            write_toml('[openai]\napi_key = "ours"\n')

    assert load_settings().openai.api_key == SecretStr("ours")


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_PROVIDER", "")
    monkeypatch.setenv("BOT_WEB__PORT", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")

    assert load_settings() == Settings.model_construct()


def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_ADMINS", "telegram:42, discord:7,")
    write_dotenv("BOT_FALLBACK_MODELS=a,b\n")

    settings = load_settings()

    assert settings.admins == ("telegram:42", "discord:7")
    assert settings.fallback_models == ("a", "b")


def test_names_of_other_programs_may_stand_in_dotenv() -> None:
    write_dotenv("DATABASE_URL=x\nOTHER_BOT_THING=1\nBOT_NAME=mine\n")

    assert load_settings().name == "mine"


def test_an_unknown_key_is_refused_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_NAMEE", "x")
    monkeypatch.setenv("BOT_WEB__PROT", "1")
    write_dotenv("BOT_WBE__PORT=1\nBOT_STORE__SYNC=1\n")
    write_toml("nmae = 'x'\n[web]\nprot = 1\n[log]\nlvl = 'x'\n")

    text = faults()

    for name in ("BOT_NAMEE", "BOT_WEB__PROT", "BOT_WBE__PORT", "BOT_STORE__SYNC", "nmae", "log.lvl"):
        assert text.count(f"- {name} is not a setting") == 1, text
    assert len(text.splitlines()) == 7


def test_all_that_is_wrong_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB__PORT", "many")
    monkeypatch.setenv("BOT_WEB__HOST", "0.0.0.0")
    monkeypatch.setenv("BOT_OPENAI__CONTEXT_WINDOW", "1000")
    monkeypatch.setenv("BOT_UNKNOWN", "1")
    write_dotenv("BOT_RUN_TIMEOUT=0\nBOT_ADMINS=somebody\n")
    write_toml('provider = "abacus"\n[local]\ngguf = "nowhere.gguf"\n')

    text = faults()

    for place in (
        *("BOT_WEB__PORT", "BOT_WEB__TOKEN", "BOT_OPENAI__MAX_OUTPUT", "BOT_UNKNOWN"),
        *("BOT_RUN_TIMEOUT", "BOT_ADMINS", "BOT_PROVIDER", "BOT_LOCAL__GGUF"),
    ):
        assert place in text
    assert len(text.splitlines()) == 9


def test_a_door_that_is_open_to_others_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB__HOST", "0.0.0.0")

    assert "set BOT_WEB__TOKEN" in faults()

    monkeypatch.setenv("BOT_WEB__TOKEN", "secret")
    assert load_settings().web.host == "0.0.0.0"


def test_an_answer_must_leave_room_for_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_LOCAL__CONTEXT_WINDOW", "512")

    assert "leaves no room for a prompt in a context window of 512" in faults()


def test_a_whole_section_in_one_variable_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB", "8765")

    text = faults()

    assert "BOT_WEB is not a setting" in text
    assert "bot.toml" not in text


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe"])
def test_a_toml_that_is_none_is_named(content: bytes) -> None:
    Path("bot.toml").write_bytes(content)

    assert "bot.toml:" in faults()


def test_a_dotenv_that_is_no_text_is_named() -> None:
    Path(".env").write_bytes(b"BOT_NAME=\xff\xfe\n")

    assert ".env can't be read" in faults()


@pytest.mark.parametrize(("variable", "value", "is_good"), NUMBERS)
def test_every_number_holds_up_to_its_edge_and_not_beyond(
    variable: str, value: str, is_good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = BESIDE.get(variable, {})
    variable = variable.replace("<NAME>", "ONE")
    monkeypatch.setenv(variable, value)
    for name, other in beside.items():
        monkeypatch.setenv(name, other)

    if is_good:
        load_settings()
    else:
        assert variable in faults()


@pytest.mark.parametrize("variable", FLOATS)
@pytest.mark.parametrize("value", ["inf", "nan"])
def test_no_number_of_seconds_is_endless(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)

    assert variable in faults()


def test_secrets_are_printed_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_WEB__TOKEN", "hush-token")
    monkeypatch.setenv("BOT_OPENAI__API_KEY", "hush-key")

    settings = load_settings()

    report = examine(settings, is_probing=False)
    for text in (repr(settings), str(settings), settings.model_dump_json(), *report.lines):
        assert "hush" not in text


def test_secrets_are_not_printed_by_complaints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_OPENAI__API_KEY", "hush-key")
    write_toml("[web]\ntoken = ['hush-token']\nport = 'x'\n")

    text = faults()

    assert "BOT_WEB__TOKEN" in text
    assert "hush" not in text


def test_settings_do_not_change_once_they_are_read() -> None:
    settings = load_settings()

    with pytest.raises(ValueError, match="frozen"):
        settings.name = "other"
    with pytest.raises(ValueError, match="frozen"):
        settings.web.port = 1


def test_the_example_file_is_generated_from_the_settings() -> None:
    assert (ROOT / ".env.example").read_text("utf-8") == env_example()


def test_the_example_uncommented_gives_the_defaults() -> None:
    variables = {variable for variable, *_ in walk_settings()}
    lines = [line.removeprefix("#") for line in env_example().splitlines()]
    settings = [line for line in lines if line.partition("=")[0] in variables]
    write_dotenv("\n".join(line for line in settings if "<NAME>" not in line))

    assert len(settings) == len(variables)
    assert load_settings() == Settings.model_construct()


# --- platforms


def test_accounts_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TELEGRAM__TOKEN", "one")
    monkeypatch.setenv("BOT_TELEGRAM__ACCOUNTS__TWO__TOKEN", "two")
    write_dotenv("BOT_TELEGRAM__ACCOUNTS__NUMBER_3__TOKEN=three")
    write_toml('[telegram.accounts.four]\ntoken = "four"')
    settings = load_settings()

    tokens = {name: account.token.get_secret_value() for name, account in settings.telegram.accounts.items()}
    assert tokens == {"two": "two", "number_3": "three", "four": "four"}


@pytest.mark.parametrize("name", ["a:b", "a/b", "A", "", "a b", "ä"])
def test_a_name_that_would_break_sessions_or_paths_is_refused(name: str) -> None:
    write_toml(f'[telegram.accounts."{name}"]\ntoken = "t"')

    assert "telegram.accounts" in faults()


def test_an_account_without_its_token_is_refused() -> None:
    write_toml("[discord.accounts.two]")

    assert "discord.accounts.two.token" in faults()


def test_a_key_that_no_account_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TELEGRAM__ACCOUNTS__TWO__TOKN", "t")

    assert "BOT_TELEGRAM__ACCOUNTS__TWO__TOKN is not a setting" in faults()


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('[slack]\nbot_token = "b"', "a bot token needs BOT_SLACK__APP_TOKEN"),
        ('[slack.accounts.two]\nbot_token = "b"', "a bot token needs BOT_SLACK__APP_TOKEN"),
        ('[slack]\nbot_token = "b"\nsigning_secret = "s"', "needs BOT_PUBLIC_URL"),
        (
            '[slack]\nbot_token = "b"\napp_token = "a"\n'
            '[slack.accounts.two]\nbot_token = "b"\nsigning_secret = "s"',
            "needs BOT_PUBLIC_URL",
        ),
        ('[feishu]\napp_id = "cli"', "BOT_FEISHU__APP_ID and BOT_FEISHU__APP_SECRET go together"),
        ('[feishu]\napp_secret = "s"', "BOT_FEISHU__APP_ID and BOT_FEISHU__APP_SECRET go together"),
        (
            '[feishu]\napp_id = "cli"\napp_secret = "s"\nmode = "webhook"',
            "mode webhook needs BOT_FEISHU__VERIFICATION_TOKEN",
        ),
        (
            '[feishu]\nmode = "webhook"\n[feishu.accounts.two]\napp_id = "cli"\napp_secret = "s"',
            "mode webhook needs BOT_FEISHU__VERIFICATION_TOKEN",
        ),
        ('[telegram]\nmode = "webhook"', "BOT_TELEGRAM__MODE=webhook needs BOT_PUBLIC_URL"),
        (
            'public_url = "https://bot.example.org"\n[web]\nenabled = false\n[telegram]\nmode = "webhook"',
            "BOT_TELEGRAM__MODE=webhook needs the web server",
        ),
        ('public_url = "http://bot.example.org"', "public_url (BOT_PUBLIC_URL)"),
        (
            '[telegram]\ntoken = "t"\n[telegram.accounts.default]\ntoken = "u"',
            "BOT_TELEGRAM__ACCOUNTS__DEFAULT",
        ),
        ('[transcription]\nmodel = "whisper-1"', "BOT_TRANSCRIPTION__MODEL needs"),
        ("[discord]\nblock_min = 500\nblock_max = 499", "499 is below block_min (500)"),
    ],
)
def test_a_platform_that_could_not_work_stops_the_start(toml: str, fault: str) -> None:
    write_toml(toml)

    assert fault in faults()


def test_every_contradiction_between_platforms_is_told_at_once() -> None:
    write_toml('[telegram]\nmode = "webhook"\n[slack]\nbot_token = "b"\nsigning_secret = "s"')
    told = faults()

    assert "  - BOT_TELEGRAM__MODE=webhook needs BOT_PUBLIC_URL" in told
    assert "  - Slack without BOT_SLACK__APP_TOKEN needs BOT_PUBLIC_URL" in told


@pytest.mark.parametrize(
    "toml",
    [
        '[slack]\nbot_token = "b"\napp_token = "a"',
        'public_url = "https://bot.example.org"\n[slack]\nbot_token = "b"\nsigning_secret = "s"',
        '[telegram.accounts.default]\ntoken = "t"',
        '[feishu]\napp_id = "cli"\napp_secret = "s"',
        '[transcription]\nmodel = "whisper-1"\nbase_url = "http://localhost:8000/v1"',
        '[transcription]\nmodel = "whisper-1"\n[openai]\napi_key = "k"',
        'public_url = "http://127.0.0.1:8765"',
    ],
)
def test_what_works_together_is_taken(toml: str) -> None:
    write_toml(toml)

    assert load_settings()
