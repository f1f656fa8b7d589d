"""Measures the bot beside the least that asyncio and aiohttp need for the same work, in one run.

The limit is one task a session and one HTTP stream: no store, no prompt, no framework. The bot runs on one
core and the model server on another, where there are two. What drives the bot runs in the bot's process,
because publishing is a call and not a connection, and so it counts against the bot.
"""
