"""Keeps what tools give within bounds: the model gets beginning and end, and can read on in the rest."""

import asyncio
import hashlib
import logging
import os
import re
import shutil
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bot.messages import SessionKey
from bot.tools.base import Place, Tool, ToolContext, ToolFault
from bot.tools.declare import declare

log = logging.getLogger(__name__)

LIMIT = 32_000  # characters of a result that go to the model
LEAST = 1_000  # below it there would be little but the word about the cut
PAGE = 16_000  # characters that are read on at a time
FOOTER = 200  # the most characters of the line under a page
MAX_KEPT = 50  # results of one session
MAX_BYTES = 5_000_000  # of one result
UNKEPT = "\n[the rest was too long to be kept]"
KEEP_SECONDS = 5.0
PIECE = 65_536  # characters cleaned at a time; between two pieces the event loop gets its turn

ID = re.compile(r"r[1-9][0-9]{0,8}")
VISIBLE: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}


class Results:
    """Caps results, and reads on in those that were capped.

    Args:
        directory: Where the whole texts are kept, a folder a session.
        limit: The longest result, in characters.
    """

    def __init__(self, directory: Path, *, limit: int = LIMIT) -> None:
        if limit < LEAST:
            raise ValueError(f"a limit of {limit} characters is below {LEAST}")
        self._artifacts = Artifacts(directory)
        self._limit = limit

    async def cap(self, session: SessionKey, text: str) -> str:
        """The text as the model gets it; where that is not all of it, the whole is kept for `read_result`."""
        text = await clean(text)
        if len(text) <= self._limit:
            return text
        return shorten(text, self._limit, await self._keep(session, text))

    async def _keep(self, session: SessionKey, text: str) -> str | None:
        """Keep it, unless the disk is full or no thread gets round to it: the turn goes on without."""
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                return await asyncio.to_thread(self._artifacts.keep, session, text)
        except OSError as error:  # a timeout is one, too
            log.warning("tool result not kept", extra={"cause": repr(error)})
            return None

    async def read_result(
        self,
        context: ToolContext,
        id: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] = PAGE,
    ) -> str:
        """Read on in a result that was shortened.

        Args:
            id: As the shortened result names it, like "r3".
            offset: The first character to read.
            limit: At most 16000.
        """
        text = await asyncio.to_thread(self._artifacts.read, context.session, id)
        size = len(text)
        if offset >= size:
            raise ToolFault(f"{id} has {size} characters: give an offset below that.")
        page = text[offset : offset + min(limit, PAGE, self._limit - FOOTER)]
        end = offset + len(page)
        rest = "this is its end" if end == size else f"go on with offset={end}"
        return f"{page}\n[characters {offset} to {end} of {size} of {id}; {rest}]"

    async def forget(self, session: SessionKey) -> None:
        """Delete what is kept of a session."""
        await asyncio.to_thread(self._artifacts.forget, session)

    async def sweep(self, *, seconds: float) -> None:
        """Delete what is kept of sessions that have kept nothing new for so long."""
        await asyncio.to_thread(self._artifacts.sweep, time.time() - seconds)

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.read_result,
                group="results",
                effects=("reads_private", "reads_untrusted"),
                place=Place(kind="name", argument="id"),
                is_idempotent=True,
            ),
        )


class Artifacts:
    """Texts on the disk, numbered within their session; the methods block."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, session: SessionKey, text: str) -> str:
        """Keep a text, or as much of its beginning as may be kept; gives its id.

        Raises:
            OSError: It could not be written; nothing is left of it.
        """
        folder = self._folder(session)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, path = _create(folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(_within(text, MAX_BYTES))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        for number in _numbers(folder)[:-MAX_KEPT]:
            (folder / f"r{number}.txt").unlink(missing_ok=True)
        return path.stem

    def read(self, session: SessionKey, name: str) -> str:
        """The text that was kept.

        Raises:
            ToolFault: There is none of this id in the session.
        """
        path = self._folder(session) / f"{name}.txt"
        if ID.fullmatch(name) is None or not path.is_file():
            raise ToolFault(
                f"There is no result {name[:64]!r} in this session; the last {MAX_KEPT} long ones are kept. "
                "Call the tool again that gave it."
            )
        return path.read_bytes().decode()

    def forget(self, session: SessionKey) -> None:
        """Delete all of a session."""
        shutil.rmtree(self._folder(session), ignore_errors=True)

    def sweep(self, before: float) -> None:
        """Delete all of the sessions whose newest text is older, in seconds since 1970."""
        if not self._directory.is_dir():
            return
        for folder in self._directory.iterdir():
            if folder.is_dir() and folder.stat().st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, session: SessionKey) -> Path:
        return self._directory / hashlib.sha256(session.encode(errors="replace")).hexdigest()[:32]


def _create(folder: Path) -> tuple[int, Path]:
    """Open a file under the next free number; two results at once get different ones."""
    while True:
        number = max(_numbers(folder), default=0) + 1
        path = folder / f"r{number}.txt"
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path
        except FileExistsError:
            continue


def _within(text: str, size: int) -> bytes:
    """A text, or its beginning and a word about the cut, in no more bytes than that."""
    data = text.encode()
    if len(data) <= size:
        return data
    word = UNKEPT.encode()
    return data[: size - len(word)].decode(errors="ignore").encode() + word


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.stem[1:]) for path in folder.glob("r*.txt") if ID.fullmatch(path.stem))


async def clean(text: str) -> str:
    """The text with control characters that can be seen, and without halves of characters."""
    text = text.replace("\r\n", "\n")
    pieces = [text[:PIECE].translate(VISIBLE)]
    for at in range(PIECE, len(text), PIECE):
        await asyncio.sleep(0)
        pieces.append(text[at : at + PIECE].translate(VISIBLE))
    return "".join(pieces)


def shorten(text: str, limit: int, name: str | None) -> str:
    """The beginning and the end of a text that is too long, cut at line ends where there are some near.

    Args:
        limit: The most characters, the word about the cut included.
        name: Where the whole is kept.
    """
    room = limit - len(_word(len(text), len(text), len(text), name))
    head, tail = room * 2 // 3, len(text) - (room - room * 2 // 3)
    if (line := text.rfind("\n", head - head // 8, head)) >= 0:
        head = line + 1
    if (line := text.find("\n", tail - 1, tail + room // 24)) >= 0:
        tail = line + 1
    return text[:head] + _word(tail - head, len(text), head, name) + text[tail:]


def _word(missing: int, size: int, offset: int, name: str | None) -> str:
    way = f'read on with read_result("{name}", offset={offset})' if name else "they could not be kept"
    return f"\n[… {missing} of {size} characters are left out here: {way} …]\n"
