"""The message bus: the protocol, and the one that runs in this process."""

from bot.bus.base import Bus, Receipt, Subscription
from bot.bus.local import LocalBus

__all__ = ["Bus", "LocalBus", "Receipt", "Subscription"]
