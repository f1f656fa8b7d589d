"""Prompts with pictures: strict servers take what goes out, and older pictures make room for newer ones."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.base import FunctionCall, ModelRequest, Picture, PromptMessage, ToolCall, ToolSchema
from bot.models.picture_files import MAX_PICTURES, MAX_TOTAL, FilePicture, parse_picture
from bot.models.pictures import (
    BLIND,
    MAX_SHOWN,
    NO_ROOM,
    is_of_results,
    keep_newest,
    left_out,
    pictures_in,
    show_results,
)
from bot.models.wire import Dialect, encode_request
from tests.pictures import GIF, JPEG, WEBP_LOSSY, png
from tests.simulators.strict import find_fault


def picture_of(data: bytes) -> FilePicture:
    picture = parse_picture(data)
    assert picture is not None
    return picture


PNG = picture_of(png())
PLAIN = Picture(mime="image/gif", data=GIF)  # as a plugin may make one
PICTURES = st.lists(st.sampled_from([PNG, PLAIN, picture_of(JPEG), picture_of(WEBP_LOSSY)]), max_size=4).map(
    tuple
)
TEXTS = st.text(max_size=12) | st.sampled_from(["", " ", "half \ud83d", "é", '"quoted"'])


def said(content: str, *pictures: Picture) -> PromptMessage:
    return PromptMessage(role="user", content=content, pictures=pictures)


def step(number: int, results: Sequence[tuple[str, tuple[Picture, ...]]]) -> list[PromptMessage]:
    """A step of a turn, as the backends put it into a prompt."""
    calls = tuple(
        ToolCall(id=f"c{number}.{index}", function=FunctionCall(name="read", arguments="{}"))
        for index in range(len(results))
    )
    answers = [
        PromptMessage(role="tool", content=text, tool_call_id=call.id)
        for call, (text, _) in zip(calls, results, strict=True)
    ]
    shown = show_results([("read", pictures) for _, pictures in results])
    return [
        PromptMessage(role="assistant", content="", tool_calls=calls),
        *answers,
        *([shown] if shown else []),
    ]


SAID = st.builds(
    lambda role, content, pictures: [PromptMessage(role=role, content=content, pictures=pictures)],
    st.sampled_from(["system", "user", "assistant"]),
    TEXTS,
    PICTURES,
)
RESULTS = st.lists(st.tuples(TEXTS, PICTURES), min_size=1, max_size=3)
PROMPTS = st.lists(SAID | RESULTS, min_size=1, max_size=8).map(
    lambda parts: tuple(
        message
        for number, part in enumerate(parts)
        for message in (part if isinstance(part[0], PromptMessage) else step(number, part))
    )
)


def sent(*messages: PromptMessage, has_pictures: bool = True) -> list[dict[str, object]]:
    request = ModelRequest(model="m", messages=messages, max_completion_tokens=9)
    body: dict[str, list[dict[str, object]]] = json.loads(
        encode_request(request, Dialect(), has_pictures=has_pictures)
    )
    return body["messages"]


@given(messages=PROMPTS, has_pictures=st.booleans())
def test_whatever_stands_in_a_prompt_a_strict_server_takes_it(
    messages: tuple[PromptMessage, ...], has_pictures: bool
) -> None:
    out = sent(*messages, has_pictures=has_pictures)

    assert find_fault(out) is None
    assert [part["role"] for part in out] == [message.role for message in messages]
    shown = sum(len(message.pictures) for message in messages if message.role == "user")
    assert json.dumps(out).count('"image_url":') == (shown if has_pictures else 0)


@given(messages=PROMPTS)
def test_a_prompt_without_pictures_goes_out_as_it_always_did(messages: tuple[PromptMessage, ...]) -> None:
    bare = tuple(left_out(message, BLIND) for message in messages)
    request = ModelRequest(model="m", messages=bare, max_completion_tokens=9)

    assert encode_request(request, Dialect()) == encode_request(request, Dialect(), has_pictures=False)
    assert sent(*bare) == sent(*messages, has_pictures=False)


def test_text_and_pictures_are_parts_of_one_message() -> None:
    [out] = sent(said("what is it?", PNG, PLAIN))

    assert out == {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG.base64.decode()}"}},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64," + _base64(GIF)}},
        ],
    }


def _base64(data: bytes) -> str:
    return picture_of(data).base64.decode()


def test_a_mime_type_can_not_break_out_of_its_place() -> None:
    [out] = sent(said("", Picture(mime='image/png"},"x":{"', data=b"x")))

    assert out["content"] == [
        {"type": "image_url", "image_url": {"url": 'data:image/png"},"x":{";base64,eA=='}}
    ]


@pytest.mark.parametrize(
    ("pictures", "content", "told"),
    [
        ((PNG,), "look", "look\n[picture left out: because]"),
        ((PNG, PNG), "", "[2 pictures left out: because]"),
    ],
)
def test_a_line_stands_in_the_place_of_pictures_that_are_left_out(
    pictures: tuple[Picture, ...], content: str, told: str
) -> None:
    assert left_out(said(content, *pictures), "because") == said(told)


def test_pictures_of_results_follow_as_one_message_that_says_whose_they_are() -> None:
    shown = show_results([("read", (PNG,)), ("none", ()), ("web_fetch", (PLAIN, PNG))])

    assert shown is not None
    assert shown.content.startswith("[Pictures from tools: 1 from `read`, 2 from `web_fetch`.")
    assert shown.pictures == (PNG, PLAIN, PNG)
    assert is_of_results(shown)
    assert is_of_results(left_out(shown, NO_ROOM))
    assert show_results([("read", ())]) is None


def test_results_show_no_more_pictures_than_a_message_may_have() -> None:
    shown = show_results([("a", (PNG,) * 6), ("b", (PNG,) * 6), ("c", (PNG,))])

    assert shown is not None
    assert len(shown.pictures) == MAX_PICTURES
    assert "6 from `a`, 2 from `b`, 5 more left out." in shown.content


def test_as_long_as_there_is_room_every_picture_stays() -> None:
    messages = tuple(said(f"{number}", PNG) for number in range(MAX_SHOWN))

    assert keep_newest(messages) is messages


@given(groups=st.lists(st.integers(0, MAX_PICTURES), max_size=12), size=st.sampled_from([100, 2_000_000]))
def test_when_there_is_no_more_room_the_newest_pictures_stay(groups: list[int], size: int) -> None:
    picture = Picture(mime="image/png", data=bytes(size))
    messages = tuple(said(f"{index}", *(picture,) * count) for index, count in enumerate(groups))
    kept = keep_newest(messages)
    counts = [len(message.pictures) for message in kept]
    newest = next((count for count in reversed(counts) if count), 0)

    assert len(pictures_in(kept)) <= MAX_SHOWN
    assert size * len(pictures_in(kept)) <= max(MAX_TOTAL, size * newest)
    assert newest == next((count for count in reversed(groups) if count), 0)
    first = next((index for index, count in enumerate(counts) if count), len(counts))
    assert counts[first:] == groups[first:]
    assert all(count == 0 or NO_ROOM in kept[index].content for index, count in enumerate(groups[:first]))
    assert keep_newest(kept) is kept


def test_what_was_made_room_for_stays_put_for_some_steps() -> None:
    messages = keep_newest(tuple(said(f"{number}", PNG) for number in range(MAX_SHOWN + 1)))

    for number in range(MAX_SHOWN // 2):
        longer = (*messages, said(f"more {number}", PNG))
        messages = keep_newest(longer)
        assert messages is longer


def test_tools_and_pictures_go_out_together() -> None:
    tool = ToolSchema(name="read", description="Reads.", parameters=b'{"type":"object"}')
    request = ModelRequest(model="m", messages=(said("", PNG),), max_completion_tokens=9, tools=(tool,))
    body = json.loads(encode_request(request, Dialect()))

    assert body["tools"][0]["function"]["name"] == "read"
    assert find_fault(body["messages"]) is None
