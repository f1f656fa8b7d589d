"""`secret set`, `list`, `delete` and `rekey`: secrets kept in the database, encrypted."""

import asyncio
import sys
from datetime import UTC, datetime
from getpass import getpass

from bot.app import open_secrets
from bot.errors import ConfigError
from bot.operations.terminal import say
from bot.settings import Settings, load_settings
from bot.settings.references import NAME, REFERENCE, secrets_named_in

LEAST_KEY = 16  # characters, as BOT_SECRET_KEY has


def secret_set(name: str) -> int:
    """`secret set`: keep what is typed, or what comes in by a pipe.

    Raises:
        ConfigError: The name or the value can't be one.
        StoreError: The key is not the one of the other secrets.
    """
    if NAME.fullmatch(name) is None:
        raise ConfigError(f"{name!r} can't be a name: small letters, digits, and . _ - between them")
    settings = load_settings()
    value = _ask("Value of the secret (it is not shown): ")
    if REFERENCE.fullmatch(value) is not None:
        raise ConfigError(f"this is the name of a secret, not its value: {value}")
    asyncio.run(_put(settings, name, value))
    say(f"Kept. A setting names it as secret:{name}; a bot that runs takes it up at its next start.")
    return 0


async def _put(settings: Settings, name: str, value: str) -> None:
    async with open_secrets(settings) as secrets:
        await secrets.put(name, value)


def secret_list() -> int:
    """`secret list`: names, never values; 1 where the key does not open them."""
    settings = load_settings()
    named = secrets_named_in(settings)
    kept, opens = asyncio.run(_look(settings)) if settings.data_dir.is_dir() else ({}, True)
    for name, changed_at in kept.items():
        day = datetime.fromtimestamp(changed_at, UTC).date()
        say(f"{name}  since {day}  {named.get(name, 'not named by a setting')}")
    for name in sorted(named.keys() - kept.keys()):
        say(f"{name}  missing  {named[name]}: python -m bot secret set {name}")
    if not kept and not named:
        say("There are no secrets: python -m bot secret set NAME")
    if not opens:
        say("The key at hand does not open them: BOT_SECRET_KEY, or secret.key in BOT_HOME, is another one.")
    return 0 if opens else 1


async def _look(settings: Settings) -> tuple[dict[str, float], bool]:
    async with open_secrets(settings) as secrets:
        kept = {secret.name: secret.changed_at for secret in await secrets.names()}
        return kept, await secrets.opens()


def secret_delete(name: str) -> int:
    """`secret delete`: forget one; 1 where there is none."""
    settings = load_settings()
    if not settings.data_dir.is_dir() or not asyncio.run(_delete(settings, name)):
        say(f"There is no secret {name!r}.")
        return 1
    setting = secrets_named_in(settings).get(name)
    say("Forgotten." + (f" {setting} still names it: the bot will not start so." if setting else ""))
    return 0


async def _delete(settings: Settings, name: str) -> bool:
    async with open_secrets(settings) as secrets:
        return await secrets.delete(name)


def secret_rekey() -> int:
    """`secret rekey`: encrypt all of them anew.

    Where BOT_SECRET_KEY opens them, the new key is asked for; else they move to BOT_SECRET_KEY, or where
    that is not set, to a fresh key in the file.

    Raises:
        ConfigError: The new key is too short.
        StoreError: No key at hand opens them.
    """
    settings = load_settings()
    given = settings.secret_key.get_secret_value() if settings.secret_key is not None else None
    is_at_hand = given is not None and asyncio.run(_look(settings))[1]
    new = _ask_for_key() if is_at_hand else given
    present = settings if is_at_hand else settings.model_copy(update={"secret_key": None})
    count = asyncio.run(_rekey(present, new))
    say(f"Encrypted anew: {count}.")
    if is_at_hand:
        way = "Set BOT_SECRET_KEY to the new key" if new else "Take BOT_SECRET_KEY out of the settings"
        say(f"{way} now: the old one opens them no more.")
    return 0


def _ask_for_key() -> str | None:
    text = _ask("New key, 16 characters or more; empty for a fresh one in BOT_HOME/secret.key: ")
    if text and len(text) < LEAST_KEY:
        raise ConfigError(f"a key has {LEAST_KEY} characters or more")
    return text or None


async def _rekey(settings: Settings, new: str | None) -> int:
    async with open_secrets(settings) as secrets:
        return await secrets.rekey(new)


def _ask(question: str) -> str:
    """What is typed unseen, or comes in by a pipe, without the end of its line."""
    if sys.stdin.isatty():
        return getpass(question)
    return sys.stdin.read().removesuffix("\n")
