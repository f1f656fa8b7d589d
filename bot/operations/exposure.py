"""What `doctor --security` says: what is open, why that matters, and what closes it."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from bot.app import find_channels, find_sandbox_fault
from bot.settings import Settings, variable_name
from bot.settings.redaction import PlaceSettings
from bot.settings.references import REFERENCE
from bot.web.hosts import is_loopback

SHORT_TOKEN: Final = 16  # characters; below, guessing is worth a try
MAX_FILES: Final = 5  # that are named of those which others can read
MAX_LOOKED: Final = 20_000  # files that are looked at
POWERFUL: Final = frozenset({"coding", "full"})
COMMANDS: Final = frozenset({"exec", "process", "script", "group:exec", "*"})
MODELS_READ: Final = "model_input"  # keys in what people write; those of the bot are hidden there too
SETTINGS_FILES: Final = (".env", "bot.toml")

Mark: TypeAlias = Literal["open", "note", "ok"]


class Finding(NamedTuple):
    """One look at one thing.

    Attributes:
        mark: `open` wants something done; `note` is what could be tighter; `ok` is as it should be.
        text: What there is, and why that matters.
        way_out: What to do; empty where nothing is.
    """

    mark: Mark
    text: str
    way_out: str = ""


def look_for_exposure(settings: Settings) -> list[Finding]:
    """Look at everything that decides who gets at what."""
    return [finding for look in LOOKS for finding in look(settings)]


def show(findings: Iterable[Finding]) -> Iterator[str]:
    """The findings as lines, what is open first."""
    marks: tuple[Mark, ...] = ("open", "note", "ok")
    for finding in sorted(findings, key=lambda one: marks.index(one.mark)):
        yield f"  {finding.mark:7}  {finding.text}"
        if finding.way_out:
            yield f"           {finding.way_out}"


def _page(settings: Settings) -> Iterator[Finding]:
    web = settings.web
    if not web.enabled:
        yield Finding("ok", "page: off")
        return
    if is_loopback(web.host):
        yield Finding("ok", f"page: reached from this machine only ({web.host})")
    elif (settings.public_url or "").startswith("https://"):
        yield Finding(
            "note", f"page: listens on {web.host}; TLS is left to the proxy of {settings.public_url}"
        )
    else:
        yield Finding(
            "open",
            f"page: listens on {web.host} without TLS, so that who shares the network reads the token",
            "BOT_WEB__HOST=127.0.0.1, with a proxy before it that speaks TLS",
        )
    if web.token is None and is_loopback(web.host):
        yield Finding(
            "note",
            "page: without a token, every user and program of this machine is its owner",
            "BOT_WEB__TOKEN, where the machine has other users",
        )
    elif web.token is not None and _is_short(web.token):
        yield Finding(
            "open",
            f"page: the token has fewer than {SHORT_TOKEN} characters and can be guessed",
            "BOT_WEB__TOKEN=$(openssl rand -hex 24)",
        )


def _is_short(token: SecretStr) -> bool:
    text = token.get_secret_value()
    return len(text) < SHORT_TOKEN and REFERENCE.fullmatch(text) is None


def _people(settings: Settings) -> Iterator[Finding]:
    if not any(accounts for accounts, _ in find_channels(settings).values()):
        yield Finding("ok", "people: no platform is on")
        return
    access = settings.access
    modes = {"direct chats": access.mode, "groups": access.groups or access.mode}
    modes |= {f"{name}, direct chats": one.mode for name, one in access.channels.items() if one.mode}
    modes |= {f"{name}, groups": one.groups for name, one in access.channels.items() if one.groups}
    modes |= dict(access.chats)
    for place, mode in modes.items():
        if mode == "open":
            yield Finding("open", f"people: everybody may speak ({place})", "BOT_ACCESS__MODE=pairing")
        else:
            yield Finding("ok", f"people: {mode} ({place})")
    if settings.admins:
        yield Finding("ok", f"admins: {', '.join(settings.admins)}")
    else:
        yield Finding(
            "open",
            "admins: nobody is named, so that on the platforms nobody can approve, block or stop others",
            "BOT_ADMINS=telegram:42",
        )
    for name in ("telegram", "discord", "slack", "feishu"):
        if getattr(settings, name).allow_bots:
            yield Finding(
                "note", f"people: other bots are answered ({name})", f"BOT_{name.upper()}__ALLOW_BOTS"
            )
    if settings.slack.trust_admins:
        yield Finding("note", "admins: those of the Slack workspace, too", "BOT_SLACK__TRUST_ADMINS")


def _tools(settings: Settings) -> Iterator[Finding]:
    tools = settings.tools
    everywhere = {"": tools.profile} | {f"{name}, ": one.profile for name, one in tools.channels.items()}
    everywhere |= {f"{key}, ": one.profile for key, one in tools.chats.items()}
    for place, profile in everywhere.items():
        if profile in POWERFUL:
            yield Finding(
                "open",
                f"tools: {place}profile {profile} for everybody who may speak, not only for admins",
                "BOT_TOOLS__PROFILE=chat; admins have BOT_TOOLS__ADMIN_PROFILE",
            )
    allowed = {*tools.allow}.union(*(one.allow for one in (*tools.channels.values(), *tools.chats.values())))
    if found := sorted(allowed & COMMANDS):
        yield Finding("open", f"tools: everybody has {', '.join(found)}", "BOT_TOOLS__ALLOW")
    for name, rule in settings.approvals.rules.items():
        if rule.mode == "auto" or ".*" in rule.allow:
            yield Finding(
                "open",
                f"approvals: {name} runs without asking anybody",
                f'approvals.rules.{name} in bot.toml: mode = "confirm", with allow for what is harmless',
            )
    if not POWERFUL & set(everywhere.values()) and not allowed & COMMANDS:
        yield Finding("ok", f"tools: profile {tools.profile} for everybody, {tools.admin_profile} for admins")


def _sandbox(settings: Settings) -> Iterator[Finding]:
    sandbox = settings.sandbox
    if sandbox.unsafe:
        yield Finding(
            "open",
            "sandbox: where bubblewrap is missing, commands do all that the bot's user may",
            "apt-get install bubblewrap, and BOT_SANDBOX__UNSAFE=false",
        )
    if sandbox.network:
        yield Finding(
            "open",
            "sandbox: commands reach the network, and the services of this machine",
            "BOT_SANDBOX__NETWORK=false",
        )
    if not (settings.data_dir / "workspace").is_dir():
        yield Finding("note", "sandbox: not tried yet, the bot has not run with this BOT_HOME")
        return
    fault = asyncio.run(find_sandbox_fault(settings))
    if fault is None and not sandbox.unsafe:
        yield Finding("ok", "sandbox: commands run in bubblewrap")
    elif fault is not None:
        yield Finding("note", f"sandbox: {fault}")


def _network(settings: Settings) -> Iterator[Finding]:
    if settings.network.allow:
        hosts = ", ".join(settings.network.allow)
        yield Finding("note", f"network: the model reaches {hosts}, private or not", "BOT_NETWORK__ALLOW")
    if settings.network.use_proxy:
        yield Finding(
            "note",
            "network: names are looked up by the proxy, which has to refuse private addresses itself",
            "BOT_NETWORK__USE_PROXY",
        )
    for variable, url in _addresses(settings):
        host = urlsplit(url).hostname or ""
        if urlsplit(url).scheme in {"http", "ws"} and not is_loopback(host):
            yield Finding("open", f"network: keys are sent to {host} without TLS", f"{variable}: https")
    if settings.feishu.mode == "webhook" and settings.feishu.encrypt_key is None:
        yield Finding(
            "open",
            "feishu: requests are not signed, so that one that was seen can be sent again",
            "set an Encrypt Key in the console, and BOT_FEISHU__ENCRYPT_KEY",
        )


def _addresses(section: BaseModel, path: str = "") -> Iterator[tuple[str, str]]:
    """Settings that are addresses of servers, which get keys."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _addresses(value, f"{path}{name}.")
        elif isinstance(value, dict):
            for key, one in value.items():
                if isinstance(one, BaseModel):
                    yield from _addresses(one, f"{path}{name}.{key}.")
        elif isinstance(value, str) and name != "public_url" and "://" in value:
            yield variable_name(path + name), value


