"""The head of a Markdown file: `name: value` between two lines of dashes, as much of YAML as people use."""

import json
import re

from bot.messages import Frozen

MAX_LINES = 100
FIELD = re.compile(r"([A-Za-z][\w-]{0,63}):(?:[ \t]+(.*))?")
BLOCK_MARKS = frozenset({">", "|", ">-", "|-", ">+", "|+"})


class Field(Frozen, frozen=True, kw_only=True):
    """One name with its value; `raw` is its lines as they stand in the file."""

    name: str
    raw: str

    @property
    def text(self) -> str:
        """The value on one line, without quotes.

        Raises:
            ValueError: Its quotes are not closed.
        """
        first, *rest = self.raw.removeprefix(f"{self.name}:").strip().split("\n")
        words = [line.strip() for line in ([] if first in BLOCK_MARKS else [first]) + rest]
        value = " ".join(word for word in words if word)
        if value.startswith('"'):
            return _unquoted(value)
        if value.startswith("'"):
            if len(value) < 2 or not value.endswith("'"):
                raise ValueError(f"{self.name}: the quotes are not closed")
            return value[1:-1].replace("''", "'")
        return value

    @property
    def items(self) -> tuple[str, ...]:
        """The value as a list: `[a, b]`, `a, b`, or a line with a dash for each."""
        value = self.raw.removeprefix(f"{self.name}:").strip()
        value = re.sub(r"^\s*-\s", ",", value, flags=re.MULTILINE).strip("[]")
        items = (item.strip().strip("\"'") for item in value.split(","))
        return tuple(item for item in items if item)


class FrontMatter(Frozen, frozen=True, kw_only=True):
    """The fields at the head of a text, and the text after them."""

    fields: tuple[Field, ...]
    body: str

    def get(self, name: str) -> Field | None:
        """The field of a name."""
        return next((field for field in self.fields if field.name == name), None)


def parse_front_matter(text: str) -> FrontMatter:
    """Split a text into its head and its body.

    Raises:
        ValueError: It has no head, or one that is not of this form.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise ValueError("the file does not begin with ---")
    end = next((number for number, line in enumerate(lines[1:MAX_LINES], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise ValueError(f"no second --- within {MAX_LINES} lines")
    blocks: list[tuple[str, list[str]]] = []
    for number, line in enumerate(lines[1:end], 2):
        if match := FIELD.fullmatch(line.rstrip()):
            blocks.append((match[1], [line]))
        elif blocks and (not line.strip() or line.startswith((" ", "\t", "- "))):
            blocks[-1][1].append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise ValueError(f"line {number} is not `name: value`")
    fields = tuple(Field(name=name, raw="\n".join(raw)) for name, raw in blocks)
    return FrontMatter(fields=fields, body="\n".join(lines[end + 1 :]).removeprefix("\n"))


def _unquoted(value: str) -> str:
    try:
        text = json.loads(value)
    except ValueError as error:
        raise ValueError(f"{value[:60]} is not a quoted text") from error
    return str(text)
