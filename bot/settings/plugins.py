"""Section: plugins."""

from typing import Any

from pydantic import ConfigDict, Field

from bot.settings.base import Names, Section


class PluginsSettings(Section):
    """Plugins; `[plugins.<name>]` in bot.toml is read by the plugin of that name."""

    model_config = ConfigDict(extra="allow")

    # `Any`: read by the plugin's own class
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    enabled: bool = Field(default=True, description="Load plugins.")
    disabled: Names = Field(default=(), description="Plugins that are not loaded: a,b")

    def of(self, name: str) -> dict[str, Any]:
        """What is set for one plugin, not looked at yet."""
        return self.__pydantic_extra__.get(name, {})

    @property
    def named(self) -> frozenset[str]:
        """The plugins that something is set for."""
        return frozenset(self.__pydantic_extra__)
