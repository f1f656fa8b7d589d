"""A wiki of Markdown notes in the workspace, a file a note, found by title."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from bot.messages import Frozen, utc_now
from bot.tools.base import Place, Tool, ToolFault
from bot.tools.declare import declare
from bot.tools.decoding import decode
from bot.tools.front_matter import Field, parse_front_matter
from bot.tools.nearest import nearest
from bot.tools.wiki import headings, links
from bot.tools.workspace import UNSEEN, Entry, Jail, Missing

FOLDER = "notes"
OURS = ("title", "tags", "created", "updated")
MAX_NOTES = 5_000
MAX_TEXT = 200_000  # characters of a note that is written
MAX_BYTES = 2_000_000  # of one that somebody has put there
MAX_SHOWN = 60_000  # characters of one answer to the model
MAX_TITLE = 200  # characters
MAX_STEM = 60  # characters of a file's name: with four bytes each, it still fits
MAX_TAGS = 20
TAG = re.compile(r"[^\[\]{},:#\"'`\s-][^\[\]{},:#\"'`\x00-\x1f\x7f-\x9f\u2028\u2029]{0,49}")
PAGE = 50
MAX_LINES = 200


class Note(Frozen, frozen=True, kw_only=True):
    """What is known of a note without its text.

    Attributes:
        created: As its head says; so are `updated` and `tags`.
        others: Fields of its head that are not ours, and stay as they are.
        fault: What is wrong with its head.
    """

    entry: Entry
    title: str
    tags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    others: tuple[Field, ...] = ()
    links: tuple[str, ...] = ()
    fault: str = ""


class NotesTools:
    """The tools, over one workspace; each call runs in a thread.

    Args:
        now: The clock, in UTC.
    """

    def __init__(self, jail: Jail, *, now: Callable[[], datetime] = utc_now) -> None:
        self._jail = jail
        self._now = now
        self._known: dict[str, Note] = {}

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.write,
                name="notes_write",
                group="notes",
                risk="write",
                is_idempotent=True,
                effects=(),
                place=Place(kind="note", argument="title", writes="whole"),
            ),
            _reading(self.read, "notes_read", "title"),
            _reading(self.titles, "notes_list"),
            _reading(self.recent, "notes_recent"),
            _reading(self.backlinks, "notes_backlinks"),
            _reading(self.contents, "notes_toc", "title"),
            _reading(self.errors, "notes_errors"),
        )

    def write(self, title: str, text: str, tags: tuple[str, ...] = ()) -> str:
        """Write a Markdown note into your wiki, replacing the one of that title; [[Title]] links to another.

        Args:
            tags: If left out, they stay.
        """
        title = _checked_title(title)
        tags = _checked_tags(tags)
        if len(text) > MAX_TEXT:
            raise ToolFault(f"text has {len(text):,} characters, {MAX_TEXT:,} are allowed: split the note")
        stamp = f"{self._now():%Y-%m-%dT%H:%M:%SZ}"
        with self._jail.changing:
            old = _titled(self._load(), title)
            if old is None and len(self._entries()) >= MAX_NOTES:
                raise ToolFault(f"there are {MAX_NOTES:,} notes, and no more are kept: add to one of them")
            if old is not None and old.fault:
                raise ToolFault(f"{old.entry.label} was not made with `notes_write` ({old.fault}): `edit` it")
            path = self._free_path(title) if old is None else old.entry.path
            head = _head(title, tags, old, stamp)
            self._jail.write(path, _encoded(f"{head}\n{text.rstrip()}\n"))
        return f"{'Created' if old is None else 'Replaced'} {title!r} in {path}."

    def read(self, title: str) -> str:
        """Read a note."""
        note = self._find(title)
        text = self._text(note.entry)
        if len(text) <= MAX_SHOWN:
            return text
        return f"{text[:MAX_SHOWN]}\n[cut: `read` {note.entry.label} to see the rest]"

    def titles(self, page: int = 1) -> str:
        """List the notes by title, 50 a page."""
        notes = sorted(self._load(), key=lambda note: _key(note.title))
        pages = max(1, -(-len(notes) // PAGE))
        page = min(max(1, page), pages)
        lines = [_line(note) for note in notes[(page - 1) * PAGE : page * PAGE]]
        return "\n".join([*lines, f"[page {page} of {pages}, {len(notes):,} notes]"])

    def recent(self, count: int = 10) -> str:
        """List the notes that were written last, newest first."""
        notes = sorted(self._load(), key=lambda note: (note.updated, note.entry.modified), reverse=True)
        return "\n".join(map(_line, notes[: min(max(1, count), PAGE)])) or "There are no notes."

    def backlinks(self, title: str) -> str:
        """List the notes that link to a title, written or not."""
        notes = self._load()
        target = _named(notes, title)
        keys = {_key(title)} if target is None else {_key(title), _key(target.title), _stem(target)}
        linking = (note for note in notes if any(_key(link) in keys for link in note.links))
        return _listed(_line(note) for note in linking) or f"Nothing links to {title[:MAX_TITLE]!r}."

    def contents(self, title: str) -> str:
        """List the headings of a note, with their lines in its file."""
        note = self._find(title)
        lines = (
            f"{'  ' * (heading.depth - 1)}- {heading.text[:MAX_TITLE]} (line {heading.line})"
            for heading in headings(self._text(note.entry))
        )
        return _listed(lines) or f"{note.title!r} has no headings."

    def errors(self) -> str:
        """List links to notes that do not exist, and files with a wrong head."""
        notes = self._load()
        known = {_key(note.title) for note in notes} | {_stem(note) for note in notes}
        firsts: dict[str, str] = {}
        lines = []
        for note in notes:
            label = note.entry.label
            if note.fault:
                lines.append(f"{label}: {note.fault}")
            first = firsts.setdefault(_key(note.title), label)
            if first != label:
                lines.append(f"{label}: has the title of {first}")
            lines += [f"{label}: [[{link}]] does not exist" for link in note.links if _key(link) not in known]
        return _listed(lines) or "No errors."

    def _find(self, title: str) -> Note:
        notes = self._load()
        if note := _named(notes, title):
            return note
        alike = [notes[at].title for at in nearest(title, (note.title for note in notes), 3)]
        hint = f"there are {', '.join(map(repr, alike))}" if alike else "`notes_list` shows what there is"
        raise ToolFault(f"there is no note {title[:MAX_TITLE]!r}; {hint}")

    def _load(self) -> list[Note]:
        """All notes, by file; only those are read that have changed."""
        known = self._known
        notes = {}
        for entry in self._entries():
            if entry.kind == "file" and entry.name.endswith(".md") and not entry.name.startswith("."):
                note = known.get(entry.path)
                notes[entry.path] = note if note and note.entry == entry else self._look(entry)
        self._known = notes
        return list(notes.values())

    def _entries(self) -> list[Entry]:
        try:
            return self._jail.entries(FOLDER)
        except Missing:
            return []

    def _look(self, entry: Entry) -> Note:
        title = entry.label.removeprefix(f"{FOLDER}/").removesuffix(".md")
        try:
            text = self._text(entry)
        except ToolFault as error:
            return Note(entry=entry, title=title, fault=str(error))
        return _parsed(entry, title, text)

    def _text(self, entry: Entry) -> str:
        data = self._jail.read(entry.path, MAX_BYTES + 1)
        decoded = decode(data)
        if decoded is None or len(data) > MAX_BYTES:
            raise ToolFault(f"{entry.label} is not text, or has more than {MAX_BYTES:,} bytes")
        return decoded.text

    def _free_path(self, title: str) -> str:
        taken = {_key(entry.name) for entry in self._entries()}
        stem = _file_stem(title)
        name, number = f"{stem}.md", 1
        while _key(name) in taken:
            number += 1
            name = f"{stem}-{number}.md"
        return f"{FOLDER}/{name}"


def _reading(function: Callable[..., object], name: str, argument: str = "") -> Tool:
    """A tool that only reads: what the bot has noted itself, and so as good as the turns that wrote it."""
    return declare(
        function,
        name=name,
        group="notes",
        is_idempotent=True,
        effects=("reads_private",),
        place=Place(kind="note", argument=argument),
    )


def _key(title: str) -> str:
    """What two titles have in common that are the same to a person, or to some file system."""
    return unicodedata.normalize("NFKC", " ".join(title.split()).casefold())


def _stem(note: Note) -> str:
    return _key(note.entry.name.removesuffix(".md"))


def _titled(notes: Iterable[Note], title: str) -> Note | None:
    key = _key(title)
    return next((note for note in notes if _key(note.title) == key), None)


def _named(notes: Sequence[Note], title: str) -> Note | None:
    """The note of a title, or of a file's name where no title is the same."""
    key = _key(title)
    return _titled(notes, title) or next((note for note in notes if _stem(note) == key), None)


