"""The event reader: the same events whatever the reads, and nothing but its own error for garbage."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.sse import OversizedEvent, SseReader


def read(*chunks: bytes, max_bytes: int = 1 << 20) -> list[bytes]:
    reader = SseReader(max_bytes)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.flush()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: one\n\ndata: two\n\n", [b"one", b"two"]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", [b"one", b"two"]),
        (b"data: one\r\rdata: two\r\r", [b"one", b"two"]),
        (b"data:one\n\n", [b"one"]),
        (b"data:  two spaces\n\n", [b" two spaces"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": ping\n\ndata: x\n\n: ping\n\n", [b"x"]),
        (b"event: delta\nid: 7\nretry: 10\ndata: x\n\n", [b"x"]),
        (b"data\n\n", [b""]),
        (b"database: x\n\n", []),
        (b"\xef\xbb\xbfdata: x\n\n", [b"x"]),
        (b"\n\n\n\ndata: x\n\n\n\n\ndata: y\n\n", [b"x", b"y"]),
        (b"data: cut off", [b"cut off"]),
        (b"data: cut off\n", [b"cut off"]),
        ("data: 你好 🌍\n\n".encode(), ["你好 🌍".encode()]),
        (b"", []),
    ],
)
def test_reads_what_servers_send(stream: bytes, events: list[bytes]) -> None:
    assert read(stream) == events
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == events


def test_gives_an_event_with_the_read_that_ends_it() -> None:
    reader = SseReader()

    assert reader.feed(b"data: a\r\n\r") == [b"a"]
    assert reader.feed(b"\ndata: b\r") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\n\r\n") == [b"b"]
    assert reader.feed(b"data: c\n\n") == [b"c"]


LINES = st.sampled_from(
    [b"data: x", b"data:", b"data", b": c", b"id: 1", b"", b"\xff\xfe", "data: é".encode()]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=20).map(lambda rows: b"".join(a + b for a, b in rows))


@given(stream=STREAMS | st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=10))
def test_any_chunking_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]

    assert read(*chunks) == read(stream)


@given(
    payloads=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=10
    ),
    end=ENDS,
)
def test_every_payload_comes_out_as_it_went_in(payloads: list[str], end: bytes) -> None:
    stream = b"".join(b"data: " + payload.encode() + end + end for payload in payloads)

    assert read(stream) == [payload.encode() for payload in payloads]


@given(stream=STREAMS | st.binary(max_size=300), size=st.integers(1, 40), limit=st.integers(0, 30))
def test_garbage_raises_nothing_but_the_error_of_the_reader(stream: bytes, size: int, limit: int) -> None:
    def is_refused(*chunks: bytes) -> bool:
        try:
            read(*chunks, max_bytes=limit)
        except OversizedEvent:
            return True
        return False

    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]

    assert is_refused(*chunks) == is_refused(stream)


def test_an_event_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert read(b"data: 1234\n\n", max_bytes=10) == [b"1234"]
    with pytest.raises(OversizedEvent, match="10 bytes"):
        read(b"data: 12345\n\n", max_bytes=10)


def test_a_stream_without_an_end_is_stopped_at_the_limit() -> None:
    reader = SseReader(max_bytes=1000)
    for _ in range(100):
        reader.feed(b"x" * 10)

    with pytest.raises(OversizedEvent):
        reader.feed(b"x" * 10)
