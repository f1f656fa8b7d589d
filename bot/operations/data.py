"""`backup`, `restore` and `journal`: the data, with the bot running or not."""

import asyncio
import time
from pathlib import Path
from urllib.parse import quote

from bot.app import JournalEntry, back_up, load_filled, open_store, read_holder, restore_backup
from bot.messages import RunId
from bot.operations.ask import ask
from bot.operations.terminal import say
from bot.settings import Settings, load_settings


def backup(file: Path) -> int:
    """`backup`: one file with all data."""
    home = load_settings().data_dir
    size = back_up(home, file.absolute())
    say(f"Backup written: {file} ({size / 1e6:.1f} MB)")
    if (home / "secret.key").exists():
        say(f"The key of the stored secrets is not in it: keep {home / 'secret.key'} in another place.")
    return 0


def restore(file: Path, yes: bool) -> int:
    """`restore`: ask, then put a backup in place."""
    home = load_settings().data_dir
    if not yes and home.exists():
        question = f"Replace the data in {home} by {file}? The present data are kept beside it. [y/N] "
        if input(question).strip().lower() not in ("y", "yes"):
            say("Nothing was changed.")
            return 1
    aside = restore_backup(home, file)
    say(f"Restored {file}." + (f" The data that stood there are in {aside}." if aside else ""))
    return 0


def journal_list() -> int:
    """`journal list`: what is not done."""
    entries = asyncio.run(_unfinished(load_settings()))
    if not entries:
        say("Nothing waits: every accepted message is answered.")
    for entry in entries:
        age = time.time() - entry.accepted_at
        say(
            f"{entry.state:8} {entry.run}  {entry.session}  accepted {age:.0f} s ago, "
            f"{entry.attempts} attempts, {entry.crashes} crashes"
        )
    return 0


async def _unfinished(settings: Settings) -> list[JournalEntry]:
    async with open_store(settings) as store:
        return await store.journal.unfinished()


def journal_retry(run: str) -> int:
    """`journal retry`: by the bot that runs, or for the next start."""
    settings = load_filled()
    holder = read_holder(settings.data_dir)
    if holder is not None and holder.url is not None:
        ask(settings, holder.url, f"/api/journal/{quote(run)}/retry", method="POST")
        say("The running bot takes it up now.")
    else:
        asyncio.run(_retry(settings, RunId(run)))
        say("It will be answered at the next start.")
    return 0


async def _retry(settings: Settings, run: RunId) -> None:
    async with open_store(settings) as store:
        await store.journal.retry(run)
