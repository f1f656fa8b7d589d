"""`python -m bot`: run the bot, or one of its commands."""

from bot.cli import app


def main() -> None:
    """The entry point of the `switchboard` script."""
    app(prog_name="python -m bot")


if __name__ == "__main__":
    main()
