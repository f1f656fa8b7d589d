"""The pictures that people send, shown to models that can see, in the turn they came with.

Later turns do not send them again: a talk would soon be full of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from bot.agent.estimate import estimate_message
from bot.agent.prompt import Prompt
from bot.messages import Attachment, InboundMessage
from bot.models.base import ModelProfile, Picture, PromptMessage
from bot.models.picture_files import MAX_PICTURES, load_pictures


class Seen(NamedTuple):
    """What there is to look at of some files, and the line for what can't be shown; empty for nothing."""

    pictures: tuple[Picture, ...] = ()
    note: str = ""


async def look(attachments: Sequence[Attachment], *, most: int = MAX_PICTURES) -> Seen:
    """Read the pictures among the files of a message that are on our disk, at most so many."""
    files = [file for file in attachments if _may_be_picture(file)]
    if not files:
        return Seen()
    loaded = await load_pictures(files, most=most)
    missing = [file.name or file.kind for file, picture in zip(files, loaded, strict=True) if picture is None]
    note = f"[Not shown here: {', '.join(missing)}]" if missing else ""
    return Seen(tuple(picture for picture in loaded if picture is not None), note)


def _may_be_picture(file: Attachment) -> bool:
    return file.path is not None and (file.kind == "image" or file.mime.startswith("image/"))


def with_pictures(message: PromptMessage, seen: Seen) -> PromptMessage:
    """A message with pictures to look at."""
    content = "\n".join(part for part in (message.content, seen.note) if part)
    return replace(message, content=content, pictures=(*message.pictures, *seen.pictures))


async def show(prompt: Prompt, message: InboundMessage, profile: ModelProfile) -> Prompt:
    """The prompt of a turn with the pictures of its message; the same where the model sees nothing."""
    if not profile.sees or not message.attachments:
        return prompt
    parts = prompt.messages
    newest = next((index for index in reversed(range(len(parts))) if parts[index].role == "user"), None)
    seen = await look(message.attachments)
    if newest is None or seen == Seen():
        return prompt
    before, shown = parts[newest], with_pictures(parts[newest], seen)
    tokens = prompt.tokens + estimate_message(shown) - estimate_message(before)
    return replace(prompt, messages=(*parts[:newest], shown, *parts[newest + 1 :]), tokens=tokens)
