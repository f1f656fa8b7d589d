"""The moments of a turn at which hooks are asked; without a handler each costs a look into a table."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from bot.agent.compaction import Summary
from bot.agent.prompt import Prompt
from bot.agent.run import Outcome, Run
from bot.agent.workspace import Workspace, WorkspaceTexts, compose
from bot.backends.base import NoOversight, Oversight
from bot.errors import ModelError, StoreError
from bot.hooks.effects import Deny, Drop, Reply
from bot.hooks.points import (
    AfterCompaction,
    AgentEnded,
    BeforeAgentStart,
    BeforeCompaction,
    BeforeModelCall,
    Bootstrap,
    CommandGiven,
    MessageReceived,
    MessageSending,
    MessageSent,
    PromptBuilt,
    ResponseComplete,
    ResponseUpdate,
    SessionStart,
    StatusChanged,
    WorkspaceFile,
)
from bot.hooks.registry import Hooks
from bot.messages import End, EndReason, InboundMessage, RunId, SessionKey, StoredMessage, Trigger
from bot.models.base import ModelRequest

log = logging.getLogger(__name__)

NO_OVERSIGHT = NoOversight()

OnEnd: TypeAlias = Callable[[RunId, EndReason], Awaitable[None]]


class Moments:
    """Asks the hooks of a bot for its turns.

    Args:
        on_scheduled_end: Told how the turn of a schedule has ended.
    """

    def __init__(self, hooks: Hooks | None = None, *, on_scheduled_end: OnEnd | None = None) -> None:
        self._hooks = hooks or Hooks()
        self._on_scheduled_end = on_scheduled_end

    async def begun(self, message: InboundMessage, *, is_first: bool) -> None:
        """A turn begins; `is_first` of its session."""
        if is_first:
            await self._hooks.fire(SessionStart(session=message.session, address=message.address))

    async def received(self, message: InboundMessage) -> InboundMessage | Outcome:
        """A message is about to be answered: as handlers leave it, or how it ends without a turn."""
        left = await self._hooks.fire(MessageReceived(message=message))
        return left.message if isinstance(left, MessageReceived) else _without_turn(left)

    async def command(self, message: InboundMessage) -> Outcome | None:
        """A command is about to be obeyed; gives how it ends where it is not."""
        name = message.text.lstrip("/! ").split(maxsplit=1)[0] if message.text.strip("/! ") else ""
        left = await self._hooks.fire(CommandGiven(message=message, command=name))
        return None if isinstance(left, CommandGiven) else replace(_without_turn(left), in_context=False)

    async def instructions(self, message: InboundMessage) -> tuple[str, str | None]:
        """What handlers add to the instructions of a turn, and what they put in place of them."""
        if not self._hooks.wants(BeforeAgentStart):
            return "", None
        left = await self._hooks.fire(BeforeAgentStart(message=message))
        return "\n\n".join(left.injected), left.override

    async def prompt(self, message: InboundMessage, prompt: Prompt) -> Prompt:
        """The prompt as handlers leave it."""
        if not self._hooks.wants(PromptBuilt):
            return prompt
        left = await self._hooks.fire(PromptBuilt(message=message, messages=prompt.messages))
        return replace(prompt, messages=left.messages)

    async def files(self, session: SessionKey, workspace: Workspace) -> WorkspaceTexts | None:
        """The workspace files as handlers leave them; `None` where none has a say."""
        if not self._hooks.wants(Bootstrap):
            return None
        files = tuple(WorkspaceFile(name=name, text=text) for name, text in (await workspace.files()).items())
        left = await self._hooks.fire(Bootstrap(session=session, files=files))
        return compose({file.name: file.text for file in left.files})

    def oversight(self, run: Run, then: Oversight = NO_OVERSIGHT) -> Oversight:
        """Asks before each model call of a turn.

        Args:
            then: Looks at what handlers have made of the request.
        """
        return CallOversight(self._hooks, run, then) if self._hooks.wants(BeforeModelCall) else then

    async def grown(self, run: Run, text: str, *, replaces: bool) -> None:
        """The answer has grown."""
        if self._hooks.wants(ResponseUpdate):
            await self._hooks.fire(
                ResponseUpdate(session=run.session, run=run.id, text=text, replaces=replaces)
            )

    async def complete(self, run: Run, rounds: int) -> str | None:
        """The model has come to an end; gives what handlers want it to go on with."""
        if not self._hooks.wants(ResponseComplete):
            return None
        left = await self._hooks.fire(ResponseComplete(message=run.message, text=run.text, round=rounds))
        return left.next_round

    async def sending(self, run: Run, outcome: Outcome) -> Outcome:
        """An answer is about to be kept and sent: as handlers leave it."""
        if outcome.reason != "done" or not self._hooks.wants(MessageSending):
            return outcome
        left = await self._hooks.fire(
            MessageSending(
                session=run.session,
                run=run.id,
                address=run.message.address,
                text=outcome.text,
                attachments=outcome.attachments,
            )
        )
        match left:
            case MessageSending(text=text):
                return replace(outcome, text=text)
            case Drop():
                return Outcome(reason="silent", text="")
            case Deny(reason=reason):
                return Outcome(reason="error", text=reason)

    async def compacting(
        self, message: InboundMessage, history: Sequence[StoredMessage], *, tokens: int
    ) -> None:
        """The history of a session is about to be summarised, before a message of it is answered."""
        if self._hooks.wants(BeforeCompaction):
            await self._hooks.fire(
                BeforeCompaction(
                    session=message.session,
                    message=message,
                    history=tuple(history),
                    lines=len(history),
                    tokens=tokens,
                )
            )

    async def compacted(self, session: SessionKey, summary: Summary | None, *, lines: int) -> None:
        """It was."""
        if summary is not None and self._hooks.wants(AfterCompaction):
            await self._hooks.fire(
                AfterCompaction(session=session, lines=lines, tokens=summary.tokens, summary=summary.text)
            )

    async def status(self, run: Run, status: str) -> None:
        """A turn has come to another stage, or to its end."""
        if self._hooks.wants(StatusChanged):
            await self._hooks.fire(StatusChanged(session=run.session, run=run.id, status=status))

    async def ended(self, run: Run, end: End, seconds: float) -> None:
        """A turn is over and saved."""
        if run.message.trigger is Trigger.SCHEDULE and self._on_scheduled_end is not None:
            try:
                await self._on_scheduled_end(run.id, end.reason)
            except StoreError as error:  # the turn is saved, and its end stands in for the note
                log.warning("end of a firing not noted", extra={"cause": str(error)})
        await self.status(run, end.reason)
        if self._hooks.wants(AgentEnded):
            await self._hooks.fire(
                AgentEnded(message=run.message, reason=end.reason, text=end.text, seconds=seconds)
            )

    async def sent(self, end: End) -> None:
        """An answer has arrived on its platform."""
        if self._hooks.wants(MessageSent):
            await self._hooks.fire(
                MessageSent(session=end.session, run=end.run, address=end.address, text=end.text)
            )


class CallOversight:
    """Fulfils `bot.backends.base.Oversight`."""

    def __init__(self, hooks: Hooks, run: Run, then: Oversight) -> None:
        self._hooks = hooks
        self._run = run
        self._then = then

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        """See the protocol."""
        left = await self._hooks.fire(
            BeforeModelCall(session=self._run.session, run=self._run.id, request=request, step=step)
        )
        if isinstance(left, BeforeModelCall):
            return await self._then.look(left.request, step)
        raise ModelError(left.reason)


def _without_turn(left: Drop | Deny | Reply) -> Outcome:
    match left:
        case Drop():
            return Outcome(reason="silent", text="")
        case Deny(reason=reason):
            return Outcome(reason="error", text=reason)
        case Reply(text=text, buttons=buttons):
            return Outcome(reason="done", text=text, buttons=buttons)
