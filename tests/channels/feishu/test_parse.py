"""Feishu's events as inbound messages, without a connection."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import Address
from channels.feishu.parse import Heard, Me, Scope, at, parse_event, read_event

ME = Me(name="default", bot="ou_me", app="cli_me")
SCOPE = Scope(me=ME, places={})


def event(kind: str, body: dict[str, Any]) -> bytes:
    header = {"event_id": "e1", "event_type": kind, "create_time": "1700000000000"}
    return json.dumps({"schema": "2.0", "header": header, "event": body}).encode()


def heard(kind: str, content: object, **more: object) -> Heard | None:
    """What is heard of a message of a kind."""
    message = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "chat_type": "p2p",
        "message_type": kind,
        "content": json.dumps(content),
        "create_time": "1700000000000",
        **more,
    }
    sender = {"sender_id": {"open_id": "ou_ann"}, "sender_type": "user"}
    payload = event("im.message.receive_v1", {"sender": sender, "message": message})
    return parse_event(read_event(payload), SCOPE)


def text_of(kind: str, content: object, **more: object) -> str:
    found = heard(kind, content, **more)
    assert found is not None
    return found.message.text


def mention(number: int, open_id: str, name: str) -> dict[str, object]:
    return {"key": f"@_user_{number}", "id": {"open_id": open_id}, "name": name}


def test_mentions_become_names_and_ours_is_left_out() -> None:
    people = [mention(number, f"ou_{number}", f"person {number}") for number in range(2, 12)]
    mentions = [mention(1, "ou_me", "Bot"), *people]

    text = text_of("text", {"text": "@_user_1 ask @_user_10 and @_user_2, @_all"}, mentions=mentions)

    assert text == "ask @person 10 and @person 2, @all"


def test_a_rich_text_is_read_line_by_line() -> None:
    lines = [
        [{"tag": "text", "text": "See "}, {"tag": "a", "text": "this", "href": "https://example.org"}],
        [{"tag": "at", "user_id": "@_user_1", "user_name": "Bot"}, {"tag": "emotion", "emoji_type": "SMILE"}],
        [{"tag": "code_block", "language": "PYTHON", "text": "print()"}],
        [{"tag": "hr"}, {"tag": "img", "image_key": "img_1"}, {"tag": "new-thing", "what": 1}],
    ]

    found = heard("post", {"title": "Title", "content": lines}, mentions=[mention(1, "ou_me", "Bot")])

    assert found is not None
    expected = "Title\nSee this (https://example.org)\n:SMILE:\n```\nprint()\n```\n---"
    assert found.message.text == expected
    assert [one.url for one in found.message.attachments] == ["om_1/img_1/image"]


@pytest.mark.parametrize("kind", ["sticker", "share_chat", "location", "interactive", "merge_forward"])
def test_what_holds_no_text_is_named(kind: str) -> None:
    assert text_of(kind, {"file_key": "x", "elements": []}) == f"[{kind}]"


def test_what_feishu_itself_says_is_dropped() -> None:
    assert heard("system", {"template": "someone joined"}) is None


@pytest.mark.parametrize("open_id", ["ou_me", "cli_me"])
def test_what_we_say_ourselves_is_dropped(open_id: str) -> None:
    sender = {"sender_id": {"open_id": open_id}, "sender_type": "app"}
    message = {"message_id": "om_1", "chat_id": "oc_1", "content": "{}"}
    payload = event("im.message.receive_v1", {"sender": sender, "message": message})

    assert parse_event(read_event(payload), SCOPE) is None


def test_the_first_message_of_a_thread_is_in_it_like_those_that_follow() -> None:
    first = heard("text", {"text": "x"}, thread_id="omt_1")
    reply = heard("text", {"text": "x"}, thread_id="omt_1", message_id="om_2", root_id="om_1")

    assert first is not None
    assert reply is not None
    assert first.message.address.thread == reply.message.address.thread == "om_1"


def test_a_reply_outside_a_thread_is_in_none() -> None:
    found = heard("text", {"text": "x"}, root_id="om_0", parent_id="om_0")

    assert found is not None
    assert found.message.address.thread is None
    assert found.message.reply_to == "om_0"


def test_a_recall_takes_the_place_of_the_message_if_it_is_known() -> None:
    place = Address(channel="feishu", chat="oc_1", thread="om_0", is_direct=False)
    payload = event("im.message.recalled_v1", {"message_id": "om_1", "chat_id": "oc_1"})

    known = parse_event(read_event(payload), Scope(me=ME, places={"om_1": place}))
    unknown = parse_event(read_event(payload), SCOPE)

    assert known is not None
    assert unknown is not None
    assert known.message.address == place
    assert unknown.message.address.chat == "oc_1"


@pytest.mark.parametrize("value", [{}, {"other": 1}, "text", None])
def test_a_button_of_another_program_is_left_alone(value: object) -> None:
    body = {"operator": {"open_id": "ou_ann"}, "action": {"value": value}, "context": {}}

    assert parse_event(read_event(event("card.action.trigger", body)), SCOPE) is None


def test_other_events_are_left_alone() -> None:
    assert parse_event(read_event(event("im.chat.updated_v1", {"x": 1})), SCOPE) is None


def test_times_are_read_in_milliseconds_and_microseconds() -> None:
    assert at("1700000000000") == at("1700000000000000")
    assert at("1700000000000").year == 2023


@given(st.text())
def test_any_time_is_some_time(text: str) -> None:
    assert at(text).tzinfo is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(
    kind=st.sampled_from(
        ["im.message.receive_v1", "im.message.updated_v1", "im.message.recalled_v1", "card.action.trigger"]
    ),
    body=st.dictionaries(
        st.sampled_from(["sender", "message", "message_id", "chat_id", "operator", "action", "context"]), JSON
    ),
)
def test_what_is_not_of_the_form_is_said_to_be_so(kind: str, body: dict[str, Any]) -> None:
    with suppress(msgspec.DecodeError):
        parse_event(read_event(event(kind, body)), SCOPE)


@given(data=st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        read_event(data)
