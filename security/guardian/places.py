"""Files and directories by what it would mean to read, write or delete them."""

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

Danger: TypeAlias = Literal["secret", "private", "startup", "system", "disk", "log", "history"]

MOST_PATH: Final = 4_096  # characters; PATH_MAX of Linux
ROOTS: Final = frozenset(
    {
        *("/", "~", "/*", "~/*", "/.*", "~/.*", "~root", "/home", "/home/*", "/root", "/root/*"),
        *(f"/{name}" for name in ("etc", "usr", "var", "bin", "sbin", "lib", "lib64", "boot", "opt")),
        *(f"/{name}/*" for name in ("etc", "usr", "var", "bin", "sbin", "lib", "lib64", "boot", "opt")),
        *("/dev", "/sys", "/proc", "/usr/bin", "/usr/lib", "/usr/bin/*", "/usr/lib/*", "/mnt", "/mnt/*"),
        *("/System", "/Library", "/Users", "/Users/*", "/Applications"),
    }
)
WINDOWS_ROOT: Final = re.compile(r"[a-z]:[\\/]*(?:\*(?:\.\*)?|windows|users|program files)?[\\/]*\*?", re.I)
SECRETS: Final = re.compile(
    r"""(?:^|/)(?:
        etc/(?:g?shadow-?|sudoers(?:\.d/.*)?|master\.passwd|krb5\.keytab|ssl/private/.*|ssh/ssh_host_\w+_key)
      | \.ssh/(?:id_\w+|identity|\*|id_\*|.*\.pem)
      | \.(?:aws/credentials|netrc|git-credentials|pgpass|docker/config\.json|kube/config|vault-token)
      | \.(?:gnupg/.*|password-store/.*|config/gcloud/.*|azure/.*|config/gh/hosts\.yml|config/rclone/.*)
      | \.switchboard/(?:secret.*|.*\.db|bot\.toml|\.env)
      | proc/(?:self|\d+|\*)/environ
      | (?:Login\ Data|logins\.json|key4\.db|cookies\.sqlite|wallet\.dat|Cookies)
      | var/run/secrets/.* | run/secrets/.*
      | (?:windows/)?system32/config/(?:sam|security|system) | ntds\.dit
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
PRIVATE: Final = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?!example$|sample$|template$)\w+)?|etc/passwd"
    r"|\.ssh|\.aws|\.gnupg|id_(?:rsa|dsa|ecdsa|ed25519)|\.npmrc|\.pypirc|\.mozilla|\.config/google-chrome)$",
    re.IGNORECASE,
)
STARTUP: Final = re.compile(
    r"""(?:^|/)(?:
        \.ssh/(?:authorized_keys2?|rc|config) | etc/(?:cron[\w.]*(?:/.*)?|anacrontab|rc\.local|init\.d/.*)
      | var/spool/cron(?:/.*)? | etc/systemd/.* | \.config/systemd/.* | (?:usr/)?lib/systemd/.*
      | etc/(?:profile(?:\.d/.*)?|bash\.bashrc|environment|ld\.so\.preload|pam\.d/.*|xdg/autostart/.*)
      | \.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|xinitrc|xprofile)
      | \.config/(?:autostart/.*|fish/config\.fish) | Library/Launch(?:Agents|Daemons)/.*
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
SYSTEM: Final = re.compile(r"^/(?:etc|boot|usr(?!/local/)|bin|sbin|lib|lib64|sys|proc|System)/.+")
DISK: Final = re.compile(
    r"/dev/(?:(?:sd|hd|vd|xvd)[a-z]\d*|nvme\d.*|mmcblk\d.*|disk.*|mapper/.*|r?disk\d.*|mem|kmem|port)$"
)
LOG: Final = re.compile(r"/var/log(?:/.*)?$|/var/(?:run|log)/[uwb]tmp$")
HISTORY: Final = re.compile(r"(?:^|/)\.\w{2,8}_history$")
CANONICAL: Final = (
    *("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh/id_rsa", "~/.ssh/id_rsa"),
    *("~/.ssh/id_ed25519", "~/.aws/credentials", "/proc/self/environ", "~/.netrc"),
)
CANONICAL_PRIVATE: Final = ("/etc/passwd",)
KINDS: Final[tuple[tuple[Danger, re.Pattern[str]], ...]] = (
    ("disk", DISK),
    ("secret", SECRETS),
    ("startup", STARTUP),
    ("private", PRIVATE),
    ("log", LOG),
    ("history", HISTORY),
    ("system", SYSTEM),
)


def clean(word: str) -> str:
    """A path without what changes nothing: doubled slashes, `.` and `..`, a `file://` in front."""
    word = word[:MOST_PATH].strip("'\"")
    if word.startswith("file://"):
        word = word[7:]
    if "/" not in word:
        return word
    word = word.replace("\\", "/")
    for home in ("$HOME", "${HOME}"):
        word = word.replace(home, "~")
    return re.sub(r"^//+", "/", posixpath.normpath(word))


def is_root(word: str) -> bool:
    """Whether it names a whole system, a home, or one of the directories that a system is made of."""
    if word.endswith("/*") and clean(word[:-2]) == "/":
        return True
    return clean(word) in ROOTS or WINDOWS_ROOT.fullmatch(word) is not None


def danger_of(word: str) -> Danger | None:
    """What a file is, where that matters."""
    if "." not in word and "/" not in word and "id_" not in word:
        return None
    path = clean(word)
    if "?" in path or "*" in path or "[" in path:
        if _may_be(path, CANONICAL):
            return "secret"
        if _may_be(path, CANONICAL_PRIVATE):
            return "private"
    if path.endswith(".pub"):
        return None
    for kind, pattern in KINDS:
        if pattern.search(path):
            return kind
    return None


def dangers(words: Iterable[str]) -> set[Danger]:
    """The same of many words, also where a path stands behind `@`, `=` or `:`."""
    found = {danger_of(part) for word in words if len(word) <= MOST_PATH for part in _parts(word)}
    return {kind for kind in found if kind is not None}


def _parts(word: str) -> Iterable[str]:
    yield word
    for sign in "@=:":
        before, found, after = word.partition(sign)
        if found and after and "/" not in before:
            yield after.lstrip("@<")


def _may_be(pattern: str, paths: tuple[str, ...]) -> bool:
    """Whether a pattern was written for one of these files: part by part, as the shell reads it."""
    parts = pattern.split("/")
    if len(parts) > 6 or not any(part.strip("*") for part in parts):
        return False
    return any(
        len(names) == len(parts)
        and sum(part == "*" for part in parts) == 0
        and all(len(part) < 64 and fnmatchcase(name, part) for part, name in zip(parts, names, strict=True))
        for names in (path.split("/") for path in paths)
    )
