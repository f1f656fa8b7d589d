"""One line of the audit log: its place in the chain, and its seal.

A line is JSON. Its last two fields are `hash`, which covers the bytes before it and the `hash` of the line
before, and `seal`, the hash under a key. Whoever changes, removes or moves a line breaks the chain behind it;
whoever makes a new chain lacks the key.
"""

import hashlib
import hmac
import os
import re
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

import msgspec

from bot.agent.audit import AuditEntry
from bot.errors import StoreError
from bot.messages import encoder

START: Final = "0" * 64  # stands for the hash of the line before the first one
MAX_LINE: Final = 1 << 20  # bytes; what we write is far below it
ACTOR: Final = "audit"  # of the lines that the log writes about itself
BEGUN: Final = "file begun"
REMOVED: Final = "file removed"
CHECKPOINT: Final = "checkpoint"
SEAL_SIGNS: Final = 32
KEY_SIGNS: Final = 64

_END: Final = re.compile(rb',"hash":"([0-9a-f]{64})","seal":"([0-9a-f]{32})"\}\n')
_END_BYTES: Final = len(b',"hash":"","seal":""}\n') + 64 + SEAL_SIGNS

decode_entry = msgspec.json.Decoder(AuditEntry).decode


class Read(NamedTuple):
    """A line that was read: `body` is what the hash covers."""

    entry: AuditEntry
    body: bytes
    hash: str
    seal: str


def hash_of(body: bytes, previous: str) -> str:
    """The hash of a line that stands behind the line with the hash `previous`."""
    return hashlib.sha256(previous.encode() + body).hexdigest()


def seal_of(hash_: str, key: bytes) -> str:
    """What only who has the key can make of a hash."""
    return hmac.digest(key, hash_.encode(), "sha256").hex()[:SEAL_SIGNS]


def write_line(entry: AuditEntry, previous: str, key: bytes) -> tuple[bytes, str]:
    """The bytes of a line, and its hash."""
    body = encoder.encode(entry)
    hash_ = hash_of(body, previous)
    return body[:-1] + f',"hash":"{hash_}","seal":"{seal_of(hash_, key)}"}}\n'.encode(), hash_


def read_line(raw: bytes) -> Read | None:
    """Take a line apart; `None` where it is none of ours."""
    match = _END.fullmatch(raw, max(0, len(raw) - _END_BYTES))
    if match is None:
        return None
    body = raw[: match.start()] + b"}"
    try:
        return Read(decode_entry(body), body, match[1].decode(), match[2].decode())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def is_sealed(read: Read, key: bytes) -> bool:
    """Whether the seal of a line is that of its hash."""
    return hmac.compare_digest(read.seal, seal_of(read.hash, key))


def key_path(directory: Path) -> Path:
    """Where the key of a log is: beside the directory, so that a copy of the log does not carry it."""
    return directory.with_name(f"{directory.name}.key")


def read_key(directory: Path) -> bytes | None:
    """The key of a log; `None` where there is none.

    Raises:
        StoreError: It is there, but is no key, or may not be read.
    """
    path = key_path(directory)
    try:
        text = path.read_text("ascii").strip()
        if len(text) != KEY_SIGNS:
            raise StoreError(f"{path} is no key: it has {len(text)} characters, not {KEY_SIGNS}")
        return bytes.fromhex(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} can't be read: {error}") from error


def make_key(directory: Path) -> bytes:
    """The key of a log, made where there is none; only the owner may read it.

    Raises:
        OSError: It can't be written.
        StoreError: See `read_key`.
    """
    found = read_key(directory)
    if found is not None:
        return found
    text = token_hex(KEY_SIGNS // 2)
    draft = key_path(directory).with_suffix(".new")  # a crash must not leave half a key behind
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(key_path(directory))
    return bytes.fromhex(text)
