"""Tools that speak: a message to another chat, a file beside the answer."""

import asyncio
import mimetypes
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, Protocol

from bot.errors import StoreError
from bot.messages import Address, Attachment
from bot.tools.base import Arguments, Speaker, Tool, ToolContext, ToolFault, ToolOutput
from bot.tools.declare import declare
from bot.tools.workspace import UNSEEN, Jail

MAX_TEXT: Final = 20_000  # characters
MAX_FILE: Final = 50_000_000  # bytes
MAX_NAME: Final = 200  # characters of a file's name
SHOWN: Final = 20  # chats in a fault
ADMINS_ONLY = "This person may write to their own chat only; an admin may write to others."


class Chats(Protocol):
    """The chats that have written to the bot."""

    async def addresses(self) -> Sequence[Address]:
        """All of them; the one that spoke last comes first."""


class MessagingTools:
    """`send_message` and `send_file`."""

    def __init__(self, speaker: Speaker, chats: Chats, jail: Jail) -> None:
        self._speaker = speaker
        self._chats = chats
        self._jail = jail

    async def send_message(self, text: str, context: ToolContext, to: str = "") -> ToolOutput:
        """Say something at once, before your answer: here, or in another chat.

        Args:
            text: Markdown.
            to: Another chat as channel:account:chat; empty for this one.
        """
        if not text.strip() or len(text) > MAX_TEXT:
            raise ToolFault(f"A message has 1 to {MAX_TEXT:,} characters.")
        here = context.address
        address = await self._find(to.strip(), context) if to.strip() else here
        session = context.talk if address == here else address.session()
        try:
            await self._speaker.say(address, session, text, in_context=True)
        except StoreError as error:
            raise ToolFault(f"It could not be sent: {error}") from error
        return ToolOutput(text=f"Sent to {address.session()}.", has_spoken=address == here)

    async def _find(self, to: str, context: ToolContext) -> Address:
        """The chat of a name that the person may write to."""
        if to == context.address.session():
            return context.address
        if not context.is_admin:
            raise ToolFault(ADMINS_ONLY)
        known = {str(address.session()): address for address in await self._chats.addresses()}
        if to in known:
            return known[to]
        near = get_close_matches(to, known, n=3, cutoff=0.4) or list(known)[:SHOWN]
        raise ToolFault(f"There is no chat {to[:100]!r}; there are {', '.join(near) or 'none'}.")

    async def send_file(self, path: str, name: str = "") -> ToolOutput:
        """Send a file of the workspace along with your answer.

        Args:
            name: What the person sees; empty for the file's own.
        """
        entry = await asyncio.to_thread(self._jail.stat, path)
        if entry.kind != "file":
            raise ToolFault(f"{path} is a {entry.kind}: name a file.")
        if entry.size > MAX_FILE:
            raise ToolFault(
                f"{path} has {entry.size / 1e6:.0f} MB, and at most {MAX_FILE / 1e6:.0f} are sent."
            )
        shown = UNSEEN.sub("", name).strip().replace("/", "_")[:MAX_NAME] or entry.name
        mime = mimetypes.guess_type(shown)[0] or "application/octet-stream"
        attachment = Attachment(
            kind="image" if mime.startswith("image/") else "file",
            name=shown,
            mime=mime,
            size=entry.size,
            path=str(self._jail.real(path)),
        )
        return ToolOutput(text=f"{shown} goes out with your answer.", attachments=(attachment,))

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(self.send_message, group="messaging", risk="send", effects=("acts",), says=("text",)),
            declare(
                self.send_file,
                group="messaging",
                risk="read",
                effects=("reads_private", "acts"),
                acts_if=_is_heard_by_others,
                says=("name",),
            ),
        )


def _is_heard_by_others(arguments: Arguments, context: ToolContext) -> bool:
    """Whether a file goes to more people than the one who has the tool, and so could read it anyway."""
    return not context.message.is_direct
