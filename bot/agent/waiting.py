"""What becomes of messages that wait: how many may, for how long they gather, and who steers what runs."""

from collections.abc import Awaitable, Callable

from bot.agent.control import is_admin
from bot.agent.lanes import Lane
from bot.agent.loop_settings import LoopSettings
from bot.agent.queueing import MAX_CAP, QueueRules, RulesOf
from bot.agent.run import Run
from bot.agent.steering import LaneSteering, rank
from bot.backends.base import NoSteering, Steering
from bot.messages import InboundMessage, Kind, Trigger

COMMAND_RULES = QueueRules(mode="followup", cap=MAX_CAP)


class WaitingRules:
    """The rules for what waits, for any message.

    Args:
        rules: Of ordinary messages; commands have their own.
        is_command: Whether a message is for us and not for the model.
    """

    def __init__(
        self, settings: LoopSettings, rules: RulesOf, *, is_command: Callable[[InboundMessage], bool]
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._is_command = is_command

    def of(self, message: InboundMessage) -> QueueRules:
        """The rules that hold for a message."""
        return COMMAND_RULES if self._is_command(message) else self._rules(message)

    def most(self, message: InboundMessage) -> int:
        """How many may wait before one like this is refused."""
        rules = self.of(message)
        return min(rules.cap if rules.drop == "new" else MAX_CAP, self._settings.max_waiting)

    def patience(self, message: InboundMessage) -> float:
        """Seconds to wait for what its sender may write next."""
        if message.trigger is not Trigger.MESSAGE or message.attachments or self._is_command(message):
            return 0.0
        return self._settings.debounce.get(message.address.channel, 0.0)

    def may_steer(self, message: InboundMessage, running: InboundMessage) -> bool:
        """Whether a sender may do what a turn may do; commands and remarks to others steer nothing."""
        if message.kind is not Kind.MESSAGE or message.may_be_silent or self._is_command(message):
            return False
        if not self._settings.people.may_speak(message):
            return False
        if message.sender.id == running.sender.id:
            return True
        admins = self._settings.admins
        mine, theirs = (rank(one, is_admin=is_admin(one, admins)) for one in (message, running))
        return mine >= theirs

    def interrupts(self, message: InboundMessage, running: InboundMessage) -> bool:
        """Whether a message ends the turn that runs, to be answered itself."""
        return self.of(message).mode == "interrupt" and self.may_steer(message, running)

    def steering(
        self,
        run: Run,
        lane: Lane,
        *,
        fetch: Callable[[InboundMessage], Awaitable[InboundMessage]],
        passes: Callable[[InboundMessage], Awaitable[bool]],
    ) -> Steering:
        """How a turn is steered by what waits behind it.

        Args:
            fetch: Gets the files of a message.
            passes: Whether a message may be taken up.
        """
        rules = self.of(run.message)
        if not rules.steers:
            return NoSteering()
        return LaneSteering(
            run,
            lane,
            keeps=rules.mode == "steer-backlog",
            may_steer=self.may_steer,
            fetch=fetch,
            passes=passes,
        )
