"""What the commands do, apart from how they are written: each loads its own modules when it is called."""

import gc
import os
import sys
from importlib import import_module

from bot.errors import BotError, ConfigError


def carry_out(place: str, *arguments: object) -> int:
    """Call a function of this package, named `module:function`, and give the exit code.

    What is wrong with the settings or the surroundings is told in one message. Exit codes: 0 done, 1 failed,
    2 the settings or the arguments are wrong, 130 interrupted.
    """
    os.umask(0o077)  # whatever a command writes is for who runs it
    module, _, name = place.partition(":")
    try:
        code: int = getattr(import_module(f"bot.operations.{module}"), name)(*arguments)
    except BotError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    return code


def start(port: int | None = None) -> int:
    """Start the bot, and keep it running until it is told to stop."""
    gc.disable()  # until `calm_collector`: what is loaded on the way is no garbage
    return carry_out("serve:run", port)
