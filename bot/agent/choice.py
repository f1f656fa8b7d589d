"""What a session has chosen: what answers it, and how."""

from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec.structs import replace

from bot.agent.queueing import QueueRules, RulesOf
from bot.messages import Frozen, InboundMessage, SessionKey

Verbosity: TypeAlias = Literal["off", "on", "full"]


class Choice(Frozen, frozen=True, kw_only=True):
    """A model and a backend by name, and rules for what waits; `None` leaves it to the settings.

    Attributes:
        verbosity: Whether tool calls are shown, beside the answers.
        shows_thinking: The model's reasoning is, too.
    """

    model: str | None = None
    backend: str | None = None
    queue: QueueRules | None = None
    verbosity: Verbosity = "off"
    shows_thinking: bool = False


NO_CHOICE = Choice()


class SessionSettings(Protocol):
    """Knows what each session has chosen; `memory/choices.py` fulfils it."""

    def of(self, session: SessionKey) -> Choice:
        """The choice of a session, from memory."""


class NoChoices:
    """Leaves everything to the settings."""

    def of(self, session: SessionKey) -> Choice:
        """The same for every session."""
        return NO_CHOICE


NO_CHOICES = NoChoices()


def queue_rules(choices: SessionSettings, default: QueueRules, modes: Mapping[str, str]) -> RulesOf:
    """The rules for what waits: the session's own, else those of the settings with the channel's mode."""
    by_channel = {
        channel: replace(default, mode=mode)  # a mode of the settings, checked there
        for channel, mode in modes.items()
    }

    def rules(message: InboundMessage) -> QueueRules:
        chosen = choices.of(message.session).queue
        return chosen if chosen is not None else by_channel.get(message.address.channel, default)

    return rules
