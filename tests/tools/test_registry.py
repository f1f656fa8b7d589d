"""Who has which tools, where."""

import tomllib
from fnmatch import fnmatchcase

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.messages import InboundMessage, Role
from bot.settings.tools import ToolRules, ToolsSettings
from bot.tools import Tool, declare
from bot.tools.base import Risk
from bot.tools.profiles import PROFILES, Policy
from bot.tools.registry import ToolRegistry
from tests.factories import inbound

BOSS = "boss"


def make(name: str, *, risk: Risk = "read", group: str = "test") -> Tool:
    """A tool of which only the name matters."""

    async def act() -> str:
        return "done"

    return declare(act, name=name, description="Act.", risk=risk, group=group)


TOOLS = (
    make("web_search", risk="network", group="web"),
    make("web_fetch", risk="network", group="web"),
    make("read", group="files"),
    make("write", risk="write", group="files"),
    make("exec", risk="exec"),
    make("send_file", risk="send"),
    make("notes_read"),
    make("notes_write", risk="write"),
    make("ask_question"),
    make("summary"),
    make("read_result"),
    make("files__open", risk="network"),
    make("delegate_task"),
)
ALL = {tool.name for tool in TOOLS}
MINIMAL = {"ask_question", "summary", "read_result"}
CHAT = MINIMAL | {"web_search", "web_fetch", "read", "notes_read", "notes_write", "send_file"}
RISKY = {"exec", "write", "notes_write", "send_file"}


def said(
    *, by: str = "ann", role: Role = Role.MEMBER, at: str = "telegram:default:1", thread: str | None = None
) -> InboundMessage:
    """A message of somebody, somewhere."""
    message = inbound(session=at)
    address = msgspec.structs.replace(message.address, thread=thread)
    sender = msgspec.structs.replace(message.sender, id=by, role=role)
    return msgspec.structs.replace(message, address=address, sender=sender)


def is_admin(message: InboundMessage) -> bool:
    return message.sender.id == BOSS


def registry(settings: ToolsSettings | None = None, tools: tuple[Tool, ...] = TOOLS) -> ToolRegistry:
    return ToolRegistry(tools, settings or ToolsSettings(), is_admin)


def names(settings: ToolsSettings, message: InboundMessage) -> set[str]:
    """What somebody has, somewhere."""
    return set(registry(settings).offer_for(message).tools)


# --- the list


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools named 'read'"):
        registry(tools=(make("read"), make("read")))


def test_tools_that_clash_change_nothing() -> None:
    tools = registry()
    before = tools.tools

    with pytest.raises(ValueError, match="two tools named 'exec'"):
        tools.add([make("new"), make("exec")])

    assert tools.tools == before


def test_the_order_is_that_of_the_names_whatever_came_first() -> None:
    one = registry().offer_for(said(by=BOSS))
    other = registry(tools=TOOLS[::-1]).offer_for(said(by=BOSS))

    assert list(one.tools) == list(other.tools) == sorted(ALL)
    assert [schema.name for schema in one.schemas] == sorted(ALL)


def test_the_tools_of_a_turn_are_the_same_ones_each_time() -> None:
    tools = registry()

    assert tools.offer_for(said()) is tools.offer_for(said(by="bob", at="discord:work:2"))


def test_tools_come_and_go_while_the_bot_runs() -> None:
    tools, found = registry(), make("aaa")

    tools.add([found])
    with_it = tools.offer_for(said(by=BOSS))
    tools.remove([found])
    tools.remove([found])

    assert with_it.tools["aaa"] is found
    assert set(tools.offer_for(said(by=BOSS)).tools) == ALL


def test_a_tool_is_not_removed_for_another_of_its_name() -> None:
    tools, old, new = registry(), make("aaa"), make("aaa")
    tools.add([old])
    tools.remove([old])
    tools.add([new])

    tools.remove([old])

    assert tools.tools[0] is new


# --- who has what


