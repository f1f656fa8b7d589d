"""Brings answers onto platforms; written once, for all of them."""

from channels.delivery.delivery import Delivery
from channels.delivery.outbox import Outbox

__all__ = ["Delivery", "Outbox"]
