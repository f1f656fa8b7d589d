"""Rules for what a call reads and writes, whichever program it is: files, sockets, foreign code."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from security.guardian.calls import (
    DECODERS,
    EVALUATORS,
    FETCHERS,
    INTERPRETERS,
    PRINTERS,
    SHELLS,
    Call,
    names,
)
from security.guardian.places import Danger, dangers
from security.guardian.programs import Found
from security.verdict import Level

MEDIUM, HIGH, CRITICAL = Level.MEDIUM, Level.HIGH, Level.CRITICAL
SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/")
MINING: Final = re.compile(r"stratum\+(?:tcp|ssl|tls)://|--donate-level|--coin=?monero", re.IGNORECASE)
GLOB_NAME: Final = re.compile(r"/(?=[^?*\[]*[?*\[])[\w?*\[\]./-]*[^*]")
READERS: Final = names(
    """cat less more head tail tac nl strings xxd od hexdump base64 base32 cut sort uniq cp mv scp rsync tar
    zip gzip 7z openssl curl wget nc ncat vim vi nano emacs view dd diff paste rev bat jq install ln grep
    egrep fgrep rg ag awk gawk sed tee wc split file fold column gpg python perl ruby node php"""
)
PATTERN_FIRST: Final = names("grep egrep fgrep rg ag awk gawk sed")
TARGET_LAST: Final = names("cp mv install ln scp rsync")
READ: Final[Mapping[Danger, tuple[str, Level]]] = {
    "secret": ("read-secret", HIGH),
    "private": ("read-private", MEDIUM),
    "history": ("read-private", MEDIUM),
    "disk": ("read-disk", HIGH),
}
WRITE: Final[Mapping[Danger, tuple[str, Level]]] = {
    "disk": ("write-disk", CRITICAL),
    "startup": ("persistence", HIGH),
    "system": ("write-system", HIGH),
    "secret": ("write-secret", HIGH),
    "log": ("wipe-history", HIGH),
    "history": ("wipe-history", HIGH),
}
RC_FILE: Final = re.compile(
    r"\.(?:bashrc|bash_\w+|profile|zshrc|zprofile|zshenv|xinitrc|xprofile)$|config\.fish$"
)


def reads(call: Call) -> Found:
    """Files that hold secrets."""
    words = [target for operator, target in call.step.redirects if operator in ("<", "<>")]
    if call.name in READERS:
        own = call.plain
        if call.name in PATTERN_FIRST:
            own = own[1:]
        elif call.name in TARGET_LAST and len(own) > 1:
            own = own[:-1]
        words += [
            *own,
            *(
                word
                for word in call.args
                if word.startswith("-") and "=" in word and not word.startswith("--env")
            ),
        ]
    return _worst(READ, dangers(words))


def writes(call: Call) -> Found:
    """Files that start programs, and those of the system; the ones of a person's own shell are in doubt."""
    words = [target for operator, target in call.step.redirects if ">" in operator]
    is_added = any(operator == ">>" for operator, _ in call.step.redirects)
    if call.name in ("tee", "truncate", "touch") or (call.name == "sed" and call.has("-i", "--in-place")):
        words += call.plain
    elif call.name in TARGET_LAST:
        words += call.plain[-1:]
    found = _worst(WRITE, dangers(words))
    if found == WRITE["startup"] and all(RC_FILE.search(word) for word in words if dangers([word])):
        return "persistence", MEDIUM
    if found == WRITE["log"] and is_added:
        return None
    return found


def _worst(table: Mapping[Danger, tuple[str, Level]], kinds: set[Danger]) -> Found:
    return max((table[kind] for kind in kinds if kind in table), key=lambda one: one[1], default=None)


def sockets(call: Call) -> Found:
    """Shells and data over `/dev/tcp`."""
    words = [target for _, target in call.step.redirects]
    if call.name not in PRINTERS:
        words += call.args
    return ("remote-shell", HIGH) if any(SOCKET.search(word) for word in words) else None


def mining(call: Call) -> Found:
    """A pool of miners."""
    return ("miner", HIGH) if call.name not in PRINTERS and any(map(MINING.search, call.args)) else None


def foreign_code(call: Call) -> Found:
    """What a shell or an interpreter is given to run, and was fetched or decoded just before."""
    if _reads_code(call):
        for source in call.sources():
            if source.name in FETCHERS:
                return "fetched-code", HIGH
            if _decodes(source):
                return "decoded-code", HIGH
    host = call.host
    if host is None:
        return None
    is_name = "$()" in host.name
    if not (is_name or host.name in SHELLS | INTERPRETERS | EVALUATORS):
        return None
    if call.name in FETCHERS and (is_name or not host.args or _is_program_text(host)):
        return "fetched-code", HIGH
    if _decodes(call) or (is_name and call.name in PRINTERS):
        return "decoded-code", HIGH
    return None


def _reads_code(call: Call) -> bool:
    if call.name in SHELLS:
        return not any(
            word.startswith("-") and not word.startswith("--") and "c" in word for word in call.args
        )
    return call.name in INTERPRETERS | EVALUATORS and (not call.args or call.args[0] in ("-", "/dev/stdin"))


def _is_program_text(host: Call) -> bool:
    """Whether the output is what runs: the text behind `-c`, or the file."""
    if host.name in EVALUATORS:
        return True
    flags = [word for word in host.args if word.startswith("-")]
    words = [word for word in host.args if not word.startswith("-")]
    return "$()" in words[0] if words else bool(flags)


def _decodes(call: Call) -> bool:
    if call.name in ("base64", "base32", "basenc"):
        return call.has("-d", "-D", "--decode")
    if call.name in ("xxd", "hexdump"):
        return call.has("-r")
    if call.name == "openssl":
        return "-d" in call.args
    return call.name in DECODERS - {"od", "gpg"}


def hidden_name(call: Call) -> Found:
    """A program whose name is spelled so that nobody reads it."""
    word = call.step.words[0] if call.step.words else ""
    if GLOB_NAME.fullmatch(word):
        return "hidden-name", HIGH
    return None


def raised(call: Call) -> Found:
    """The rights of another user, or a library put under a program."""
    if call.is_raised:
        return "raised", MEDIUM
    is_loaded = any(word.startswith("LD_PRELOAD=") for word in call.environment)
    return ("preload", MEDIUM) if is_loaded else None


def downloaded(call: Call) -> Iterator[str]:
    """The names under which a call puts files that it fetches."""
    if call.name not in ("curl", "wget", "aria2c", "axel"):
        return
    options = ("-o", "--output") if call.name != "wget" else ("-O", "--output-document")
    for word, after in zip(call.args, (*call.args, "")[1:], strict=True):
        if word in options and after:
            yield _name(after)
        elif word.startswith(tuple(f"{option}=" for option in options)):
            yield _name(word.partition("=")[2])
    if call.name != "curl" or call.has("-O", "--remote-name"):
        yield from (_name(word.partition("?")[0]) for word in call.plain if "/" in word)


def runs(call: Call) -> str:
    """The name of the file that a call runs."""
    if call.name in SHELLS | INTERPRETERS | EVALUATORS:
        return _name(call.plain[0]) if call.plain else ""
    return _name(call.name)


def _name(path: str) -> str:
    return path[-256:].rpartition("/")[2].lower()
