"""A step of a line as a call of a program, without what stands before it: `sudo`, `env`, `timeout 5`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from security.guardian.shell import ASSIGNMENT, Step


def names(words: str) -> frozenset[str]:
    """The words as a set."""
    return frozenset(words.split())


SHELLS: Final = names("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")
INTERPRETERS: Final = names("python perl ruby node nodejs php lua deno bun osascript pwsh powershell")
FETCHERS: Final = names(
    "curl wget fetch aria2c axel http https httpie lynx nc ncat netcat socat ftp tftp scp lwp-request"
)
PRINTERS: Final = frozenset({"echo", "printf", "cat", "print"})
DECODERS: Final = names(
    "base64 base32 basenc xxd openssl uudecode gunzip zcat gzip bzcat xzcat rev tr gpg hexdump od"
)
EVALUATORS: Final = frozenset({"eval", "source", "."})
KEYWORDS: Final = names("if then else elif do while until time ! { } ( coproc exec command builtin fi done")
WRAPPERS: Final[
    Mapping[str, tuple[frozenset[str], int]]
] = {  # options that take a value; words that are theirs
    "sudo": (frozenset({"-u", "-g", "-C", "-h", "-p", "-r", "-t", "-D"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "pkexec": (frozenset({"--user"}), 0),
    "env": (frozenset({"-u", "-C", "--chdir"}), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "nice": (frozenset({"-n"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "timeout": (frozenset({"-s", "-k"}), 1),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "xargs": (frozenset({"-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E"}), 0),
    "parallel": (frozenset({"-j", "-a", "-S"}), 0),
    "strace": (frozenset({"-e", "-o", "-p"}), 0),
    "chroot": (frozenset(), 1),
    "busybox": (frozenset(), 0),
    "toybox": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "watch": (frozenset({"-n", "--interval"}), 0),
    "flock": (frozenset({"-w"}), 1),
    "unshare": (frozenset(), 0),
}
RAISING: Final = frozenset({"sudo", "doas", "pkexec"})
DEEPEST: Final = 8  # programs that only start the next one
LONGEST: Final = 10  # programs of a pipe
VERSION: Final = re.compile(r"[\d.]+$")


class Call(msgspec.Struct, frozen=True):
    """A program with its arguments.

    Attributes:
        name: Without its directory, in lower case; `python3.11` is `python`.
        start: Where it stands in the text that was given to look at; `end` is behind it.
        is_raised: It gets the rights of another user.
        environment: What is set for it alone, in front of it.
        source: Whose output it reads.
    """

    name: str
    args: tuple[str, ...]
    step: Step
    start: int
    end: int
    is_raised: bool = False
    environment: tuple[str, ...] = ()
    source: "Call | None" = None

    @property
    def plain(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        return tuple(word for word in self.args if not word.startswith("-"))

    def has(self, *options: str) -> bool:
        """Whether an option is given: `--force`, or a letter, alone or among others (`-rf`)."""
        for word in self.args:
            if not word.startswith("-") or word == "-":
                continue
            if word.partition("=")[0] in options:
                return True
            if not word.startswith("--") and any(len(one) == 2 and one[1] in word[1:] for one in options):
                return True
        return False

    def sources(self) -> "Iterator[Call]":
        """The calls whose output it reads, the nearest first."""
        call, left = self.source, LONGEST
        while call is not None and left:
            yield call
            call, left = call.source, left - 1

    @property
    def host(self) -> "Call | None":
        """The call in whose words its output is put."""
        return call_of(self.step.host) if self.step.host is not None else None


def calls_of(steps: Iterable[Step], span: tuple[int, int] | None = None) -> list[Call]:
    """The calls of the steps; `span` is where all of them stand, if that is not where they were read."""
    made: dict[Step, Call] = {}
    for step in steps:
        made[step] = call_of(step, span, made.get(step.source) if step.source is not None else None)
    return list(made.values())


def call_of(step: Step, span: tuple[int, int] | None = None, source: Call | None = None) -> Call:
    """Take off what stands in front of the program."""
    words, is_raised, environment = step.words, False, []
    begin = 0
    for _ in range(DEEPEST):
        while begin < len(words) and (words[begin] in KEYWORDS or ASSIGNMENT.fullmatch(words[begin])):
            environment.append(words[begin])
            begin += 1
        if begin >= len(words):
            break
        name = base(words[begin])
        wrapper = WRAPPERS.get(name)
        if wrapper is None:
            break
        is_raised = is_raised or name in RAISING
        after = _skip(words, begin + 1, *wrapper)
        if after >= len(words):
            break
        begin = after
    start, end = span or (step.start, step.end)
    return Call(
        name=base(words[begin]) if begin < len(words) else "",
        args=tuple(words[begin + 1 :]),
        step=step,
        start=start,
        end=end,
        is_raised=is_raised,
        environment=tuple(environment),
        source=source,
    )


def base(word: str) -> str:
    """The name of a program, as rules know it."""
    name = re.split(r"[/\\]", word[-256:])[-1].lower().removesuffix(".exe")
    stem = VERSION.sub("", name)
    return stem if stem in INTERPRETERS else name


def _skip(words: list[str], begin: int, valued: frozenset[str], own: int) -> int:
    """Where the words of a wrapper end."""
    while begin < len(words):
        word = words[begin]
        if word.startswith("-") and word != "-":
            begin += 2 if word in valued else 1
        elif own:
            own -= 1
            begin += 1
        else:
            break
    return begin
