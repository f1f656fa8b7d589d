"""Stored secrets: opened, and put into the settings that name them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from bot.settings import Settings, load_settings
from bot.settings.references import secrets_named_in, with_secrets
from memory.database import DATABASE, Database

if TYPE_CHECKING:  # encryption takes a while to load, and most have no use for it
    from memory.secrets import SecretStore


@asynccontextmanager
async def open_secrets(settings: Settings) -> "AsyncIterator[SecretStore]":
    """The stored secrets, beside a running bot or before there is one."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    make: type[SecretStore] = import_module("memory.secrets").SecretStore
    key = settings.secret_key.get_secret_value() if settings.secret_key is not None else None
    async with Database(settings.data_dir / DATABASE, synchronous=settings.store.synchronous) as database:
        yield make(database, settings.data_dir, key=key)


async def fill_secrets(settings: Settings) -> Settings:
    """The settings with the stored secrets that they name in place of the names.

    Raises:
        ConfigError: One is not there, or can't be what it is named for.
        StoreError: The key is not the right one.
    """
    names = secrets_named_in(settings)
    if not names:
        return settings
    async with open_secrets(settings) as secrets:
        found = {name: value for name in names if (value := await secrets.get(name)) is not None}
    return with_secrets(settings, found)


def load_filled() -> Settings:
    """`load_settings`, and then `fill_secrets`, for commands that talk to others."""
    return asyncio.run(fill_secrets(load_settings()))
