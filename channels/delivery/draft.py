"""An answer as it stands on a platform: its newest text, and the messages that show it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from bot.agent.store import Posted
from bot.messages import Address, Button, Chunk, RunId
from channels.delivery.pace import NO_PERMIT, Budget, Permit
from channels.markup.blocks import next_block
from channels.markup.outline import open_fence
from channels.markup.splitting import Piece, split_markdown

REPLY_TAG = re.compile(r"\s*\[\[\s*reply_to(?:_current|:\s*(?P<id>[^\]\s]+))\s*\]\]\s*")
MAX_TAG = 80  # characters; a longer `[[…` at the beginning is text


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How a text becomes messages.

    Attributes:
        limit: The most that a message holds, by `measure`.
        mode: Grown in place, in finished blocks, or whole.
        block_min, block_max: Characters of a block.
    """

    limit: int
    measure: Callable[[str], int]
    mode: Literal["partial", "block", "off"] = "partial"
    block_min: int = 400
    block_max: int = 1_500


@dataclass(slots=True)
class Part:
    """One message of an answer.

    Attributes:
        platform_id: Of the message that shows it; `None` while there is none.
        shown: The text that stands there, as far as it is known; `None` after a restart.
        piece: The piece of the answer that stands there, as long as the answer has not begun anew.
        is_final: The platform knows that this is its last text.
        is_plain: Its markup was refused.
        previewed: The text that was shown without a message.
    """

    budget: Budget
    platform_id: str | None = None
    shown: str | None = None
    piece: Piece | None = None
    is_final: bool = False
    is_plain: bool = False
    previewed: str | None = None


@dataclass(slots=True)
class Draft:
    """An answer on its way to one chat.

    Attributes:
        chat: What is left of the rates in that chat.
        answers: The platform's id of the message that it answers.
        must_quote: The answer itself asks to be shown as a reply.
        is_unsure: A message of it may stand there that we do not know of.
        permit: For the call that is made now; a chat makes one at a time.
    """

    run: RunId
    address: Address
    layout: Layout
    answers: str | None
    chat: Budget
    new_budget: Callable[[], Budget]
    is_unsure: bool = False
    permit: Permit = NO_PERMIT
    text: str = ""
    attempt: int = 0
    must_quote: bool = False
    is_ended: bool = False
    buttons: tuple[Button, ...] = ()
    parts: dict[int, Part] = field(default_factory=dict)
    _settled: list[Piece] = field(default_factory=list)  # pieces that change no more

    def part(self, index: int) -> Part:
        """The message with a number, made when asked for."""
        if index not in self.parts:
            self.parts[index] = Part(budget=self.new_budget())
        return self.parts[index]

    def resume(self, posted: Iterable[Posted], attempt: int) -> None:
        """Take over what an earlier process has posted; blocks of the same attempt stand as they are."""
        for one in posted:
            part = self.part(one.part)
            part.platform_id = one.platform_id
            is_next = one.part == len(self._settled)
            if one.attempt == attempt and one.end is not None and is_next:
                piece = Piece(text="", end=one.end)
                part.shown, part.piece, part.is_final = "", piece, True
                self._settled.append(piece)

    def grow(self, chunk: Chunk) -> None:
        """Add a chunk; a higher attempt makes void what the one before it said."""
        if chunk.replaces or chunk.attempt > self.attempt:
            self._replace(chunk.text)
        else:
            self.text += chunk.text
        self.attempt = chunk.attempt

    def end(self, text: str, buttons: tuple[Button, ...] = ()) -> None:
        """Take the whole answer; where it only adds to what was there, nothing is laid out anew."""
        if self.text and not text.startswith(self.text):
            self._replace(text)
        self.text, self.buttons = text, buttons
        self.is_ended = True

    def _replace(self, text: str) -> None:
        """Begin anew; the messages that stand there are to show the new text."""
        is_first = not self.text
        self.text = text
        if is_first:
            return
        self._settled.clear()
        for part in self.parts.values():
            part.piece = None

    def leave(self, index: int) -> None:
        """Go on in a new message, because this one can be changed no more.

        Where it shows the beginning of what it should show, the new one has the rest; else it has all.
        """
        part = self.parts[index]
        if part.piece is not None and index == max(self.parts):
            part.is_final = True
            self._settled = [*self._settled[:index], part.piece]
        else:
            self.parts[index] = Part(budget=part.budget)

    def pieces(self, *, is_idle: bool = False) -> list[Piece]:
        """The messages of the answer as it is now; while it grows, only the last of them changes.

        Args:
            is_idle: Nothing new has come for a while: blocks need not be as long as they should.
        """
        layout, begin = self.layout, self._read_tag()
        if begin is None or (layout.mode == "off" and not self.is_ended):
            return []
        if layout.mode == "block" and not self.is_ended:
            return self._add_blocks(begin, is_idle=is_idle)
        start, fence = self._settled_to(begin)
        if start >= len(self.text) and self._settled:
            return list(self._settled)
        limit = min(layout.limit, layout.block_max) if layout.mode == "block" else layout.limit
        fresh = split_markdown(self.text, limit, layout.measure, start=start, fence=fence)
        self._settled += fresh[:-1]
        return [*self._settled, *fresh[-1:]]

    def _add_blocks(self, begin: int, *, is_idle: bool) -> list[Piece]:
        while True:
            start, fence = self._settled_to(begin)
            block = next_block(
                self.text,
                start,
                fence=fence,
                min_chars=self.layout.block_min,
                max_chars=min(self.layout.block_max, self.layout.limit),
                is_idle=is_idle,
            )
            if block is None:
                return list(self._settled)
            self._settled.append(block)

    def _settled_to(self, begin: int) -> tuple[int, str]:
        """Where the next piece begins, and in which code."""
        if not self._settled:
            return begin, ""
        last = self._settled[-1]
        is_known = bool(last.text)  # one that an earlier process has posted is not
        return last.end, last.fence if is_known else open_fence(self.text[: last.end])

    def is_settled(self, index: int) -> bool:
        """Whether a piece changes no more."""
        return self.is_ended or index < len(self._settled)

    def _read_tag(self) -> int | None:
        """Where the text for people begins; `None` while a tag at the beginning may still be coming."""
        head = self.text.lstrip()
        if not head or not (head.startswith("[[") or head == "["):
            return 0
        if (tag := REPLY_TAG.match(self.text)) is not None:
            self.must_quote = True
            self.answers = tag["id"] or self.answers
            return tag.end()
        may_come = "]]" not in head and len(head) < MAX_TAG and not self.is_ended
        return None if may_come else 0
