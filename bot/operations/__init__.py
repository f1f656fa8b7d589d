"""What the commands of `bot/cli.py` do, a file a family; each is loaded when its command is called."""
