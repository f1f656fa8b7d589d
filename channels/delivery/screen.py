"""Makes a platform show an answer: one call after the other, from what stands there to what should."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from bot.agent.store import Posted
from bot.errors import MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from bot.messages import Address, Attachment, Button, Frozen
from bot.settings import ChannelSettings
from channels.base import CallKind, ChannelAdapter, Content
from channels.delivery.draft import Draft, Part
from channels.delivery.outbox import Outbox
from channels.delivery.pace import Pace
from channels.delivery.reports import OnText
from channels.markup.splitting import Piece

log = logging.getLogger(__name__)

CALL_SECONDS: Final = 30.0  # the most that one call to a platform may take
FIRST_FILE: Final = 1_000  # number of the part that is an answer's first file
NOT_SENT = "I can not send the file `{name}` here: {cause}."

Wait: TypeAlias = Callable[[Coroutine[None, None, None]], Awaitable[bool]]


async def _just_wait(coming: Coroutine[None, None, None]) -> bool:
    await coming
    return True


def _nothing_new() -> None:
    """The text is whole."""


class _Step(Frozen, frozen=True, kw_only=True):
    """The next call that brings the screen nearer to what it should show."""

    kind: CallKind
    index: int
    piece: Piece
    content: Content


class Screen:
    """Shows drafts through one adapter; keeps nothing itself."""

    def __init__(
        self,
        adapter: ChannelAdapter,
        settings: ChannelSettings,
        *,
        outbox: Outbox,
        pace: Pace,
        on_text: OnText,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._adapter = adapter
        self._on_text = on_text
        self._settings = settings
        self._outbox = outbox
        self._pace = pace
        self._call_seconds = call_seconds

    async def show(
        self,
        draft: Draft,
        *,
        newest: Callable[[], None] = _nothing_new,
        wait: Wait = _just_wait,
        between: Callable[[], Awaitable[None]] | None = None,
        is_idle: bool = False,
    ) -> bool:
        """Make the platform show a draft; what stands there is changed, not repeated.

        Args:
            newest: Adds to the draft what has come meanwhile; asked right before each call.
            wait: Waits for the pace; where it gives False, showing ends early.
            between: What happens between two new messages.
            is_idle: See `Draft.pieces`.

        Returns:
            False where it ended early.

        Raises:
            ChannelError: The platform did not obey, and not for being asked too often.
            TimeoutError: It did not answer.
            StoreError: What was posted could not be recorded.
        """
        while (step := self._next(draft, is_idle=is_idle)) is not None:
            part = draft.part(step.index)
            if not await wait(self._turn(step.kind, draft, part, is_growth=not step.content.is_final)):
                return False
            try:
                newest()
                latest = self._next(draft, is_idle=is_idle)
                if latest is None or latest.kind != step.kind:
                    continue
                await self._carry_out(latest, draft)
            finally:
                draft.permit.end(was_made=False)  # where it was made, its end is known already
            if latest.kind == "post" and latest.content.is_final and between is not None:
                await between()
        return True

    async def _turn(self, kind: CallKind, draft: Draft, part: Part, *, is_growth: bool = False) -> None:
        rates = self._adapter.capabilities_in(draft.address).rates
        draft.permit = await self._pace.turn(
            kind, rates, chat=draft.chat, message=part.budget, is_growth=is_growth
        )

    def _next(self, draft: Draft, *, is_idle: bool) -> _Step | None:
        pieces = draft.pieces(is_idle=is_idle)
        for index, piece in enumerate(pieces):
            part = draft.part(index)
            if not piece.text.strip() and not part.is_final:
                continue
            is_last = draft.is_ended and index == len(pieces) - 1
            content = self._content(draft, index, piece, draft.buttons if is_last else ())
            if (kind := self._call_for(part, content, draft.address)) is not None:
                return _Step(kind=kind, index=index, piece=piece, content=content)
        return None

    def _content(self, draft: Draft, index: int, piece: Piece, buttons: tuple[Button, ...]) -> Content:
        mode = "off" if draft.address.is_direct else self._settings.reply_mode
        return Content(
            text=piece.text,
            is_final=draft.is_settled(index),
            is_plain=draft.part(index).is_plain,
            buttons=buttons,
            answers=draft.answers,
            quotes=mode == "all" or (index == 0 and (mode == "first" or draft.must_quote)),
        )

    def _call_for(self, part: Part, content: Content, address: Address) -> CallKind | None:
        """Which call makes a message look as it should; `None` where it does."""
        capabilities = self._adapter.capabilities_in(address)
        if part.platform_id is None:
            if content.is_final or not capabilities.previews:
                return "post"
            return "preview" if part.previewed != content.text else None
        if not capabilities.edits:
            return None
        if part.shown != content.text:
            return "edit"
        is_open = content.is_final and not part.is_final
        return "edit" if is_open and (capabilities.finishes or content.buttons) else None

    async def _carry_out(self, step: _Step, draft: Draft) -> None:
        part = draft.part(step.index)
        try:
            async with self._call(draft):
                match step.kind:
                    case "preview":
                        await self._preview(step, draft, part)
                    case "post":
                        await self._post(step, draft, part)
                    case _:
                        await self._edit(step, draft, part)
        except RateLimited as error:
            self._hold(error, draft, part)
        except MarkupRefused:
            if part.is_plain:
                raise
            part.is_plain = True
        except MessageGone:
            draft.leave(step.index)
        except (OutcomeUnknown, TimeoutError):
            draft.is_unsure = draft.is_unsure or step.kind == "post"
            raise

    def _hold(self, error: RateLimited, draft: Draft, part: Part) -> None:
        """Wait as the platform asks; the pace is kept by the next try."""
        wait = error.retry_after or 0.0
        log.info(
            "platform asks to wait",
            extra={"channel": self._adapter.name, "seconds": wait, "scope": error.scope},
        )
        match error.scope:
            case "account":
                self._pace.hold_account(wait)
            case "chat":
                draft.chat.hold(wait)
            case "message":
                part.budget.hold(wait)

    @asynccontextmanager
    async def _call(self, draft: Draft) -> AsyncIterator[None]:
        """One call to the platform: bounded, and over for the pace when it is answered."""
        try:
            async with asyncio.timeout(self._call_seconds):
                yield
        finally:
            draft.permit.end()

    async def _preview(self, step: _Step, draft: Draft, part: Part) -> None:
        key = _key(draft, step.index)
        await self._adapter.preview(draft.address, step.content, key=key)
        part.previewed = step.content.text
        self._on_text(draft.run)

    async def _post(self, step: _Step, draft: Draft, part: Part) -> None:
        """Post a message, unless it turns out that it was posted before."""
        address, capabilities = draft.address, self._adapter.capabilities_in(draft.address)
        was_unsure, key = draft.is_unsure, _key(draft, step.index)
        found = await self._find(draft, key)
        part.platform_id = found or await self._adapter.post(address, step.content, key=key)
        if found is None and not (was_unsure and capabilities.idempotent):
            self._note_shown(part, step)
        self._on_text(draft.run)
        draft.is_unsure = False  # whatever was under way when the process died was this one
        end = step.piece.end if step.content.is_final else None
        posted = Posted(part=step.index, platform_id=part.platform_id, attempt=draft.attempt, end=end)
        await self._outbox.record(draft.run, posted)

    async def _edit(self, step: _Step, draft: Draft, part: Part) -> None:
        assert part.platform_id is not None
        await self._adapter.edit(draft.address, part.platform_id, step.content)
        self._note_shown(part, step)

    def _note_shown(self, part: Part, step: _Step) -> None:
        part.shown, part.piece, part.is_final = step.content.text, step.piece, step.content.is_final

    async def clear(self, draft: Draft, *, beyond: int = 0) -> None:
        """Take back the messages of a draft from a number on: its text has become shorter."""
        for index in sorted(draft.parts):
            part = draft.parts[index]
            if not beyond <= index < FIRST_FILE or part.platform_id is None:
                continue
            await self._turn("edit", draft, part)
            try:
                async with self._call(draft):
                    await self._adapter.delete(draft.address, part.platform_id)
            except MessageGone:
                log.debug("message was gone already", extra={"channel": self._adapter.name})
            part.platform_id = None
            await self._outbox.forget(draft.run, index)

    async def send_files(self, draft: Draft, attachments: Sequence[Attachment]) -> None:
        """Send the files of an answer, each once; one that can't be sent is told of."""
        for number, attachment in enumerate(attachments):
            index = FIRST_FILE + number
            part = draft.part(index)
            while part.platform_id is None:
                part.platform_id = await self._send_file(attachment, index, draft, part)
            posted = Posted(part=index, platform_id=part.platform_id, attempt=draft.attempt)
            await self._outbox.record(draft.run, posted)

    async def _send_file(self, attachment: Attachment, index: int, draft: Draft, part: Part) -> str | None:
        """Send a file, or tell why not; gives the id of its message, or `None` to try it again."""
        address, key = draft.address, _key(draft, index)
        fault = self._fault_of(attachment, address)
        await self._turn("upload" if fault is None else "post", draft, part)
        try:
            async with self._call(draft):
                if (found := await self._find(draft, key)) is not None:
                    return found
                if fault is None:
                    return await self._adapter.upload(address, attachment, key=key, answers=draft.answers)
                told = NOT_SENT.format(name=attachment.name or attachment.kind, cause=fault)
                return await self._adapter.post(address, Content(text=told, answers=draft.answers), key=key)
        except RateLimited as error:
            self._hold(error, draft, part)
            return None
        except (OutcomeUnknown, TimeoutError):
            draft.is_unsure = True
            raise

    async def _find(self, draft: Draft, key: str) -> str | None:
        """The message that a post under a key has made, where that is not known and can be."""
        if not draft.is_unsure or not self._adapter.capabilities_in(draft.address).finds:
            return None
        return await self._adapter.find(draft.address, key=key)

    def _fault_of(self, attachment: Attachment, address: Address) -> str | None:
        """Why a file can't be sent; `None` where it can be."""
        most = self._adapter.capabilities_in(address).max_upload
        path = Path(attachment.path) if attachment.path is not None else None
        if path is None or not path.is_file():
            return "it is not there any more"
        if most == 0:
            return "this channel takes no files"
        size = path.stat().st_size
        return f"it has {size / 1e6:.1f} MB, and at most {most / 1e6:.0f} are taken" if size > most else None


def _key(draft: Draft, index: int) -> str:
    """What makes a post recognisable when it is tried again."""
    return f"{draft.run}:{index}"
