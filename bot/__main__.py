"""`python -m bot`: run the bot, or one of its commands."""

import sys
from importlib import import_module

from bot.operations import start


def main() -> None:
    """The entry point of the `switchboard` script; the bot itself has no need of what reads arguments."""
    if len(sys.argv) == 1:
        sys.exit(start())
    import_module("bot.cli").app(prog_name="python -m bot")


if __name__ == "__main__":
    main()
