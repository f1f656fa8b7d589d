"""The OpenAI Agents SDK as a backend: its loop and its tool running, over our model client and our tools."""

from bot.backends.openai_agents.backend import open_openai_agents

__all__ = ["open_openai_agents"]
