"""Wires everything: the only place of `bot` that knows the channels, the store and the guards."""

from bot.app.app import App, Status
from bot.app.parts import redactor_of
from bot.app.process import (
    calm_collector,
    find_channels,
    find_sandbox_fault,
    let_in,
    open_audit,
    open_scanner,
    open_store,
    talk,
    waiting,
)
from bot.app.secrets import fill_secrets, load_filled, open_secrets
from memory.backup import back_up
from memory.backup import restore as restore_backup
from memory.home import read_holder
from memory.journal import JournalEntry

__all__ = [
    "App",
    "JournalEntry",
    "Status",
    "back_up",
    "calm_collector",
    "fill_secrets",
    "find_channels",
    "find_sandbox_fault",
    "let_in",
    "load_filled",
    "open_audit",
    "open_scanner",
    "open_secrets",
    "open_store",
    "read_holder",
    "redactor_of",
    "restore_backup",
    "talk",
    "waiting",
]
