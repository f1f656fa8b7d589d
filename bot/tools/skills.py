"""Skills: folders with instructions that the model reads only when a task needs them."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

from bot.messages import Frozen
from bot.tools.base import ToolFault
from bot.tools.front_matter import parse_front_matter
from bot.tools.workspace import UNSEEN, Entry, Jail, Missing

log = logging.getLogger(__name__)

FILE = "SKILL.md"
MAX_HEAD = 16_000  # bytes read of a file; the head is in them
MAX_SKILLS = 200
MAX_PROMPT = 4_000  # characters
MAX_NAME = 64  # characters
MAX_DESCRIPTION = 400  # characters
FOLDER = re.compile(r"\w[\w .-]{0,63}")
FRESH = 1.0  # seconds in which the disk is not asked again
HEADER = """\
# Skills
Before a task that one of these is for, read `skills/<name>/SKILL.md` with the tool `read`, and follow it."""
MORE = "- … and {count} more: `list` skills"


class Skill(Frozen, frozen=True, kw_only=True):
    """One skill: its line for the prompt, or why it has none."""

    entry: Entry
    line: str = ""
    fault: str = ""


class Skills:
    """Keeps what is told about the skills of a folder, and reads a file again only when it changes.

    Args:
        is_harmless: Whether the beginning of a file does not read like an attack; called in a thread.
    """

    def __init__(
        self,
        directory: Path,
        *,
        is_harmless: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_harmless = is_harmless
        self._jail = Jail(directory)
        self._clock = clock
        self._known: dict[str, Skill] = {}
        self._text = ""
        self._fresh_until = float("-inf")

    async def prompt(self) -> str:
        """The section for the prompt, the same bytes as long as nothing changes; empty without skills."""
        if self._clock() >= self._fresh_until:
            self._text = await asyncio.to_thread(self._refresh)
            self._fresh_until = self._clock() + FRESH
        return self._text

    def _refresh(self) -> str:
        known = self._known
        skills = {}
        for entry in self._files():
            skill = known.get(entry.path)
            skills[entry.path] = skill if skill and skill.entry == entry else self._look(entry)
        self._known = skills
        return _section([skill.line for skill in skills.values() if not skill.fault])

    def _files(self) -> list[Entry]:
        """The SKILL.md of each folder that has one, sorted by folder."""
        try:
            folders = [entry for entry in self._jail.entries(".") if entry.kind == "directory"]
        except Missing:
            return []
        except ToolFault as error:
            log.debug("skills not read", extra={"cause": str(error)})
            return []
        found = []
        for folder in folders[:MAX_SKILLS]:
            try:
                found.append(self._jail.stat(f"{folder.path}/{FILE}"))
            except ToolFault:  # a folder of something else
                continue
        return found

    def _look(self, entry: Entry) -> Skill:
        try:
            text = self._jail.read(entry.path, MAX_HEAD).decode("utf-8", "replace")
            if self._is_harmless is not None and not self._is_harmless(text):
                raise ValueError("it reads like an attack on the bot; nothing of it is told to the model")
            return Skill(entry=entry, line=_line(entry.path.split("/")[0], text))
        except (ToolFault, ValueError) as error:
            log.warning("skill left out", extra={"file": entry.label, "cause": str(error)})
            return Skill(entry=entry, fault=str(error))


def _line(folder: str, text: str) -> str:
    """What the prompt says of a skill; the folder is what the model needs to find it.

    Raises:
        ValueError: It has no proper head, or a folder that can't stand in a prompt.
    """
    if FOLDER.fullmatch(folder) is None:
        raise ValueError("the folder's name has to be of letters, digits, spaces, dots and dashes")
    front = parse_front_matter(text)
    name, description = front.get("name"), front.get("description")
    if name is None or description is None or not name.text or not description.text:
        raise ValueError("its head needs a name and a description")
    called = _plain(name.text, MAX_NAME)
    title = folder if called == folder else f"{folder} ({called})"
    return f"- {title}: {_plain(description.text, MAX_DESCRIPTION)}"


def _plain(text: str, limit: int) -> str:
    text = " ".join(UNSEEN.sub(" ", text).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _section(skills: list[str]) -> str:
    if not skills:
        return ""
    lines = [HEADER]
    room = MAX_PROMPT - len(HEADER) - len(MORE.format(count=MAX_SKILLS)) - 1
    for number, line in enumerate(skills):
        room -= len(line) + 1
        if room < 0:
            lines.append(MORE.format(count=len(skills) - number))
            break
        lines.append(line)
    return "\n".join(lines)