def _hiding(settings: Settings) -> Iterator[Finding]:
    for name in type(settings.redaction).model_fields:
        place = getattr(settings.redaction, name)
        if isinstance(place, PlaceSettings) and place.secrets in {"off", "log"}:
            mark: Mark = "note" if name == MODELS_READ else "open"
            way_out = f"{variable_name(f'redaction.{name}.secrets')}=mask"
            yield Finding(mark, f"redaction: keys and passwords are not hidden ({name})", way_out)
    if settings.log.level == "DEBUG":
        yield Finding(
            "open", "log: level DEBUG, at which libraries log what people write", "BOT_LOG__LEVEL=INFO"
        )
    if not settings.audit.strict:
        yield Finding(
            "note",
            "audit: tools that act go on where the log can't be written",
            "BOT_AUDIT__STRICT=true",
        )


def _files(settings: Settings) -> Iterator[Finding]:
    for name in SETTINGS_FILES:
        if Path(name).is_file() and os.stat(name).st_mode & 0o077:
            yield Finding("open", f"files: others can read {Path(name).absolute()}", f"chmod 600 {name}")
    if os.geteuid() == 0:
        yield Finding("open", "process: runs as root, who may do everything", "run it as a user of its own")
    home = settings.data_dir
    if not home.is_dir():
        return
    if (home / "secret.key").exists():
        yield Finding(
            "note",
            "secrets: their key lies beside them, so that a copy of BOT_HOME can be opened",
            "BOT_SECRET_KEY, from where copies do not reach; then python -m bot secret rekey",
        )
    loose = _loose(home)
    if loose:
        names = ", ".join(str(path.relative_to(home.parent)) for path in loose[:MAX_FILES])
        more = " and more" if len(loose) > MAX_FILES else ""
        yield Finding("open", f"files: others can get at {names}{more}", f"chmod -R go= {home}")
    else:
        yield Finding("ok", f"files: {home} is for its owner alone")


