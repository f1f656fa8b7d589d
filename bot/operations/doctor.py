"""What `python -m bot doctor` says: settings in force, what is missing, what runs."""

import asyncio
import importlib.util
import json
import re
from pathlib import Path

from pydantic import BaseModel, SecretStr

from bot.app import open_store, read_holder
from bot.errors import BotError, ModelError, StoreError
from bot.models.demo import demo_model_path
from bot.models.probe import list_models
from bot.operations.ask import ask
from bot.operations.equipment import show_channels, show_tools
from bot.operations.exposure import look_for_exposure, show
from bot.operations.report import Report
from bot.operations.terminal import say
from bot.settings import Section, Settings, load_settings, variable_name

PASSWORD = re.compile(r"//[^/@\s]+@")  # in an address
LONG_TURN = 60.0  # seconds after which a running turn is pointed out


def examine(settings: Settings, *, is_probing: bool) -> Report:
    """Look at everything; asks the provider only if `is_probing`."""
    report = Report()
    report.lines.append("Settings in force (secrets are masked)")
    _show_settings(report, settings, "")
    report.lines.append("\nChannels")
    show_channels(report, settings)
    report.lines.append("\nTools")
    show_tools(report, settings)
    report.lines.append("\nBackend")
    _show_backend(report, settings, is_probing=is_probing)
    _show_changes(report, settings)
    report.lines.append("\nProcess")
    _show_process(report, settings)
    return report


def _show_settings(report: Report, section: BaseModel, path: str) -> None:
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            _show_settings(report, value, f"{path}{name}.")
        else:
            report.lines.append(f"  {variable_name(path + name)} = {_masked(value)}")


def _show_changes(report: Report, settings: Settings) -> None:
    """What admins changed while the bot ran, which ranks above the settings."""
    if not settings.data_dir.is_dir():
        return
    try:
        lines = asyncio.run(changed_lines(settings))
    except StoreError as error:
        report.missing(f"the database: {error}")
        return
    if lines:
        report.lines += ["\nChanged by admins", *(f"  {line}" for line in lines)]


async def changed_lines(settings: Settings) -> list[str]:
    """Changed settings and rules, one a line, as `name = value`.

    Raises:
        StoreError: The database can't be read.
    """
    async with open_store(settings) as store:
        changed = await store.changed_settings.all()
        rules = [
            f"{kind} {subject} = {value}"
            for kind in store.rules.kinds
            for subject, value in store.rules.of(kind).items()
        ]
    return [*(f"{name} = {value}" for name, value in changed.items()), *rules]


def _masked(value: object) -> str:
    if isinstance(value, SecretStr):
        return "********"
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return "" if value is None else PASSWORD.sub("//********@", str(value))


def _show_backend(report: Report, settings: Settings, *, is_probing: bool) -> None:
    if settings.effective_provider == "local":
        _show_local(report, settings)
        return
    if settings.openai.api_key is None and settings.openai.base_url is None:
        report.missing("openai: set OPENAI_API_KEY, or BOT_OPENAI__BASE_URL for another server")
        return
    report.good(f"openai: {_masked(settings.openai.base_url) or 'the default address'}")
    if is_probing:
        try:
            names = asyncio.run(list_models(settings.openai))
        except ModelError as error:
            report.missing(f"openai does not answer: {error}")
        else:
            report.good(f"openai answers and offers {len(names)} models")


def _show_local(report: Report, settings: Settings) -> None:
    path = settings.local.gguf or demo_model_path(settings.data_dir)
    if importlib.util.find_spec("xllamacpp") is None:
        report.missing("local: the engine: pip install 'switchboard-bot[local]'")
    if Path(path).is_file():
        report.good(f"local: {path}")
    else:
        report.missing("local: the model: python -m bot model get (or set OPENAI_API_KEY)")


def _show_process(report: Report, settings: Settings) -> None:
    holder = read_holder(settings.data_dir)
    if holder is None:
        report.good(f"not running; data in {settings.data_dir}")
        return
    report.good(f"running as process {holder.pid}" + (f" at {holder.url}" if holder.url else ""))
    if holder.url is None:
        return
    try:
        status = json.loads(ask(settings, holder.url, "/api/status"))
    except BotError as error:
        report.missing(f"it does not answer: {error}")
        return
    report.good(f"{status['sessions']} sessions busy, {len(status['running'])} turns running")
    for channel in status["channels"]:
        if not channel["is_connected"]:
            report.missing(
                f"{channel['channel']} ({channel['account']}): {channel.get('cause') or 'connecting'}"
            )
    for turn in status["running"]:
        if turn["seconds"] >= LONG_TURN:
            report.missing(
                f"{turn['session']} has run for {turn['seconds']:.0f} s in stage {turn['stage']}: "
                f"/kill {turn['session']} stops it"
            )


def doctor(probe: bool, security: bool = False) -> int:
    """`doctor`: the settings, what is missing, what runs; exit code 1 where something is missing.

    Args:
        security: Show what is open instead; exit code 1 where something is.
    """
    settings = load_settings()
    if security:
        findings = look_for_exposure(settings)
        say("What is open, and what closes it")
        for line in show(findings):
            say(line)
        return 1 if any(finding.mark == "open" for finding in findings) else 0
    report = examine(settings, is_probing=probe)
    for line in report.lines:
        say(line)
    return 1 if report.is_lacking else 0
