"""Edits and deletions: followed in the history, and in the lane where a message still waits."""

from msgspec.structs import replace

from bot.agent.checks import Checks
from bot.agent.endings import Endings
from bot.agent.lanes import COMMANDS, Lanes
from bot.agent.store import Journal
from bot.bus import Receipt
from bot.messages import InboundMessage, Kind, SessionKey


class Amending:
    """Follows what people change of what they have said."""

    def __init__(self, journal: Journal, lanes: Lanes, checks: Checks, endings: Endings) -> None:
        self._journal = journal
        self._lanes = lanes
        self._checks = checks
        self._endings = endings

    async def follow(self, change: InboundMessage) -> Receipt:
        """Follow one change; a text that may not stand in the history takes the message out of it."""
        if change.kind is Kind.EDIT and not await self._checks.may_replace(change):
            change = replace(change, kind=Kind.DELETE, text="")
        amended = await self._journal.amend(change)
        if not amended.is_new:
            return Receipt.DUPLICATE
        for name in (amended.session, SessionKey(amended.session + COMMANDS)):
            lane = self._lanes.get(name)
            if lane is None or amended.waiting is None:
                continue
            if amended.text is not None:
                lane.amend(amended.waiting, amended.text)
            elif (pending := lane.take_out(amended.waiting)) is not None:
                self._endings.close_silently(pending)
        return Receipt.ACCEPTED
