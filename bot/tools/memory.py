"""Lets the model remember facts about people and groups, and forget them."""

from collections.abc import Callable

from bot.agent.taint import person_of
from bot.long_term import Fact, LongTerm, Memory, Scope, Whose, origin_of, tidy
from bot.messages import InboundMessage
from bot.tools.base import Tool, ToolContext, ToolFault
from bot.tools.declare import declare

NO_PERSON = "there is nobody here whose memory this could be"


class MemoryTools:
    """The tools; whose memory a call is about follows from who has asked, never from an argument.

    Args:
        redact: Masks what the policy wants masked in what is remembered.
    """

    def __init__(self, memories: LongTerm, whose: Whose, *, redact: Callable[[str], str]) -> None:
        self._memories = memories
        self._whose = whose
        self._redact = redact

    def tools(self) -> tuple[Tool, ...]:
        """What is registered: for everybody, as it is their own memory, or that of a group they are in."""
        return (
            declare(
                self.remember,
                name="memory_remember",
                group="memory",
                effects=("acts",),
                is_idempotent=True,
                says=("fact",),
            ),
            declare(
                self.forget,
                name="memory_forget",
                group="memory",
                effects=("acts",),
                is_idempotent=True,
            ),
        )

    async def remember(self, fact: str, context: ToolContext, replaces: int = 0) -> str:
        """Remember a fact for later talks.

        Args:
            replaces: Memory it corrects.
        """
        scope = await self._scope(context.message)
        text = tidy(self._redact(fact))
        if not any(sign.isalnum() for sign in text):
            raise ToolFault("fact is empty: say what is to be remembered")
        if replaces:
            await self._changeable(scope, replaces, context)
        kept = await self._memories.learn(
            scope, [Fact(text=text, replaces=replaces or None)], origin_of(context.message, "tool")
        )
        return f"Remembered as #{kept[0].number}." if kept else "That is remembered already."

    async def forget(self, number: int, context: ToolContext) -> str:
        """Forget a memory, by its number in memory_search."""
        scope = await self._scope(context.message)
        await self._changeable(scope, number, context)
        await self._memories.forget(scope, number)
        return f"Memory #{number} is forgotten."

    async def _changeable(self, scope: Scope, number: int, context: ToolContext) -> None:
        """Refuse a number that there is not, or that is not the sender's to change."""
        found = await self._memories.list(scope, limit=1, before=number + 1)
        if not found or found[0].number != number:
            raise ToolFault(f"there is no memory #{number} here: memory_search shows the numbers")
        if not may_change(found[0], context.message, is_admin=context.is_admin):
            raise ToolFault(f"memory #{number} is somebody else's: they or an admin can have it changed")

    async def _scope(self, message: InboundMessage) -> Scope:
        try:
            return await self._whose.writes(message)
        except ValueError as error:
            raise ToolFault(NO_PERSON) from error


def may_change(memory: Memory, message: InboundMessage, *, is_admin: bool) -> bool:
    """Whether a sender may change a memory: one of their own, one that they have added, or as an admin."""
    return memory.scope.kind == "person" or is_admin or memory.origin.by == person_of(message)
