"""Putting answers together: no chunk breaks it, and no cut changes a call."""

import json

from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ModelError
from bot.models.assembly import Assembler
from bot.models.base import CompleteToolCall, Finish, TextDelta

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
DELTAS = st.dictionaries(st.sampled_from(["content", "reasoning", "refusal", "tool_calls"]), JSON, max_size=3)
CHUNKS = st.fixed_dictionaries(
    {}, optional={"choices": st.lists(st.fixed_dictionaries({"delta": DELTAS})), "usage": JSON, "error": JSON}
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


def chunk(delta: dict[str, object]) -> bytes:
    return json.dumps({"choices": [{"delta": delta}]}).encode()


@given(data=st.lists(CHUNKS.map(lambda body: json.dumps(body).encode()) | st.binary(max_size=50), max_size=6))
def test_no_chunk_raises_anything_but_a_model_error(data: list[bytes]) -> None:
    assembler = Assembler("m")
    try:
        for piece in data:
            assembler.take(piece)
    except ModelError:
        return

    assert isinstance(assembler.close()[-1], Finish)


@given(
    data=st.lists(
        CHUNKS.map(lambda body: json.dumps(body).encode())
        | st.binary(max_size=9)
        | st.sampled_from([b"[DONE]", b"", b" ", b"{},{}", b"{}]", b"[{}]"]),
        max_size=6,
    )
)
def test_events_taken_together_are_what_they_are_one_by_one(data: list[bytes]) -> None:
    apart, together = Assembler("m"), Assembler("m")
    faults: list[str] = []
    try:
        for piece in data:
            apart.take(piece)
    except ModelError as error:
        faults.append(str(error))
    try:
        together.take_all(data)
    except ModelError as error:
        faults.append(str(error))

    assert len(faults) in (0, 2)
    assert len(set(faults)) <= 1
    assert (apart.is_over, apart.finish_reason) == (together.is_over, together.finish_reason)
    assert apart.drain() == together.drain()


@given(pieces=st.lists(TEXTS, max_size=10), looks=st.sets(st.integers(0, 10)))
def test_however_often_one_looks_the_text_is_the_same(pieces: list[str], looks: set[int]) -> None:
    assembler, events = Assembler("m"), []
    for number, piece in enumerate(pieces):
        assembler.take(chunk({"content": piece}))
        if number in looks:
            events += assembler.drain()
    events += assembler.close()

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(pieces)


@given(argument=TEXTS, size=st.integers(1, 7), has_index=st.booleans(), has_ids=st.booleans())
def test_two_calls_come_out_whole_however_they_are_cut(
    argument: str, size: int, has_index: bool, has_ids: bool
) -> None:
    assembler = Assembler("m")
    arguments = json.dumps({"text": argument})
    for index, name in enumerate(("first", "second")):
        where = {"index": index} if has_index else {}
        head = {"function": {"name": name, "arguments": ""}, **({"id": name} if has_ids else {}), **where}
        assembler.take(chunk({"tool_calls": [head]}))
        for at in range(0, len(arguments), size):
            piece = {"function": {"arguments": arguments[at : at + size]}, **where}
            assembler.take(chunk({"tool_calls": [piece]}))
    calls = [event.call for event in assembler.close() if isinstance(event, CompleteToolCall)]

    assert [(call.function.name, call.function.arguments) for call in calls] == [
        ("first", arguments),
        ("second", arguments),
    ]