def test_admins_have_all_and_others_the_profile_without_what_can_harm() -> None:
    settings = ToolsSettings()

    assert names(settings, said(by=BOSS)) == ALL
    assert names(settings, said(role=Role.OWNER)) == CHAT
    assert names(settings, said(role=Role.ADMIN)) == CHAT
    assert names(settings, said(role=Role.MEMBER)) == CHAT - RISKY
    assert names(settings, said(role=Role.GUEST)) == MINIMAL


def test_guests_have_the_profile_that_is_theirs_in_this_place() -> None:
    channels = {"discord": ToolRules(guest_profile="minimal")}
    settings = ToolsSettings(guest_profile="chat", channels=channels)

    assert names(settings, said(role=Role.GUEST)) == CHAT - RISKY
    assert names(settings, said(role=Role.GUEST, at="discord:work:2")) == MINIMAL


@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
def test_no_profile_gives_strangers_what_can_harm(role: Role) -> None:
    assert not names(ToolsSettings(profile="full"), said(role=role)) & RISKY


def test_each_profile_has_what_those_before_have() -> None:
    found = [names(ToolsSettings(admin_profile=profile), said(by=BOSS)) for profile in PROFILES]

    assert found == [MINIMAL, CHAT, CHAT | {"write", "exec", "delegate_task"}, ALL]


def test_a_tool_that_can_harm_has_to_be_named_in_full_for_strangers() -> None:
    assert "exec" in names(ToolsSettings(allow=("exec",)), said())
    assert "exec" not in names(ToolsSettings(allow=("ex*", "*", "group:other")), said())
    assert "exec" in names(ToolsSettings(allow=("ex*",)), said(role=Role.ADMIN))


def test_what_is_denied_nobody_has() -> None:
    settings = ToolsSettings(allow=("exec", "read"), deny=("exec", "web_*", "group:files"))

    for message in (said(), said(by=BOSS), said(role=Role.OWNER)):
        assert not names(settings, message) & {"exec", "web_search", "web_fetch", "read", "write"}


def test_a_channel_and_a_chat_and_a_thread_have_rules_of_their_own() -> None:
    settings = ToolsSettings(
        channels={"discord": ToolRules(profile="minimal", deny=("summary",))},
        chats={
            "discord:default:1": ToolRules(profile="chat", allow=("exec",)),
            "discord:default:1:9": ToolRules(profile="minimal"),
        },
    )

    assert names(settings, said(at="telegram:default:1")) == CHAT - RISKY
    assert names(settings, said(at="discord:default:2")) == MINIMAL - {"summary"}
    assert names(settings, said(at="discord:default:1")) == (CHAT - RISKY | {"exec"}) - {"summary"}
    assert names(settings, said(at="discord:default:1", thread="8")) == names(
        settings, said(at="discord:default:1")
    )
    assert names(settings, said(at="discord:default:1", thread="9")) == MINIMAL - {"summary"} | {"exec"}
    assert names(settings, said(at="discord:work:1")) == MINIMAL - {"summary"}


def test_the_rules_of_a_place_hold_for_admins_where_they_say_so() -> None:
    settings = ToolsSettings(
        channels={"discord": ToolRules(profile="minimal")},
        chats={"discord:default:1": ToolRules(admin_profile="chat")},
    )

    assert names(settings, said(by=BOSS, at="discord:default:2")) == ALL
    assert names(settings, said(by=BOSS, at="discord:default:1")) == CHAT


def test_the_place_is_where_the_message_came_from_not_the_session_it_goes_on_in() -> None:
    settings = ToolsSettings(chats={"discord:default:1": ToolRules(profile="minimal")})
    message = said(at="discord:default:1")
    moved = msgspec.structs.replace(message, session=said(at="web:default:main").session)

    assert names(settings, moved) == MINIMAL


def test_guests_have_the_least_whatever_the_place_says() -> None:
    settings = ToolsSettings(channels={"telegram": ToolRules(profile="full")}, allow=("read",))

    assert names(settings, said(role=Role.GUEST)) == MINIMAL | {"read"}


some_names = st.lists(st.sampled_from([*sorted(ALL), "*", "web_*", "group:files", "nothing"]), max_size=4)


