"""`key create`, `list` and `revoke`: who may use the API, with the bot running or not."""

import asyncio
from collections.abc import Sequence
from typing import get_args

from bot.app import open_store
from bot.commands.wording import ago
from bot.errors import ConfigError
from bot.operations.terminal import say
from bot.settings import load_settings
from bot.web.api.base import ApiKey, Scope

SCOPES: tuple[str, ...] = get_args(Scope)


def create(name: str, scopes: Sequence[str]) -> int:
    """`key create`: the key is printed this once."""
    chosen = [scope for scope in get_args(Scope) if scope in scopes]
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise ConfigError(f"there is no scope {', '.join(unknown)}: there are {', '.join(SCOPES)}")
    if not chosen or not name.strip():
        raise ConfigError(f"a key needs a name and at least one --scope of {', '.join(SCOPES)}")

    async def make() -> tuple[ApiKey, str]:
        async with open_store(load_settings()) as store:
            return await store.api_keys.create(name.strip(), chosen)

    key, text = asyncio.run(make())
    say(text)
    say(f"That is key {key.id} ({name}), with {', '.join(key.scopes)}; it is not shown again.")
    return 0


def show() -> int:
    """`key list`."""

    async def read() -> list[ApiKey]:
        async with open_store(load_settings()) as store:
            return await store.api_keys.all()

    keys = asyncio.run(read())
    if not keys:
        say("There are no API keys.")
    for key in keys:
        state = "revoked" if key.revoked_at is not None else _used(key)
        say(f"{key.id}  {key.name}  {','.join(key.scopes)}  {state}")
    return 0


def revoke(id_: str) -> int:
    """`key revoke`: in force at the next request, of a bot that runs too."""

    async def stop() -> bool:
        async with open_store(load_settings()) as store:
            return await store.api_keys.revoke(id_)

    if not asyncio.run(stop()):
        raise ConfigError(f"there is no key {id_!r} in force: python -m bot key list")
    say(f"Key {id_} works no more.")
    return 0


def _used(key: ApiKey) -> str:
    return "never used" if key.used_at is None else f"used {ago(key.used_at)}"
