"""The web server: who may come in, whether the bot is well, and the pages that others give it."""
