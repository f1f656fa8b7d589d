"""A model server that costs next to nothing: a bare protocol, its answers encoded beforehand.

`python -m bench.model_server` says its port on standard output and serves until standard input is closed.
The path says how it answers: `/now/v1` with all tokens at once, `/paced/v1` with the first after 300 ms and
the others 20 ms apart, `/held/v1` with the first and then silence, `/calling/v1` with three tool calls, and
after their results like `/now/v1`.
"""

import asyncio
import json
import re
import sys
from typing import ClassVar

from bench.machine import pin, run_loop

TOKENS = tuple(f"word{number:02d} " for number in range(50))
TEXT = "".join(TOKENS)
FIRST = 0.3  # seconds
GAP = 0.02  # seconds
SCHEDULE = FIRST + (len(TOKENS) - 1) * GAP  # seconds that a paced answer takes by itself

TICK = 0.001
SLOTS = 512  # of the wheel; the longest wait has to be shorter than `SLOTS * TICK`

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSAL = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def _piece(data: str) -> bytes:
    """An event in an HTTP chunk of its own, as servers send it."""
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


def _chunk(**rest: object) -> bytes:
    head = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1_700_000_000}
    return _piece(json.dumps({**head, "model": "bench", **rest}))


def _choice(delta: dict[str, object], finish: str | None = None) -> bytes:
    return _chunk(choices=[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])


USAGE = {"prompt_tokens": 200, "completion_tokens": 50, "total_tokens": 250}
END = _chunk(choices=[], usage=USAGE) + _piece("[DONE]") + b"0\r\n\r\n"
TAIL = _choice({}, "stop") + END
PIECES = [_choice({"content": token}) for token in TOKENS]
PIECES[-1] += TAIL
AT_ONCE = HEAD + b"".join(PIECES)
CALLS = [
    {
        "index": index,
        "id": f"call_{index}",
        "type": "function",
        "function": {
            "name": f"look_up_{index:02d}",
            "arguments": json.dumps({"place": "Lisbon", "day": index}),
        },
    }
    for index in range(3)
]
CALLING = HEAD + _choice({"tool_calls": CALLS}) + _choice({}, "tool_calls") + END
RESULT = b'"role":"tool"'


class Wheel:
    """One timer for all streams: at each tick those are served that are due."""

    def __init__(self) -> None:
        self._slots: list[list[Conversation]] = [[] for _ in range(SLOTS)]
        self._tick = 0
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._turn()

    def add(self, conversation: "Conversation", seconds: float) -> None:
        """Call `step` after so many seconds, counted from the tick that is being served."""
        self._slots[(self._tick + round(seconds / TICK)) % SLOTS].append(conversation)

    def _turn(self) -> None:
        now = int((self._loop.time() - self._began) / TICK)
        while self._tick < now:
            self._tick += 1
            slot = self._tick % SLOTS
            due, self._slots[slot] = self._slots[slot], []
            for conversation in due:
                conversation.step()
        self._loop.call_at(self._began + (self._tick + 1) * TICK, self._turn)


class Conversation(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    __slots__ = ("_buffer", "_sent", "_transport")
    wheel: ClassVar[Wheel]

    def __init__(self) -> None:
        self._buffer = b""
        self._sent = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's has no common base

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._buffer += data
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        length = LENGTH.search(head)
        if length is None or len(body) >= int(length[1]):
            self._buffer = b""
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if self._transport is None:
            return
        if head.startswith(b"POST /now/"):
            self._transport.write(AT_ONCE)
        elif head.startswith(b"POST /calling/"):
            self._transport.write(AT_ONCE if RESULT in body else CALLING)
        elif head.startswith(b"POST /paced/"):
            self._transport.write(HEAD)
            self._sent = 0
            self.wheel.add(self, FIRST)
        elif head.startswith(b"POST /held/"):
            self._transport.write(HEAD + PIECES[0])
        else:
            self._transport.write(REFUSAL)

    def step(self) -> None:
        """Send the next token of a paced answer."""
        if self._transport is None:
            return
        self._transport.write(PIECES[self._sent])
        self._sent += 1
        if self._sent < len(PIECES):
            self.wheel.add(self, GAP)


async def serve() -> None:
    """Serve until standard input ends, as it does when who started us is gone."""
    loop = asyncio.get_running_loop()
    Conversation.wheel = Wheel()
    server = await loop.create_server(Conversation, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    pin("server")
    run_loop(serve())
