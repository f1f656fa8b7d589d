"""Looks for a pattern in lines, within a time that no pattern can stretch.

The `regex` package and not `re`: it looks at the clock while it matches and lets other threads run meanwhile.
"""

import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module

from bot.messages import Frozen
from bot.tools.base import ToolFault

MAX_PATTERN = 500  # characters; what is longer takes long to compile
MAX_LINE = 100_000  # characters looked at; the memory a match takes grows with them
SHOWN = 300  # characters of a line that is given back
BEFORE = 100  # characters of it before the match
RECURSION = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")  # takes hundreds of megabytes in a second


class Hit(Frozen, frozen=True, kw_only=True):
    """A line with the pattern in it, cut around the match; `number` counts from 1."""

    number: int
    line: str


class Finder:
    """Finds one pattern in any number of texts, until its time is up.

    Args:
        seconds: The time for all texts, counted from now.

    Raises:
        ToolFault: The pattern is none.
    """

    def __init__(self, pattern: str, *, is_regex: bool, seconds: float) -> None:
        if not pattern or len(pattern) > MAX_PATTERN:
            raise ToolFault(f"a pattern has 1 to {MAX_PATTERN} characters")
        if is_regex and RECURSION.search(pattern):
            raise ToolFault("a pattern may not call itself or its groups: write it without recursion")
        self._until = time.monotonic() + seconds
        regex = import_module("regex")  # 50 ms, which no start of the bot has to wait for
        try:
            self._pattern = regex.compile(pattern if is_regex else regex.escape(pattern))
        except (regex.error, RecursionError, ValueError) as error:
            raise ToolFault(
                f"not a regular expression: {error}; set is_regex to false for plain text"
            ) from error

    def check_time(self) -> None:
        """Raise `TimeoutError` when the time is up."""
        if time.monotonic() >= self._until:
            raise TimeoutError

    def hits(self, text: str) -> Iterator[Hit]:
        """Find the lines that match.

        Raises:
            TimeoutError: The time is up.
        """
        for number, line in enumerate(text.split("\n"), 1):
            self.check_time()
            match = self._pattern.search(
                line[:MAX_LINE].rstrip("\r"), timeout=max(0.001, self._until - time.monotonic())
            )
            if match is not None:
                begin = max(0, match.start() - BEFORE) if len(line) > SHOWN else 0
                yield Hit(number=number, line=line[begin : begin + SHOWN].rstrip())


class Glob:
    """Which paths are meant: `*`, `?` and `[…]` within a name, `**` for any number of folders.

    One without a slash means a name in any folder.

    Raises:
        ToolFault: It has braces, or is too long.
    """

    def __init__(self, glob: str) -> None:
        if "{" in glob or len(glob) > MAX_PATTERN:
            raise ToolFault("a glob takes *, ?, [a-z] and **: search once for each alternative")
        parts = [part for part in glob.split("/") if part not in ("", ".")]
        self._parts = parts if "/" in glob else ["**", *parts]

    def matches(self, path: tuple[str, ...]) -> bool:
        """Tell whether a path, in its parts, is meant; takes no longer than both lengths multiplied."""
        states = self._past_stars({0})
        for name in path:
            ahead = set()
            for state in states:
                if state == len(self._parts):
                    continue
                if self._parts[state] == "**":
                    ahead.add(state)
                elif fnmatchcase(name, self._parts[state]):
                    ahead.add(state + 1)
            states = self._past_stars(ahead)
        return len(self._parts) in states

    def _past_stars(self, states: set[int]) -> set[int]:
        """These states and those reached without a name, since `**` stands for none as well."""
        reached = set(states)
        for state in states:
            while state < len(self._parts) and self._parts[state] == "**":
                state += 1
                reached.add(state)
        return reached