def _loose(home: Path) -> list[Path]:
    """What others may read or change; nothing below a directory that they can't enter."""
    found: list[Path] = []
    waiting, looked = [home], 0
    while waiting and looked < MAX_LOOKED and len(found) <= MAX_FILES:
        here = waiting.pop()
        looked += 1
        try:
            mode = os.lstat(here).st_mode
            if stat.S_ISLNK(mode) or not mode & 0o077:
                continue
            found += [here] if stat.S_ISREG(mode) or here == home else []
            waiting += sorted(here.iterdir()) if stat.S_ISDIR(mode) else []
        except OSError:  # gone, or not ours to look into
            continue
    return found


def _encryption(settings: Settings) -> Iterator[Finding]:
    if find_spec("cryptography") is None:
        yield Finding("note", "secrets: can't be kept encrypted here", "pip install cryptography")
    count = _in_clear(settings)
    if count:
        yield Finding(
            "note",
            f"secrets: {count} stand in the settings in the clear",
            "python -m bot secret set NAME, and secret:NAME in their place",
        )


def _in_clear(value: object) -> int:
    match value:
        case SecretStr():
            return 0 if REFERENCE.fullmatch(value.get_secret_value()) else 1
        case BaseModel():
            return sum(_in_clear(getattr(value, name)) for name in type(value).model_fields)
        case dict():
            return sum(map(_in_clear, value.values()))
    return 0


LOOKS: Final[tuple[Callable[[Settings], Iterator[Finding]], ...]] = (
    *(_page, _people, _tools, _sandbox, _network, _hiding, _files, _encryption),
)
