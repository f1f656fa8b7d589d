"""What the commands share with the terminal: where they write, and the loop they run on."""

import asyncio
import sys
from collections.abc import Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

Result = TypeVar("Result")


def say(text: str = "") -> None:
    """Write a line for the person to standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_loop(main: Coroutine[None, None, Result]) -> Result:
    """Run an event loop, the fast one where it is installed."""
    if find_spec("uvloop") is None:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=import_module("uvloop").new_event_loop) as runner:
        return runner.run(main)
