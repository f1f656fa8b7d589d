"""Look for inputs that break a parser, guided by the code that they reach.

`python .ci/fuzz.py [seconds] [target …]` needs `pip install atheris`, which is not among our own requirements
(35 MB, Linux only, no wheel for every Python). Each target runs in a process of its own, for its share of the
seconds; nothing is imported before, so that what it imports can be watched. What breaks one is told with a
traceback, and the input is kept; the exit code is then 1.
"""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
SECONDS: Final = 20
MAX_INPUT: Final = 4_096  # bytes
SPARE: Final = 60  # seconds that a target gets beyond its share, to load and to end
CHILD: Final = "--child"


def url(data: bytes) -> None:
    """No URL that the guard lets through is an address inside."""
    from ipaddress import ip_address

    from bot.tools.base import ToolFault
    from security.addresses import Reach, is_public
    from security.network import parse_url

    try:
        found = parse_url(data.decode("utf-8", "replace"))
        Reach().check_host(found.raw_host or "", found.port or 0)
    except ToolFault:
        return
    try:
        address = str(ip_address((found.raw_host or "").strip("[]")))
    except ValueError:
        return
    if not is_public(address):
        raise AssertionError(f"{found} was let through")


def hosts(data: bytes) -> None:
    """No header breaks the check of `Host` and `Origin`, and none from elsewhere passes it."""
    from bot.web.hosts import HostRule, is_loopback, parse_authority

    text = data.decode("utf-8", "replace")
    rule = HostRule("127.0.0.1", 8765, ("chat.example.org",))
    rule.admits_origin(text, text)
    if not rule.admits_host(text):
        return
    found = parse_authority(text.lower())
    if found is None or not (found.name == "chat.example.org" or is_loopback(found.name)):
        raise AssertionError(f"{text!r} is taken for one of our names")


def frames(data: bytes) -> None:
    """What a page sends is a frame, or told not to be."""
    import msgspec

    from channels.frames import decode_client

    try:
        decode_client(data)
    except msgspec.MsgspecError:
        return


def slack(data: bytes) -> None:
    """What Slack's hook reads is understood, or refused in a way that the hook knows."""
    import msgspec

    from channels.slack.hooks import read_body

    for kind in ("application/json", "application/x-www-form-urlencoded"):
        try:
            read_body(data, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def feishu(data: bytes) -> None:
    """What Feishu's hook reads is theirs, or told not to be."""
    from channels.feishu.webhook import Gate, NotTheirs

    for key in (None, "a key"):
        try:
            Gate(token="a token", encrypt_key=key).open(data, {"x-lark-signature": "x"})
        except NotTheirs:
            continue
        raise AssertionError("a request that nobody has signed was let in")


def discord(data: bytes) -> None:
    """Nothing that Discord has not signed is whole."""
    from channels.discord.hook import Seal

    signature, _, rest = data.partition(b"\n")
    stamp, _, body = rest.partition(b"\n")
    seal = Seal("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    if seal.is_whole(body, stamp=stamp.decode("latin-1"), signature=signature.decode("latin-1")):
        raise AssertionError("a request that nobody has signed is whole")


def markdown(data: bytes) -> None:
    """Any text becomes markup."""
    from channels.markup.telegram import render

    render(data.decode("utf-8", "replace"))


def commands(data: bytes) -> None:
    """Any text is a command or none."""
    from bot.agent.control import parse_kill

    parse_kill(data.decode("utf-8", "replace"))


def page(data: bytes) -> None:
    """Any body of an answer is unpacked, or told to be damaged."""
    from bot.tools.base import ToolFault
    from security.network import _Inflater

    inflater = _Inflater("host")
    try:
        out = inflater.feed(data, 10_000) + inflater.feed(data, 10_000)
    except ToolFault:
        return
    if len(out) > 20_000:
        raise AssertionError("more was unpacked than was asked for")


def session(data: bytes) -> None:
    """No cookie but ours opens a session."""
    from bot.web.access import Access

    if Access("a token that nobody guesses").is_session(data.decode("latin-1")):
        raise AssertionError("a session out of nothing")


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    one.__name__: one
    for one in (url, hosts, frames, slack, feishu, discord, markdown, commands, page, session)
}


def main(arguments: list[str]) -> int:
    """Run the targets one after another; 1 where one was broken."""
    if arguments[:1] == [CHILD]:
        fuzz(TARGETS[arguments[1]], int(arguments[2]))
        return 0
    numbers = [int(one) for one in arguments if one.isdigit()]
    chosen = [one for one in arguments if not one.isdigit()] or list(TARGETS)
    share = max(1, (numbers or [SECONDS])[0] // len(chosen))
    codes = [run(name, share) for name in chosen]
    return 1 if any(codes) else 0


def run(name: str, seconds: int) -> int:
    """Fuzz one target in a process of its own; gives its exit code."""
    command = [sys.executable, str(Path(__file__)), CHILD, name, str(seconds)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds + SPARE
        )
        code, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        code, said = 1, "it did not end"
    runs = [line for line in said.splitlines() if line.startswith("Done ")]
    sys.stdout.write(f"{name:10} {'broken' if code else 'whole'}  {runs[-1] if runs else ''}\n")
    if code:
        sys.stdout.write(said[-5_000:] + "\n")
    return code


def fuzz(target: Callable[[bytes], None], seconds: int) -> None:
    """Hand the process over to atheris, which ends it."""
    sys.path.insert(0, str(ROOT))
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["bot", "channels", "security", "memory"]):
        target(b"")
    kept = f"-artifact_prefix={gettempdir()}/switchboard-"
    options = [f"-max_total_time={seconds}", f"-max_len={MAX_INPUT}", kept]
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
