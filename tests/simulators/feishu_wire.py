"""The frames of Feishu's socket: a small protobuf, written by hand so that no SDK is needed.

Source: the message `pbbp2.Frame` that Feishu's SDKs publish; its fields and their numbers are below.
"""

from dataclasses import dataclass, field

CONTROL, DATA = 0, 1
NUMBERS = {1: "seq_id", 2: "log_id", 3: "service", 4: "method"}
HEADER, ENCODING, TYPE, PAYLOAD, LOG = 5, 6, 7, 8, 9


@dataclass(slots=True, kw_only=True)
class Frame:
    """One frame; `headers` hold the type, and of an event its id and which of how many parts this is."""

    seq_id: int = 0
    log_id: int = 0
    service: int = 1
    method: int = DATA
    headers: dict[str, str] = field(default_factory=dict)
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
    """Write a frame."""
    parts = [_key(number, 0) + _varint(getattr(frame, name)) for number, name in NUMBERS.items()]
    for key, value in frame.headers.items():
        pair = _text(1, key.encode()) + _text(2, value.encode())
        parts.append(_text(HEADER, pair))
    if frame.payload:
        parts.append(_text(PAYLOAD, frame.payload))
    return b"".join(parts)


def decode(data: bytes) -> Frame:
    """Read a frame; what is not known is passed over."""
    frame = Frame()
    for number, value in _fields(data):
        if isinstance(value, int):
            if number in NUMBERS:
                setattr(frame, NUMBERS[number], value)
        elif number == HEADER:
            pair = {key: part.decode() for key, part in _fields(value) if isinstance(part, bytes)}
            frame.headers[pair[1]] = pair[2]
        elif number == PAYLOAD:
            frame.payload = value
    return frame


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        value, at = _read_varint(data, at)
        if kind == 0:
            found.append((number, value))
        elif kind == 2:
            found.append((number, data[at : at + value]))
            at += value
        else:
            raise ValueError(f"a frame with wire type {kind}")
    return found


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _text(number: int, data: bytes) -> bytes:
    return _key(number, 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
