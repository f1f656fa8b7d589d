"""A plugin with settings, state and a file of its own: copy it to BOT_HOME/plugins/greeter.py.

In bot.toml:

[plugins.greeter]
greeting = "Good morning"
"""

from pydantic import Field

from bot import Context
from bot.hooks import AgentEnded, BeforeAgentStart, Inject, MessageReceived
from bot.plugins import PluginApi
from bot.settings import Section

__version__ = "1.0"


class Settings(Section):
    """What may stand in [plugins.greeter]."""

    greeting: str = Field(default="Hello", description="The first words of an answer to somebody new.")


def setup(api: PluginApi[Settings]) -> None:
    """Register everything; called once, before the bot is open."""

    def look(event: MessageReceived) -> None:
        person = event.message.sender.id
        event.context["greeter.new"] = not (api.data_dir / f"{person.encode().hex()}").exists()

    def greet(event: BeforeAgentStart) -> Inject | None:
        if event.context.get("greeter.new"):
            return Inject(text=f"Begin your answer with {api.settings.greeting!r}.")
        return None

    def remember(event: AgentEnded) -> None:
        if event.context.get("greeter.new"):
            (api.data_dir / f"{event.message.sender.id.encode().hex()}").touch(mode=0o600)

    @api.command
    async def greeted(context: Context) -> str:
        """Count the people that were greeted."""
        return f"{len(list(api.data_dir.iterdir()))} so far."

    api.hook(MessageReceived, look)
    api.hook(BeforeAgentStart, greet)
    api.hook(AgentEnded, remember)
