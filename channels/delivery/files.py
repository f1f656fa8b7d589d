"""Code that is too long to be read in a chat, as files beside the answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bot.messages import Attachment

FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?P<language>[\w+#.-]*)[^\n]*\n(?P<code>.*?)^(?P=fence)[`~]*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
ENDINGS = {
    "python": "py", "py": "py", "javascript": "js", "js": "js", "typescript": "ts", "ts": "ts", "bash": "sh",
    "sh": "sh", "shell": "sh", "json": "json", "yaml": "yaml", "yml": "yaml", "html": "html", "css": "css",
    "sql": "sql", "java": "java", "c": "c", "cpp": "cpp", "c++": "cpp", "go": "go", "rust": "rs",
    "toml": "toml", "xml": "xml", "markdown": "md", "md": "md", "csv": "csv", "diff": "diff",
}  # fmt: skip


class CodeFiles(msgspec.Struct, frozen=True):
    """An answer whose long code blocks were taken out of its text."""

    text: str
    files: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str, long_code: int | None) -> "CodeFiles":
        """Take out of a Markdown text the code blocks that are longer than `long_code` characters."""
        if long_code is None or len(text) <= long_code:
            return cls(text)
        files: list[tuple[str, str]] = []

        def set_aside(match: re.Match[str]) -> str:
            code = match["code"]
            if len(code) <= long_code:
                return match[0]
            ending = ENDINGS.get(match["language"].lower(), "txt")
            name = f"code-{len(files) + 1}.{ending}"
            files.append((name, code))
            return f"`{name}` ({code.count(chr(10))} lines, as a file below)"

        return cls(FENCE.sub(set_aside, text), tuple(files))

    @contextmanager
    def written(self) -> Iterator[tuple[Attachment, ...]]:
        """The files on disk, for as long as it takes to send them."""
        if not self.files:
            yield ()
            return
        with TemporaryDirectory(prefix="switchboard-") as directory:
            found = []
            for name, code in self.files:
                path = Path(directory) / name
                path.write_text(code, "utf-8")
                found.append(
                    Attachment(
                        kind="file", name=name, mime="text/plain", size=path.stat().st_size, path=str(path)
                    )
                )
            yield tuple(found)
