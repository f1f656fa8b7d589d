"""The plugins: what was loaded with what in it, and what was not and why."""

from collections.abc import Iterable, Sequence

from nicegui import ui

from bot.messages import Frozen
from bot.plugins import Plugin
from bot.web.dashboard.frame import View, chip, empty
from bot.web.dashboard.panels.blocks import Section, heading, words


class PluginLine(Frozen, frozen=True, kw_only=True):
    """A plugin as it is shown; `fault` says why it is not in use."""

    name: str
    version: str
    place: str
    fault: str | None
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


def plugin_lines(plugins: Iterable[Plugin]) -> list[PluginLine]:
    """What has a fault first, then by name."""
    lines = [
        PluginLine(
            name=plugin.name,
            version=plugin.version,
            place=plugin.place,
            fault=plugin.fault,
            tools=tuple(tool.name for tool in plugin.parts.tools),
            commands=tuple(f"/{command.spec.name}" for command in plugin.parts.commands),
            hooks=tuple(f"{hook.point.name} → {hook.label}" for hook in plugin.parts.hooks),
        )
        for plugin in plugins
    ]
    return sorted(lines, key=lambda line: (line.fault is None, line.name))


class PluginsPanel:
    """Fulfils `Panel`."""

    name = "plugins"
    title = "plugins_title"
    icon = "extension"

    async def build(self, view: View) -> None:
        """See `Panel`."""

        async def load() -> list[PluginLine]:
            return plugin_lines(view.parts.workings.plugins)

        def draw(lines: Sequence[PluginLine]) -> None:
            if not lines:
                empty(view.tr("plugins_none"), "extension")
            with ui.element("div").classes("sb-cards"):
                for one in lines:
                    _draw_plugin(view, one)

        with ui.element("div").classes("sb-panel"):
            heading(view, self.title, "plugins_hint", refresh=None)
            await Section(view, load, draw).show()


def _draw_plugin(view: View, plugin: PluginLine) -> None:
    tr = view.tr
    with ui.element("div").classes("sb-card"):
        with ui.element("div").classes("sb-row"):
            words(plugin.name, "sb-card-title")
            words(plugin.version, "sb-quiet", "sb-grow")
            chip(tr("plugins_loaded"), "good") if plugin.fault is None else chip(tr("plugins_faulty"), "bad")
        words(plugin.place, "sb-mono", "sb-quiet")
        if plugin.fault is not None:
            words(plugin.fault, "sb-fault-text")
        for name, parts in (
            ("plugins_tools", plugin.tools),
            ("plugins_commands", plugin.commands),
            ("plugins_hooks", plugin.hooks),
        ):
            if parts:
                with ui.element("div"):
                    words(tr(name), "sb-quiet")
                    for part in parts:
                        words(part, "sb-mono")
