"""Reads shell lines as a shell does: which programs they call, with which words, and what feeds what.

Quotes, escapes, `${IFS}`, `$'\\x72'`, `{rm,-rf,/}` and variables that the line itself sets are undone, so
that rules see `rm -rf /` however it is spelled. No program is run and no file is looked at. Time is linear.
"""

import re
from dataclasses import dataclass, field
from typing import Final

MOST_VALUE: Final = 256  # characters of a variable
MOST_FILLED: Final = 20_000  # characters that variables may add to one line
DEEPEST: Final = 8  # quoted substitutions within each other
PLAIN: Final = 40  # substitutions within each other, outside of quotes
MOST_HEREDOCS: Final = 50
MOST_STEPS: Final = 2_000

TOKEN: Final = re.compile(
    r"""
      (?P<joined>\\\r?\n)
    | (?P<line>\n)
    | (?P<blank>[ \t\r\f\v]+)
    | (?P<single>'[^']*+(?:'|\Z))
    | (?P<ansi>\$'(?:[^'\\]|\\.)*+(?:'|\\?\Z))
    | (?P<double>\$?"(?:[^"\\]|\\.)*+(?:"|\\?\Z))
    | (?P<open>\$\(\(?|[<>]\()
    | (?P<tick>`)
    | (?P<variable>\$\{[^}\n]{0,200}\}|\$\w+|\$[@*#?$!-])
    | (?P<heredoc><<-?(?!<)[ \t]{0,8}['"\\]?(?P<mark>\w{1,64})['"]?)
    | (?P<redirect>\d{0,3}(?:&>>?|>>|>\||>&|<<<|<&|<>|[<>]))
    | (?P<operator>&&|\|\||\|&|;;|[;&|()])
    | (?P<escape>\\.)
    | (?P<comment>\#)
    | (?P<bare>[^\s;&|()<>'"\\`$#]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
QUOTED: Final = re.compile(
    r"(?P<escape>\\[\"\\$`\n])|(?P<open>\$\(\(?)|(?P<tick>`)"
    r"|(?P<variable>\$\{[^}\n]{0,200}\}|\$\w+|\$[@*#?$!-])|(?P<bare>[^\\$`]+|.)",
    re.DOTALL,
)
ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w{0,60})\+?=(.*)", re.DOTALL)
EXPANSION: Final = re.compile(
    r"(!?\w+)(?:\[[@*\d]\])?(?:(:?[-=+?])(.*)|:(-?\d+)(?::(\d+))?|([#%/^,].*))?", re.DOTALL
)
ANSI: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|(.))", re.DOTALL
)
CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b"}
EMPTY: Final = frozenset("@*#!-") | frozenset("123456789")
KNOWN: Final = {"HOME": "~", "PWD": "/w", "OLDPWD": "/w", "PATH": "/", "SHELL": "/bin/sh", "IFS": " "}
EXPORTS: Final = frozenset({"export", "declare", "local", "readonly", "typeset", "set"})


@dataclass(slots=True, eq=False)
class Step:
    """One program that a line calls.

    Attributes:
        start: Its first character in what was read; `end` is behind its last.
        words: Its name and its arguments, as it would get them.
        redirects: Operator and file.
        data: What it is given to read in the line itself.
        source: Whose output it reads.
        host: In whose words its output is put.
    """

    start: int
    end: int = 0
    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    source: "Step | None" = None
    host: "Step | None" = None


@dataclass(slots=True)
class Allowance:
    """How many steps are still read, of all texts that are looked at together."""

    steps: int = MOST_STEPS


@dataclass(slots=True)
class _Frame:
    """A step that waits for one within its words, and the word it was at."""

    step: Step
    word: list[str] | None
    closer: str


class Reader:
    """Reads one line, or a script of many.

    Attributes:
        steps: The programs, in the order in which they stand; without those that are empty.
    """

    def __init__(
        self,
        text: str,
        allowance: Allowance | None = None,
        *,
        variables: dict[str, str] | None = None,
        depth: int = 0,
    ) -> None:
        self._text = text
        self._variables = variables if variables is not None else dict(KNOWN)
        self._allowance = allowance or Allowance()
        self._depth = depth
        self._filled = 0
        self._frames: list[_Frame] = []
        self._step = Step(0)
        self._word: list[str] | None = None
        self._redirect: str | None = None
        self._marks: list[tuple[Step, str]] = []
        self._last: Step | None = None
        self._heredocs_left = MOST_HEREDOCS
        self.steps: list[Step] = []

    def read(self) -> list[Step]:
        """Read all of it, or as much as is allowed."""
        text, position, size = self._text, 0, len(self._text)
        while position < size and self._allowance.steps > 0:
            match = TOKEN.match(text, position)
            assert match is not None  # the last alternative takes any character
            position = self._take(match)
        while self._frames:
            self._leave(size)
        self._finish(size)
        return self.steps

    def _take(self, match: re.Match[str]) -> int:
        """Take in one token; gives where the next one begins."""
        kind, token, end = match.lastgroup, match[0], match.end()
        match kind:
            case "blank":
                self._end_word()
            case "open" | "tick":
                self._substitute(token, match.start())
            case "redirect":
                self._end_word()
                self._redirect = token.lstrip("0123456789")
            case "mark" | "heredoc":
                self._end_word()
                self._heredocs_left -= 1
                if self._heredocs_left >= 0:
                    self._marks.append((self._step, match["mark"]))
            case "operator":
                self._operate(token, match.start())
            case "comment":
                return self._comment(end)
            case "line":
                self._end_step(match.start(), end)
                return self._heredocs(end)
            case _:
                self._extend(kind, token, match.start())
        return end

    # --- words

    def _extend(self, kind: str | None, token: str, start: int) -> None:
        """Put a token into the word that is being read."""
        match kind:
            case "bare":
                self._add(token)
            case "single":
                self._add(token[1:].removesuffix("'"))
            case "double":
                self._quoted(token.removeprefix("$")[1:].removesuffix('"'), start)
            case "ansi":
                self._add(unescape(token[2:].removesuffix("'")))
            case "escape":
                self._add(token[1])
            case "variable":
                self._fill(token)

    def _add(self, piece: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(piece)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        step = self._step
        if self._redirect is not None:
            target = step.data if self._redirect == "<<<" else None
            if target is not None:
                target.append(word)
            else:
                step.redirects.append((self._redirect, word))
            self._redirect = None
            return
        if not step.words and word.startswith("{") and word.endswith("}") and "," in word:
            step.words.extend(word[1:-1].split(","))
            return
        if not step.words or step.words[0] in EXPORTS:
            self._assign(word)
        step.words.append(word)

    def _assign(self, word: str) -> None:
        if (match := ASSIGNMENT.fullmatch(word)) is not None and len(self._variables) < 500:
            self._variables[match[1]] = match[2][:MOST_VALUE]

    def _fill(self, token: str, *, is_quoted: bool = False) -> None:
        """Put the value of a variable into the word; blanks in it part words, unless it is quoted."""
        value = self._value(token)
        self._filled += len(value)
        if self._filled > MOST_FILLED:
            value = token
        if is_quoted or not (" " in value or "\t" in value or "\n" in value):
            if value or self._word is not None or is_quoted:
                self._add(value)
            return
        if value[0].isspace():
            self._end_word()
        for number, part in enumerate(value.split()):
            if number:
                self._end_word()
            self._add(part)
        if value[-1].isspace():
            self._end_word()

    def _value(self, token: str) -> str:
        name = token[1:].strip("{}")
        if name in EMPTY:
            return ""
        match = EXPANSION.fullmatch(name)
        if match is None:
            return token
        plain, operator, other, offset, length, _change = match.groups()
        if plain.startswith("!"):
            plain = self._variables.get(plain[1:], plain)
        value = self._variables.get(plain)
        if value is None:
            return (other or "") if operator in (":-", "-", ":=", "=") else token
        if plain == "IFS":
            return " "
        if operator in (":+", "+"):
            return other or ""
        if offset is not None:
            begin = int(offset)
            return value[begin:][: int(length)] if length is not None else value[begin:]
        return value

    def _quoted(self, content: str, start: int) -> None:
        """Take in what stands in double quotes: one word, in which variables and programs still count."""
        self._add("")
        if not ("$" in content or "`" in content or "\\" in content):
            self._add(content)
            return
        position = 0
        while position < len(content):
            match = QUOTED.match(content, position)
            assert match is not None
            position = match.end()
            match match.lastgroup:
                case "escape":
                    self._add(match[0][1].replace("\n", ""))
                case "variable":
                    self._fill(match[0], is_quoted=True)
                case "open" | "tick":
                    self._inner(content[position:], start)
                    return
                case _:
                    self._add(match[0])

    def _inner(self, content: str, start: int) -> None:
        """Read a program within quotes; where it ends is not looked for, as all of it is read anyway."""
        self._add("$()")
        if self._depth >= DEEPEST:
            return
        self._allowance.steps -= 1
        inner = Reader(content, self._allowance, variables=self._variables, depth=self._depth + 1)
        for step in inner.read():
            step.start = start
            step.end = start + len(content)
            step.host = step.host or self._step
            self.steps.append(step)

    # --- steps

    def _substitute(self, token: str, start: int) -> None:
        """Begin a program whose output is put into the word that is being read, or end one in backticks."""
        if token == "`" and self._frames and self._frames[-1].closer == "`":
            self._leave(start)
            return
        if len(self._frames) >= PLAIN:
            self._end_step(start, start + len(token))
            return
        self._add("$()")
        self._frames.append(_Frame(self._step, self._word, "`" if token == "`" else ")"))
        host, self._step, self._word = self._step, Step(start + len(token)), None
        self._step.host = host

    def _leave(self, end: int) -> None:
        """Go on with the step around this one."""
        self._finish(end)
        frame = self._frames.pop()
        self._step, self._word = frame.step, frame.word

    def _operate(self, token: str, start: int) -> None:
        if token == ")" and self._frames and self._frames[-1].closer == ")":
            self._leave(start)
            return
        if token == "(" and self._step.words == [] and self._word is None:
            return
        self._end_step(start, start + len(token), feeds=token in ("|", "|&"), keeps_last=token in ("(", ")"))

    def _end_step(self, end: int, begin: int, *, feeds: bool = False, keeps_last: bool = False) -> None:
        host = self._step.host
        self._finish(end, keeps_last=keeps_last)
        self._step = Step(begin, host=host)
        if feeds:
            self._step.source = self._last
        elif not keeps_last:
            self._last = None

    def _finish(self, end: int, *, keeps_last: bool = False) -> None:
        self._end_word()
        step = self._step
        step.end = end
        self._redirect = None
        self._allowance.steps -= 1
        if step.words or step.redirects or step.data:
            self.steps.append(step)
            self._last = step

    def _comment(self, end: int) -> int:
        """Skip to the end of the line, where a comment begins."""
        if self._word is not None:
            self._add("#")
            return end
        found = self._text.find("\n", end)
        return found if found >= 0 else len(self._text)

    def _heredocs(self, position: int) -> int:
        """Take the lines up to the marks that this line has named; they are data."""
        marks, self._marks = self._marks, []
        for step, mark in marks:
            end = re.compile(rf"^[ \t]*{mark}[ \t\r]*$", re.MULTILINE).search(self._text, position)
            stop = end.start() if end is not None else len(self._text)
            step.data.append(self._text[position:stop])
            position = end.end() if end is not None else len(self._text)
        return position


def unescape(text: str) -> str:
    """Undo the escapes of `$'…'` and of `printf`."""
    return ANSI.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match[group] is not None:
            number = int(match[group], base)
            return chr(number) if number <= 0x10FFFF else "?"
    sign = match[5]
    return CONTROLS.get(sign, sign)
