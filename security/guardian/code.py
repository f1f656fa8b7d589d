"""Rules for programs in Python, and, more roughly, for those in Perl, Ruby, JavaScript and awk."""

import re
from collections.abc import Iterator
from typing import Final

from security.guardian.places import danger_of, is_root
from security.verdict import Level

MEDIUM, HIGH, CRITICAL = Level.MEDIUM, Level.HIGH, Level.CRITICAL
JOINED: Final = re.compile(r"""["']\s{0,20}[+.]\s{0,20}["']""")
LISTED: Final = re.compile(r"""["']\s{0,20},\s{0,20}["']""")
STRING: Final = re.compile(
    r"""\"((?:[^"\\\n]|\\.)*+)(?:"|$)|'((?:[^'\\\n]|\\.)*+)(?:'|$)|`([^`\n]*+)(?:`|$)""", re.MULTILINE
)
COMMENT: Final = re.compile(r"(?m)^\s*#[^\n]*$")
STARTS: Final = re.compile(
    r"\b(?:system|popen\w*|subprocess|check_output|check_call|run|call|Popen|spawn\w*|exec\w*|shell_exec|passthru|"
    r"getoutput|getstatusoutput|child_process|qx|posix_spawn|startfile|pty)\b"
)
DELETES: Final = re.compile(
    r"(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|remove_tree|unlink|removedirs|FileUtils)\s{0,4}\(?\s{0,4}(?:Path\s{0,4}\()?\s{0,4}[\"'`]([^\"'`\n]{1,200})"
)
WIPES: Final = re.compile(
    r"(?:rmtree|rmSync)\s{0,4}\(\s{0,4}(?:os\.path\.expanduser\(\s{0,4})?[\"'](?:~|/)[\"']|rmtree\(\s{0,4}Path\.home\(\)"
)
DECODED: Final = re.compile(
    r"\b(?:exec|eval|compile|Function|marshal\.loads|pickle\.loads)\s{0,4}\(\s{0,4}(?:\w{1,30}\.|__import__\([^)\n]{0,30}\)\.|compile\(|codecs\.|zlib\.)*"
    r"(?:b64decode|b32decode|a85decode|decompress|fromhex|unhexlify|decode|atob|Buffer\.from|join|loads)\b"
)
FETCHED: Final = re.compile(
    r"\b(?:exec|eval)\s{0,4}\(\s{0,4}(?:compile\()?(?:\w{1,30}\.|__import__\([^)\n]{0,30}\)\.){0,4}(?:urlopen|get|post|request|recv|fetch)\s{0,4}\("
)
BOMB: Final = re.compile(
    r"while\s{0,4}\(?\s{0,4}(?:True|1|true)\s{0,4}\)?\s{0,4}[:{]\s{0,20}(?:os\.)?fork\b|fork\s+while\s+fork|loop\s{0,4}\{\s{0,4}fork"
)
SOCKETS: Final = re.compile(r"\bsocket\b|\bTCPSocket\b|IO::Socket|net\.connect|fsockopen|createConnection")
SHELL_AT_SOCKET: Final = re.compile(
    r"\bdup2\b|pty\.spawn|/bin/(?:ba|z|da)?sh\b[\"']?\s{0,4},?\s{0,4}[\"']?-i\b"
    r"|exec\s{0,4}[\"'(]{1,2}/bin/(?:ba)?sh|\bsh -i\b"
)
HIDDEN: Final = re.compile(
    r"getattr\(\s{0,4}(?:os|subprocess|builtins|__builtins__)\s{0,4},|__builtins__\s{0,4}\[|globals\(\)\s{0,4}\[\s{0,4}[\"']__"
)
ENVIRONMENT: Final = re.compile(
    r"\bos\.environ\b(?!\s{0,4}(?:\[|\.get|\.setdefault))|\bprocess\.env\b(?!\s{0,4}[.\[])"
)
SENDS: Final = re.compile(r"requests\.(?:post|put)|urlopen|httpx\.(?:post|put)|\.sendall?\(|fetch\(")
TABLE: Final[tuple[tuple[str, Level, re.Pattern[str]], ...]] = (
    ("decoded-code", HIGH, DECODED),
    ("fetched-code", HIGH, FETCHED),
    ("fork-bomb", CRITICAL, BOMB),
    ("delete-system", CRITICAL, WIPES),
    ("hidden-name", MEDIUM, HIDDEN),
)


def find(code: str) -> Iterator[tuple[str, Level]]:
    """What holds in a program by itself; the commands that it starts are given by `commands_in`."""
    text = JOINED.sub("", COMMENT.sub("", code))
    for name, level, pattern in TABLE:
        if pattern.search(text):
            yield name, level
    if SOCKETS.search(text) and SHELL_AT_SOCKET.search(text):
        yield "remote-shell", HIGH
    if ENVIRONMENT.search(text) and SENDS.search(text):
        yield "send-out", HIGH
    if any(is_root(match[1]) for match in DELETES.finditer(text)):
        yield "delete-system", CRITICAL
    kinds = {danger_of(string) for string in strings_in(text)}
    if "secret" in kinds:
        yield "read-secret", HIGH
    elif "private" in kinds:
        yield "read-private", MEDIUM
    if "disk" in kinds:
        yield "write-disk", HIGH
    if "startup" in kinds:
        yield "persistence", MEDIUM


def commands_in(code: str) -> Iterator[str]:
    """The texts in a program that may be shell lines; none where it starts no other."""
    if STARTS.search(code) is None and "`" not in code:
        return
    text = JOINED.sub("", COMMENT.sub("", code))
    yield from (string for string in strings_in(LISTED.sub(" ", text)) if " " in string or "|" in string)


def strings_in(code: str) -> Iterator[str]:
    """The strings of a program, up to 2,000 characters each."""
    for match in STRING.finditer(code):
        string = match[1] or match[2] or match[3]
        if string and len(string) <= 2_000:
            yield string
