"""Server-sent events, read from bytes as they come off the wire.

Source: WHATWG HTML, section 9.2.6 "Interpreting an event stream", with one difference: an event that the end
of the stream cuts off before its blank line counts (`flush`), because many servers leave that line out.
"""

MAX_EVENT_BYTES = 8 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class OversizedEvent(ValueError):
    """An event is longer than the reader may hold."""


class SseReader:
    """Cuts a stream into the data of its events; comments, ids and event names are passed over.

    Args:
        max_bytes: The longest event, its comments and field names included.
    """

    __slots__ = ("_after_cr", "_began", "_buffer", "_max_bytes")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._after_cr = False
        self._began = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more of the stream; gives the data of the events that are whole by now.

        Raises:
            OversizedEvent: An event is longer than `max_bytes`; the reader is of no use afterwards.
        """
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_line_feeds(chunk)
        buffer = self._buffer
        if not buffer:
            if self._began and len(chunk) <= self._max_bytes and _is_one_event(chunk):
                return [chunk[6:-2]]
            return self._cut(chunk)
        seam = len(buffer) - 1
        buffer += chunk
        if buffer.find(b"\n\n", seam) < 0:
            self._check(len(buffer) - 1)
            return []
        held = bytes(buffer)
        buffer.clear()
        return self._cut(held)

    def flush(self) -> list[bytes]:
        """The last event, where the stream ended without a blank line after it.

        Raises:
            OversizedEvent: It is longer than `max_bytes`.
        """
        block = bytes(self._buffer).removesuffix(b"\n")
        self._buffer.clear()
        self._check(len(block))
        return self._parse(block)

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """Turn CR LF and CR into LF; the LF of a pair that two reads share is dropped with the second."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _cut(self, stream: bytes) -> list[bytes]:
        """Take the events out of `stream` and keep what follows the last blank line."""
        *blocks, rest = stream.split(b"\n\n")
        if rest:
            self._check(len(rest) - 1)
            self._buffer += rest
        if blocks and len(stream) <= self._max_bytes and stream.count(b"\n") == 2 * len(blocks):
            events = [block[6:] for block in blocks if block.startswith(b"data: ")]
            if len(events) == len(blocks):  # a data line each, as nearly always
                self._began = True
                return events
        events = []
        for block in blocks:
            self._check(len(block))
            if block.startswith(b"data: ") and b"\n" not in block:
                self._began = True
                events.append(block[6:])
            else:
                events += self._parse(block)
        return events

    def _parse(self, block: bytes) -> list[bytes]:
        """The data of one event, its lines joined; none where it has no data field."""
        if not self._began:
            block = block.removeprefix(BOM)
            self._began = True
        values = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            if name == b"data":
                values.append(value.removeprefix(b" "))
        return [b"\n".join(values)] if values else []

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise OversizedEvent(f"an event of the stream is longer than {self._max_bytes} bytes")


def _is_one_event(chunk: bytes) -> bool:
    """Whether this is one data line and its blank line: what a read brings when tokens come one by one."""
    return chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") and chunk.count(b"\n") == 2