def _checked_title(title: str) -> str:
    title = " ".join(title.split())
    if not 0 < len(title) <= MAX_TITLE or UNSEEN.search(title) or re.search(r"[\[\]|#]", title):
        raise ToolFault(f"a title has 1 to {MAX_TITLE} characters on one line, none of them [ ] | #")
    return title


def _checked_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    tags = tuple(tag.strip() for tag in tags)
    if len(tags) > MAX_TAGS or not all(TAG.fullmatch(tag) for tag in tags):
        raise ToolFault(f"at most {MAX_TAGS} tags, each of plain words without commas, quotes or brackets")
    return tags


def _file_stem(title: str) -> str:
    words = re.findall(r"\w+", _key(title))
    return "-".join(words)[:MAX_STEM].rstrip("-") or "note"


def _head(title: str, tags: tuple[str, ...], old: Note | None, stamp: str) -> str:
    kept = old.tags if old else ()
    lines = [
        f"title: {json.dumps(title, ensure_ascii=False)}",
        f"tags: [{', '.join(tags or kept)}]",
        f"created: {(old.created if old else '') or stamp}",
        f"updated: {stamp}",
        *(field.raw for field in (old.others if old else ())),
    ]
    return "\n".join(["---", *lines, "---", ""])


def _parsed(entry: Entry, stem: str, text: str) -> Note:
    targets = links(text)
    try:
        front = parse_front_matter(text)
        title, created, updated = (
            " ".join(UNSEEN.sub(" ", field.text).split())[:MAX_TITLE] if (field := front.get(name)) else ""
            for name in ("title", "created", "updated")
        )
    except ValueError as error:
        return Note(entry=entry, title=stem, links=targets, fault=str(error))
    tags = front.get("tags")
    return Note(
        entry=entry,
        title=title or stem,
        tags=tuple(tag for tag in (tags.items if tags else ()) if TAG.fullmatch(tag))[:MAX_TAGS],
        created=created[:40],
        updated=updated[:40],
        others=tuple(field for field in front.fields if field.name not in OURS),
        links=targets,
        fault="" if title else "its head has no title",
    )


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFault("title, tags and text have to be valid Unicode: leave out half characters") from error


def _line(note: Note) -> str:
    tags = f" [{', '.join(note.tags)}]" if note.tags else ""
    updated = f" ({note.updated})" if note.updated else ""
    return f"- {note.title}{tags}{updated}"


def _listed(lines: Iterable[str]) -> str:
    found = list(lines)
    more = [f"[and {len(found) - MAX_LINES:,} more]"] if len(found) > MAX_LINES else []
    return "\n".join([*found[:MAX_LINES], *more])
