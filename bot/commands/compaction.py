"""`/compact`: summarises what was said before, to make room in the model's window."""

from collections.abc import Sequence
from typing import Protocol

from bot.agent.compaction import Summary
from bot.agent.estimate import FRAME_TOKENS
from bot.agent.history import estimate_tokens
from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import count
from bot.messages import SessionKey, StoredMessage

COMPACTION_SECONDS = 300.0  # the model is asked
MAX_LINES = 5_000  # that are read at once; where there are more, the command can be given again
KEPT = 4  # lines that stay word for word
NOTHING = "There is nothing to summarise yet: so far, this session takes {tokens}."
DONE = "I have summarised what was said before: this session takes {after} now, {before} before."
FORGOTTEN = "What I was summarising has been forgotten or taken back meanwhile. Nothing was kept of it."


class Summaries(Protocol):
    """Keeps the summary of each session."""

    async def of(self, session: SessionKey) -> Summary | None:
        """The summary of a session."""

    async def after(self, session: SessionKey, number: int, *, limit: int) -> list[StoredMessage]:
        """The lines behind a number that the model may see, the oldest first."""

    async def keep(self, session: SessionKey, summary: Summary) -> bool:
        """Keep a newer summary, and tell whether it was kept.

        It is not, where it covers less than the one that is there, or where the model may not see its last
        line any more: what was forgotten meanwhile does not come back.
        """


class Compact(Protocol):
    """Summarises all but the newest lines; gives the previous summary where there is nothing to do."""

    async def __call__(
        self,
        session: SessionKey,
        lines: Sequence[StoredMessage],
        previous: Summary | None,
        *,
        keep_tokens: int,
        focus: str,
    ) -> Summary | None: ...


class CompactionCommands:
    """The handler, over what makes summaries and what keeps them."""

    def __init__(self, sessions: Sessions, summaries: Summaries, compact: Compact) -> None:
        self._sessions = sessions
        self._summaries = summaries
        self._compact = compact

    async def compact(self, call: Call) -> Answer:
        """`/compact [what to keep in mind]`."""
        session = await self._sessions.current(call.chat)
        previous = await self._summaries.of(session)
        lines = await self._summaries.after(session, previous.upto if previous else 0, limit=MAX_LINES)
        before = _tokens(previous, lines)
        summary = previous
        if len(lines) > KEPT:
            summary = await self._compact(
                session,
                lines,
                previous,
                keep_tokens=_tokens(None, lines[-KEPT:]),
                focus=call.word("what"),
            )
        if summary is None or summary == previous:
            return Answer(text=NOTHING.format(tokens=_about(before)))
        if not await self._summaries.keep(session, summary):
            return Answer(text=FORGOTTEN)
        left = [line for line in lines if line.number > summary.upto]
        return Answer(text=DONE.format(before=_about(before), after=_about(_tokens(summary, left))))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        what = Argument(name="what", help="What the summary must not leave out", kind="rest")
        spec = CommandSpec(
            name="compact",
            help="Summarise what was said before, to make room for more",
            arguments=(what,),
            native="compact",
        )
        return (Command(spec, self.compact, seconds=COMPACTION_SECONDS),)


def _tokens(summary: Summary | None, lines: Sequence[StoredMessage]) -> int:
    said = sum(estimate_tokens(line.text) + FRAME_TOKENS for line in lines)
    return said + (summary.tokens if summary else 0)


def _about(tokens: int) -> str:
    return f"about {count(tokens, 'token')}"