@given(
    deny=some_names,
    allow=some_names,
    profile=st.sampled_from(sorted(PROFILES)),
    is_trusted=st.booleans(),
    tool=st.sampled_from(TOOLS),
)
def test_denied_ranks_above_allowed_and_allowed_above_the_profile(
    deny: list[str], allow: list[str], profile: str, is_trusted: bool, tool: Tool
) -> None:
    policy = Policy(
        profile=profile,  # type: ignore[arg-type]  # it is one of them
        allow=tuple(allow),
        deny=tuple(deny),
        is_trusted=is_trusted,
    )

    def is_in(patterns: list[str] | tuple[str, ...]) -> bool:
        return f"group:{tool.group}" in patterns or any(fnmatchcase(tool.name, one) for one in patterns)

    has = policy.permits(tool)

    if is_in(deny):
        assert not has
    elif tool.name in allow:
        assert has
    elif tool.name in RISKY and not is_trusted:
        assert not has
    else:
        assert has == (is_in(allow) or is_in(PROFILES[policy.profile]))


@given(st.lists(some_names, min_size=3, max_size=3), st.lists(some_names, min_size=3, max_size=3))
def test_a_place_can_not_give_back_what_is_denied_above_it(
    allow: list[list[str]], deny: list[list[str]]
) -> None:
    settings = ToolsSettings(
        allow=tuple(allow[0]),
        deny=tuple(deny[0]),
        channels={"discord": ToolRules(profile="full", allow=tuple(allow[1]), deny=tuple(deny[1]))},
        chats={"discord:default:1": ToolRules(allow=tuple(allow[2]), deny=tuple(deny[2]))},
    )

    found = names(settings, said(by=BOSS, at="discord:default:1"))

    assert not any(fnmatchcase(name, one) for name in found for part in deny for one in part)


# --- settings


class Whole(BaseSettings):
    """Settings with nothing but this section, read as the bot reads its own."""

    model_config = SettingsConfigDict(
        env_prefix="BOT_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    tools: ToolsSettings = ToolsSettings()


def test_the_rules_can_be_written_into_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TOOLS__PROFILE", "coding")
    monkeypatch.setenv("BOT_TOOLS__DENY", "exec, web_*")
    monkeypatch.setenv("BOT_TOOLS__CHANNELS__TELEGRAM__PROFILE", "minimal")
    monkeypatch.setenv("BOT_TOOLS__CHANNELS__TELEGRAM__ALLOW", "read,write")

    tools = Whole().tools

    assert (tools.profile, tools.deny) == ("coding", ("exec", "web_*"))
    assert tools.channels == {"telegram": ToolRules(profile="minimal", allow=("read", "write"))}


def test_the_rules_can_be_written_into_a_file() -> None:
    text = """
        [tools]
        allow = ["exec"]
        [tools.channels.telegram]
        profile = "minimal"
        [tools.chats."discord:default:123"]
        deny = ["web_*"]
    """
    tools = Whole.model_validate(tomllib.loads(text)).tools

    assert tools.channels["telegram"].profile == "minimal"
    assert tools.chats["discord:default:123"].deny == ("web_*",)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"profile": "everything"}, "profile"),
        ({"admin_profile": ""}, "admin_profile"),
        ({"channels": {"telegram": {"profile": "all"}}}, "channels.telegram.profile"),
        ({"chats": {"discord": {}}}, "chats.discord"),
        ({"chats": {"discord:default": {}}}, "chats.discord:default"),
        ({"channels": {"discord:default": {}}}, "channels.discord:default"),
        ({"channels": {"discord": {"allwo": ["exec"]}}}, "channels.discord.allwo"),
        ({"result_limit": 999}, "result_limit"),
        ({"batch_timeout": 0}, "batch_timeout"),
        ({"gate_timeout": float("inf")}, "gate_timeout"),
    ],
)
def test_what_can_not_be_meant_stops_the_start(values: dict[str, object], place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ToolsSettings.model_validate(values)

    [fault] = caught.value.errors()
    assert ".".join(str(part) for part in fault["loc"]).startswith(place)
