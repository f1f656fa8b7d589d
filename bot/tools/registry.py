"""All tools there are, and who has which of them, where."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Self

import msgspec

from bot.messages import Address, InboundMessage, Role
from bot.models.base import ToolSchema
from bot.settings.tools import ToolRules, ToolsSettings
from bot.tools.base import Tool
from bot.tools.profiles import Policy


class Offer(msgspec.Struct, frozen=True):
    """The tools of a turn, by name, and as the model sees them."""

    tools: Mapping[str, Tool]
    schemas: tuple[ToolSchema, ...]

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Self:
        """Offer some tools, in this order."""
        by_name = {tool.name: tool for tool in tools}
        return cls(by_name, tuple(tool.schema for tool in by_name.values()))


class ToolRegistry:
    """Holds the tools, and chooses those of a turn.

    Args:
        is_admin: Whether the sender has the tools of admins; on group platforms ask for those who may steer
            the bot as a whole, for an admin of a group is nobody on our machine.
    """

    def __init__(
        self, tools: Iterable[Tool], settings: ToolsSettings, is_admin: Callable[[InboundMessage], bool]
    ) -> None:
        self._settings = settings
        self._is_admin = is_admin
        self._tools: dict[str, Tool] = {}
        self._chosen: dict[Policy, Offer] = {}  # no more than the settings have combinations
        self.add(tools)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All there are, by name."""
        return tuple(self._tools[name] for name in sorted(self._tools))

    def shape(self) -> None:
        """Make the forms of all tools, so that no turn waits for them."""
        for tool in self.tools:
            tool.form()

    def add(self, tools: Iterable[Tool]) -> None:
        """Take in more tools; turns that run already do not see them.

        Raises:
            ValueError: Two have the same name; none was taken in.
        """
        known = dict(self._tools)
        for tool in tools:
            if tool.name in known:
                raise ValueError(f"there are two tools named {tool.name!r}: rename or leave out one")
            known[tool.name] = tool
        self._tools = known
        self._chosen.clear()

    def remove(self, tools: Iterable[Tool]) -> None:
        """Let go of tools; one that is not here (any more), or has another's name, is passed over."""
        for tool in tools:
            if self._tools.get(tool.name) is tool:
                del self._tools[tool.name]
        self._chosen.clear()

    def offer_for(self, message: InboundMessage) -> Offer:
        """What the turn that answers a message has, by name: the same object each time, until tools change.

        The order is that of the prompt, whose beginning the provider can keep only where it stays the same.
        """
        policy = self.policy_for(message)
        if (chosen := self._chosen.get(policy)) is None:
            chosen = self._chosen[policy] = Offer.of(tool for tool in self.tools if policy.permits(tool))
        return chosen

    def policy_for(self, message: InboundMessage) -> Policy:
        """The rules that hold for whoever sent a message, where they sent it."""
        settings, role = self._settings, message.sender.role
        levels = list(self._levels(message.address))
        is_admin = self._is_admin(message)
        if is_admin:
            profiles = [settings.admin_profile, *(level.admin_profile for level in levels)]
        elif role is Role.GUEST:
            profiles = [settings.guest_profile, *(level.guest_profile for level in levels)]
        else:
            profiles = [settings.profile, *(level.profile for level in levels)]
        return Policy(
            profile=[profile for profile in profiles if profile is not None][-1],
            allow=_joined(settings.allow, *(level.allow for level in levels)),
            deny=_joined(settings.deny, *(level.deny for level in levels)),
            is_trusted=is_admin or role in (Role.OWNER, Role.ADMIN),
        )

    def _levels(self, address: Address) -> Iterator[ToolRules]:
        """What differs in this place: by channel, by chat, by thread."""
        settings = self._settings
        chat = f"{address.channel}:{address.account}:{address.chat}"
        if (rules := settings.channels.get(address.channel)) is not None:
            yield rules
        if (rules := settings.chats.get(chat)) is not None:
            yield rules
        if address.thread is not None and (rules := settings.chats.get(address.session())) is not None:
            yield rules


def _joined(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in names for name in part))
