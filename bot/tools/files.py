"""Files in the workspace: read, written, edited, listed, searched."""

import mimetypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from bot.messages import Attachment
from bot.models.picture_files import MAX_BYTES
from bot.tools.base import Place, Tool, ToolFault, ToolOutput
from bot.tools.declare import declare
from bot.tools.decoding import Decoded, decode, picture_type
from bot.tools.editing import replace_text
from bot.tools.searching import Finder, Glob, Hit
from bot.tools.workspace import Entry, Jail

MAX_READ = 10_000_000  # bytes of a file
MAX_WRITE = 2_000_000  # bytes
MAX_PICTURE = MAX_BYTES
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters
MAX_TEXT = 60_000  # characters of one answer to the model
MAX_LISTED = 500
MAX_HITS = 200
MAX_DEPTH = 32
SEARCH_SECONDS = 5.0


class Lines:
    """Lines for the model, as many as it may get."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: list[str] = []
        self._room = MAX_TEXT

    def add(self, line: str) -> bool:
        """Take a line; False where there is no room for it."""
        self._room -= len(line) + 1
        if len(self._lines) == self._most or self._room < 0:
            return False
        self._lines.append(line)
        return True

    def __len__(self) -> int:
        return len(self._lines)

    def __str__(self) -> str:
        return "\n".join(self._lines)


@dataclass(slots=True)
class Seen:
    """The files that a search has looked into, and how many of them were too large to be read to the end."""

    files: int = 0
    cut: int = 0


class FileTools:
    """The tools, over one workspace; each call runs in a thread.

    Args:
        search_seconds: The time of one search.
    """

    def __init__(self, jail: Jail, *, search_seconds: float = SEARCH_SECONDS) -> None:
        self._jail = jail
        self._search_seconds = search_seconds

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            _reading(self.read, "read"),
            declare(
                self.write,
                name="write",
                group="files",
                risk="write",
                is_idempotent=True,
                effects=(),
                place=Place(kind="file", argument="path", writes="whole"),
            ),
            declare(
                self.edit,
                name="edit",
                group="files",
                risk="write",
                effects=(),
                place=Place(kind="file", argument="path", writes="part"),
            ),
            _reading(self.list_files, "list"),
            _reading(self.search, "search"),
        )

    def read(self, path: str, offset: int = 1, limit: int = MAX_LINES) -> ToolOutput:
        """Read a file of the workspace: text with line numbers, or a picture.

        Args:
            offset: First line, from 1.
            limit: How many lines.
        """
        data = self._load(path)
        if mime := picture_type(data):
            return self._picture(path, mime, len(data))
        decoded = decode(data)
        if decoded is None:
            kind = mimetypes.guess_type(path)[0] or "unknown type"
            return ToolOutput(text=f"{path} is not text: {kind}, {len(data):,} bytes.")
        return ToolOutput(text=_numbered(decoded, max(1, offset), min(max(1, limit), MAX_LINES)))

    def write(self, path: str, content: str) -> str:
        """Write a whole file in the workspace; one that is there is replaced. For a part, use `edit`."""
        data = _encode(content, "utf-8")
        if len(data) > MAX_WRITE:
            raise ToolFault(f"content has {len(data):,} bytes, {MAX_WRITE:,} are allowed: make several files")
        done = "Created" if self._jail.write(path, data) else "Overwrote"
        return f"{done} {path}: {_line_count(content):,} lines."

    def edit(self, path: str, old: str, new: str, replace_all: bool = False) -> str:
        """Replace a piece of a text file.

        Args:
            old: As it stands in the file, without line numbers; enough of it to be there only once.
            replace_all: Every one of several.
        """
        with self._jail.changing:
            decoded = decode(self._load(path))
            if decoded is None:
                raise ToolFault(f"{path!r} is not text and can't be edited")
            text, count = replace_text(decoded.text, old, new, is_every=replace_all)
            if len(text) > MAX_READ:
                raise ToolFault(f"{path!r} would become too large: at most {MAX_READ:,} characters")
            self._jail.write(path, _encode(text, decoded.encoding))
        return f"Edited {path}: {count:,} replaced."

    def list_files(self, path: str = ".", depth: int = 1) -> str:
        """List a folder of the workspace, with sizes in bytes.

        Args:
            depth: Levels of folders to show.
        """
        top = self._jail.stat(path)
        if top.kind != "directory":
            return _described(top)
        lines = Lines(MAX_LISTED)
        for entry in self._jail.walk(path, min(max(1, depth), MAX_DEPTH)):
            if not lines.add(_described(entry)):
                return f"{lines}\n[the first {len(lines)}; list a folder of them to see more]"
        return str(lines) or f"{path} is empty."

    def search(self, pattern: str, path: str = ".", glob: str = "**/*", is_regex: bool = True) -> str:
        """Search the lines of text files in the workspace.

        Args:
            glob: Which files, like "*.md" or "src/**/*.py".
        """
        finder = Finder(pattern, is_regex=is_regex, seconds=self._search_seconds)
        lines, seen = Lines(MAX_HITS), Seen()
        cause = self._find(finder, lines, seen, path, Glob(glob))
        if seen.cut:
            cause += f"; of {seen.cut:,} only the first {MAX_READ:,} bytes"
        tail = f"[{len(lines)} hits in {seen.files:,} files{cause}]"
        return f"{lines}\n{tail}" if len(lines) else tail

    def _load(self, path: str) -> bytes:
        data = self._jail.read(path, MAX_READ + 1)
        if len(data) > MAX_READ:
            size = self._jail.stat(path).size
            raise ToolFault(f"{path!r} has {size:,} bytes, {MAX_READ:,} can be read: `search` in it")
        return data

    def _picture(self, path: str, mime: str, size: int) -> ToolOutput:
        text = f"{path} is a picture: {mime}, {size:,} bytes."
        if size > MAX_PICTURE:
            return ToolOutput(text=f"{text} It is too large to be looked at: make it smaller.")
        real = self._jail.real(path)
        image = Attachment(kind="image", name=real.name, mime=mime, size=size, path=str(real))
        return ToolOutput(text=text, images=(image,))

    def _find(self, finder: Finder, lines: Lines, seen: Seen, path: str, glob: Glob) -> str:
        """Add the hits to the lines; say why they are not all, where they are not."""
        try:
            for entry in self._files(finder, path, glob):
                seen.files += 1
                seen.cut += entry.size > MAX_READ
                for hit in self._hits(finder, entry):
                    if not lines.add(f"{entry.label}:{hit.number}: {hit.line}"):
                        return "; there are more: narrow the search"
        except TimeoutError:
            return f"; stopped after {self._search_seconds:g} s: narrow the search or simplify the pattern"
        return ""

    def _files(self, finder: Finder, path: str, glob: Glob) -> Iterator[Entry]:
        top = self._jail.stat(path)
        if top.kind != "directory":
            self._jail.read(path, 0)  # one that was named and can't be read is a fault
            yield top
            return
        above = len(PurePosixPath(top.path).parts)
        for entry in self._jail.walk(path, MAX_DEPTH):
            finder.check_time()
            if entry.kind == "file" and glob.matches(PurePosixPath(entry.path).parts[above:]):
                yield entry

    def _hits(self, finder: Finder, entry: Entry) -> Iterator[Hit]:
        """The hits in the first part of a file; none in what cannot be read or is no text."""
        try:
            data = self._jail.read(entry.path, MAX_READ)
        except ToolFault:
            return
        if len(data) == MAX_READ:
            data = data[: data.rfind(b"\n") + 1] or data  # the last character may be cut through
        decoded = decode(data)
        if decoded is not None:
            yield from finder.hits(decoded.text)


def _encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.start + 1]
        raise ToolFault(f"{wrong!a} can't be written as {encoding}: use other characters") from error


def _reading(function: Callable[..., object], name: str) -> Tool:
    """A tool that only reads: files belong to somebody, and anybody may have written them."""
    return declare(
        function,
        name=name,
        group="files",
        is_idempotent=True,
        effects=("reads_private", "reads_untrusted"),
        source="file",
        place=Place(kind="file", argument="path"),
    )


def _numbered(decoded: Decoded, offset: int, limit: int) -> str:
    lines = decoded.text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "[empty file]"
    if offset > len(lines):
        raise ToolFault(f"offset {offset} is behind the end: the file has {len(lines):,} lines")
    shown = Lines(limit)
    for number, line in enumerate(lines[offset - 1 :], offset):
        if not shown.add(f"{number:>6}\t{_cut(line)}"):
            break
    last = offset - 1 + len(shown)
    parts = [decoded.note, str(shown)]
    if last < len(lines):
        parts.append(f"[lines {offset:,} to {last:,} of {len(lines):,}; go on with offset={last + 1}]")
    return "\n".join(part for part in parts if part)


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}… [cut: {len(line):,} characters]"


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _described(entry: Entry) -> str:
    match entry.kind:
        case "directory":
            return f"{entry.label}/"
        case "file":
            return f"{entry.label}  {entry.size:,}"
        case "link":
            return f"{entry.label}  (link, not followed)"
        case "special":
            return f"{entry.label}  (no regular file)"
