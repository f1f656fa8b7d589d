"""Looks at shell lines and scripts: takes them apart, and asks the rules about each program they call."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from security.guardian import code, flows, windows
from security.guardian.calls import (
    EVALUATORS,
    FETCHERS,
    INTERPRETERS,
    PRINTERS,
    SHELLS,
    Call,
    calls_of,
    names,
)
from security.guardian.findings import Finding, sum_up
from security.guardian.programs import Rule, carries_out, of_program
from security.guardian.shell import Allowance, Reader, Step, unescape
from security.verdict import Level, Verdict

Language: TypeAlias = Literal["shell", "code"]

DEEPEST: Final = 4  # lines within lines: `bash -c "ssh host 'eval …'"`
MOST_FINDINGS: Final = 100
EVERY: Final[tuple[Rule, ...]] = (
    of_program,
    carries_out,
    flows.reads,
    flows.writes,
    flows.sockets,
    flows.mining,
    flows.foreign_code,
    flows.hidden_name,
    flows.raised,
)
DATA: Final = (PRINTERS - {"cat"}) | names(
    "grep egrep fgrep rg ag git man which whatis apropos jq tee wc gh test [ [[ say notify-send"
)
BOMB: Final = re.compile(
    r"(?<![\w:.])(?:function\s{1,4})?([\w:.]{1,40})\s{0,4}\(\s{0,4}\)\s{0,4}\{[^}]{0,60}?\1\s{0,4}\|\s{0,4}&?\s{0,4}\1\s{0,4}&"
)
LOOP_BOMB: Final = re.compile(
    r"while\s+(?:true|:|1)\s*;\s*do\s+(?:bash|sh|\$0)\s+\$0\s*&|\$0\s*\|\s*\$0\s*&|\$0\s*&\s*\$0\s*&"
)
TAKES_LINE: Final = frozenset({"ssh", "watch", "trap", "screen", "tmux"})
SCRIPTERS: Final = INTERPRETERS | {"awk", "gawk", "mawk"}


def look(text: str, language: Language = "shell") -> Verdict:
    """Look at a command line, or at a script.

    Args:
        text: As it would be run; up to 100 ms for 100,000 characters.
        language: `code` is Python, or another language with strings in quotes.
    """
    view = _View(len(text))
    if language == "code":
        view.code(text, (0, len(text)), 0)
    else:
        view.shell(text, None, 0)
    return view.verdict()


class _View:
    """One look; collects what is found.

    What stands within something else is looked at as a text of its own. All of these texts together are
    limited by a multiple of the whole.
    """

    def __init__(self, size: int) -> None:
        self.findings: list[Finding] = []
        self._left = 5 * size + 4_000
        self._allowance = Allowance()
        self._downloads: set[str] = set()
        self._has_caught = False  # a variable holds what was fetched

    def shell(self, text: str, span: tuple[int, int] | None, depth: int) -> None:
        """Look at a shell line; `span` is where it stands in the whole, if it is only a part of that."""
        self._left -= len(text)
        if self._left < 0:
            return
        steps = Reader(text, self._allowance).read()
        calls = calls_of(steps, span)
        for call in calls:
            self._judge(call, depth)
        self._whole(text, steps, calls, span or (0, len(text)))

    def code(self, text: str, span: tuple[int, int], depth: int) -> None:
        """Look at a program."""
        self._left -= len(text)
        if self._left < 0:
            return
        for name, level in code.find(text):
            self._add(name, level, span)
        if depth < DEEPEST:
            for line in code.commands_in(text):
                self.shell(line, span, depth + 1)

    def verdict(self) -> Verdict:
        """What was found; what was too long to be read to its end is for a person to see."""
        if self._allowance.steps <= 0 or self._left < 0:
            self.findings.append(Finding("too-long", Level.MEDIUM))
        return sum_up(self.findings)

    def _judge(self, call: Call, depth: int) -> None:
        span = (call.start, call.end)
        call = _with_fed_arguments(call)
        for rule in EVERY:
            if (found := rule(call)) is not None:
                self._add(*found, span)
        if flows.runs(call) in self._downloads:
            self._add("fetched-code", Level.HIGH, span)
        self._downloads.update(flows.downloaded(call))
        if self._runs_what_was_caught(call):
            self._add("fetched-code", Level.HIGH, span)
        if depth < DEEPEST:
            for text in _lines_in(call):
                self.shell(text, span, depth + 1)
            for text in _programs_in(call):
                self.code(text, span, depth + 1)

    def _runs_what_was_caught(self, call: Call) -> bool:
        """`x=$(curl …); eval "$x"`."""
        if call.name in FETCHERS and call.host is not None and not call.host.name:
            self._has_caught = True
        return (
            self._has_caught and call.name in EVALUATORS | SHELLS and any("$()" in word for word in call.args)
        )

    def _whole(self, text: str, steps: list[Step], calls: list[Call], span: tuple[int, int]) -> None:
        """Rules that need the line as it is written, without what is only printed or looked for."""
        for step, call in zip(steps, calls, strict=True):
            if call.name in DATA and not step.host and 0 <= step.start < step.end <= len(text):
                text = (
                    text
                    if len(steps) > 500
                    else text[: step.start] + " " * (step.end - step.start) + text[step.end :]
                )
        if BOMB.search(text) or LOOP_BOMB.search(text):
            self._add("fork-bomb", Level.CRITICAL, span)
        for name, level in windows.find(text):
            self._add(name, level, span)

    def _add(self, name: str, level: Level, span: tuple[int, int]) -> None:
        if len(self.findings) < MOST_FINDINGS or level is Level.CRITICAL:
            self.findings.append(Finding(name, level, *span))


def _with_fed_arguments(call: Call) -> Call:
    """`echo / | xargs rm -rf`: with the words that come through the pipe."""
    if "xargs" not in call.step.words[:4] and "parallel" not in call.step.words[:4]:
        return call
    fed = [word for source in call.sources() if source.name in ("echo", "printf") for word in source.args]
    args = (*call.args, *" ".join(fed).split())
    return Call(
        call.name, args, call.step, call.start, call.end, call.is_raised, call.environment, call.source
    )


def _lines_in(call: Call) -> Iterator[str]:
    """The shell lines among what a call is given."""
    name, args = call.name, call.args
    if name in SHELLS or name in ("su", "cmd", "script", "runuser"):
        yield from _behind_flag(args, "c")
    if name == "cmd":
        yield " ".join(word for word in args if word.lower() not in ("/c", "/k", "/q"))
    if name == "eval":
        yield " ".join(args)
    if name in TAKES_LINE:
        yield " ".join(call.plain[1:] if name == "ssh" else args)
        yield from (word for word in args if " " in word)
    if name == "alias":
        yield from (word.partition("=")[2] for word in args if "=" in word)
    if name == "find":
        yield from _executed(args)
    if name in SHELLS | {"at", "batch", "crontab"} | EVALUATORS:
        yield from call.step.data
        yield from _printed(call)


def _programs_in(call: Call) -> Iterator[str]:
    """The programs of other languages among what a call is given."""
    if call.name not in SCRIPTERS:
        return
    if call.name in ("powershell", "pwsh"):
        return  # its line is looked at as it is written
    yield from (word for word in call.args if len(word) > 8 and (" " in word or "(" in word))
    yield from call.step.data
    yield from _printed(call)


def _behind_flag(args: tuple[str, ...], letter: str) -> Iterator[str]:
    for word, after in pairwise(args):
        if word.startswith("-") and not word.startswith("--") and letter in word:
            yield after
            return
    if "--command" in args[:-1]:
        yield args[args.index("--command") + 1]


def _executed(args: tuple[str, ...]) -> Iterator[str]:
    """What stands behind `-exec`."""
    for number, word in enumerate(args):
        if word in ("-exec", "-execdir", "-ok"):
            yield " ".join(one for one in args[number + 1 :] if one not in (";", "+", "{}"))
            return


def _printed(call: Call) -> Iterator[str]:
    """What the line itself prints into a program."""
    for source in call.sources():
        if source.name in ("echo", "printf", "print"):
            yield unescape(" ".join(source.plain))
        yield from source.step.data
