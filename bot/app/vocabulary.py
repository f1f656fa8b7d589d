"""The slash commands of a bot, and what they are given."""

from collections.abc import Iterable

from bot.agent.prompt import PromptBuilder
from bot.agent.queueing import RulesOf
from bot.app.agency import Agency
from bot.app.doors import Doors
from bot.commands.builtin import Ports
from bot.commands.call import Command
from bot.hooks.registry import Hooks
from bot.models.catalogue import ModelCatalogue
from bot.models.providers import ModelSetup
from bot.plugins import Plugin, load_plugins
from bot.running import RunningBot
from bot.settings import Settings
from memory.store import Store


def ports_of(
    settings: Settings,
    store: Store,
    bot: RunningBot,
    *,
    agency: Agency,
    prompts: PromptBuilder,
    doors: Doors,
    rules: RulesOf,
) -> Ports:
    """What the built-in commands work on."""
    return Ports(
        engine=bot,
        operations=bot,
        sessions=store.sessions,
        choices=store.choices,
        catalogue=ModelCatalogue(ModelSetup.of(settings)),
        usage=store.usage,
        spending=agency.spending,
        next_prompt=agency.next_prompt(prompts),
        access=doors.access,
        conversing=store.rules,
        rules=rules,
        changed=store.changed_settings,
        chats=store.chats,
    )


async def open_plugins(settings: Settings, hooks: Hooks, commands: Iterable[Command]) -> tuple[Plugin, ...]:
    """Load the plugins, and hook them in.

    Args:
        commands: Those that there are already; no plugin gets the name of one.
    """
    taken = {word for command in commands for word in _names(command)}
    plugins = await load_plugins(settings.plugins, settings.data_dir, taken_commands=taken)
    for plugin in plugins:
        for hook in plugin.parts.hooks:
            hooks.add(hook)
    return plugins


def _names(command: Command) -> set[str]:
    """What may not be the name of another command."""
    spec = command.spec
    return {spec.name, spec.native or spec.name, spec.name.split(" ")[0]}
