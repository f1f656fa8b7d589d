"""Says things outside of a turn's answer: questions, notes, messages of tools."""

from bot.agent.endings import Endings
from bot.agent.publishing import Publisher
from bot.agent.store import Journal
from bot.messages import Address, Attachment, Button, End, RunId, SessionKey, new_id


class Announcer:
    """Fulfils `bot.tools.base.Speaker`: kept in the history, then delivered like an answer."""

    def __init__(self, journal: Journal, publisher: Publisher, endings: Endings) -> None:
        self._journal = journal
        self._publisher = publisher
        self._endings = endings

    async def say(
        self,
        address: Address,
        session: SessionKey,
        text: str,
        *,
        buttons: tuple[Button, ...] = (),
        attachments: tuple[Attachment, ...] = (),
        in_context: bool = False,
        speaker: str = "",
    ) -> End:
        """See the protocol.

        Args:
            speaker: Who says it, if not the bot.
        """
        end = End(
            run=RunId(new_id()),
            session=session,
            address=address,
            attempt=1,
            seq=1,
            reason="done",
            text=text,
            buttons=buttons,
            attachments=attachments,
        )
        end = await self._publisher.redacted(end)
        await self._journal.say(
            end,
            speaker=speaker or self._publisher.name,
            has_outbox=self._endings.has_outbox(end),
            in_context=in_context,
        )
        self._publisher.end(end, speaker=speaker)
        return end
