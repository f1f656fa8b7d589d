"""The operator's files that go into every prompt, read again only when they change."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bot.messages import Frozen

log = logging.getLogger(__name__)

INSTRUCTIONS = ("AGENTS.md", "USER.md")
IDENTITY = ("SOUL.md", "IDENTITY.md")
MAX_FILE = 4_000  # characters of one file
MAX_ALL = 12_000  # characters of all files
FRESH = 1.0  # seconds in which the disk is not asked again


class WorkspaceTexts(Frozen, frozen=True, kw_only=True):
    """What the files say: `context` about the work, `identity` about who the bot is."""

    context: str = ""
    identity: str = ""


def compose(files: Mapping[str, str]) -> WorkspaceTexts:
    """What files say, by their names: those that are not about who the bot is are about its work."""
    order = (*INSTRUCTIONS, *sorted(set(files) - {*INSTRUCTIONS, *IDENTITY}))
    return WorkspaceTexts(
        context="\n\n".join(f"# {name}\n{files[name]}" for name in order if files.get(name)),
        identity="\n\n".join(files[name] for name in IDENTITY if files.get(name)),
    )


class Workspace:
    """Keeps the texts, and looks for changes at most once a second, in a thread."""

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory = directory
        self._clock = clock
        self._texts = WorkspaceTexts()
        self._files: dict[str, str] = {}
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._fresh_until = float("-inf")

    async def texts(self) -> WorkspaceTexts:
        """The texts of the files as they are now, or were within the last second.

        One look at the disk is enough for all who ask meanwhile: they get what was there before.
        """
        if (now := self._clock()) >= self._fresh_until:
            if self._seen is not None:
                self._fresh_until = now + FRESH
            await asyncio.to_thread(self._refresh)
            self._fresh_until = self._clock() + FRESH
        return self._texts

    async def files(self) -> Mapping[str, str]:
        """The files that there are, by name."""
        await self.texts()
        return self._files

    def _refresh(self) -> None:
        seen = tuple(_stamp(self.directory / name) for name in (*INSTRUCTIONS, *IDENTITY))
        if seen == self._seen:
            return
        left = MAX_ALL
        texts: dict[str, str] = {}
        for name in (*IDENTITY, *INSTRUCTIONS):
            text = _read(self.directory / name, min(MAX_FILE, left))
            left -= min(len(text), left)
            texts[name] = text
        self._files = {name: text for name, text in texts.items() if text}
        self._texts = compose(self._files)
        self._seen = seen


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:  # not there, or not to be read: both mean that the prompt goes without it
        return path.name, 0, 0
    return path.name, status.st_mtime_ns, status.st_size


def _read(path: Path, limit: int) -> str:
    """The text of a file, or as much of it as may be shown, and then a word about the cut."""
    try:
        text = path.read_text("utf-8", errors="replace").strip() if path.is_file() else ""
    except OSError as error:
        log.warning("workspace file not read", extra={"file": path.name, "cause": str(error)})
        return ""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[… cut: {limit:,} of {len(text):,} characters are shown]"
