"""The content of a message, as plain text and attachments."""

import mimetypes
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from bot.messages import Attachment
from channels.feishu.wire import Mention, Message, Wire

EVERYBODY: Final = "@_all"
AttachmentKind: TypeAlias = Literal["image", "audio", "voice", "video", "file"]
KINDS: Final[dict[str, AttachmentKind]] = {
    "image": "image",
    "audio": "voice",
    "media": "video",
    "file": "file",
}


class Node(Wire, frozen=True, kw_only=True):
    """A piece of a rich text."""

    tag: str = ""
    text: str = ""
    href: str = ""
    user_id: str = ""
    emoji_type: str = ""
    image_key: str | None = None
    file_key: str | None = None


class Content(Wire, frozen=True, kw_only=True):
    """The content of the kinds of messages that hold something to read or to fetch."""

    text: str = ""
    title: str = ""
    content: tuple[tuple[Node, ...], ...] = ()
    image_key: str | None = None
    file_key: str | None = None
    file_name: str = ""


class Said(Wire, frozen=True, kw_only=True):
    """What a message says."""

    text: str
    attachments: tuple[Attachment, ...] = ()


def read_content(message: Message, *, me: str) -> Said:
    """Read a message; our own mention is left out, others become names.

    Args:
        me: The open id of our bot.

    Raises:
        msgspec.DecodeError: The content is not of the documented form.
    """
    content = msgspec.json.decode(message.content or "{}", type=Content)
    match message.message_type:
        case "text":
            return Said(text=name_people(content.text, message.mentions, me=me))
        case "post":
            text = "\n".join(line for line in (content.title, _post_text(content)) if line)
            return Said(
                text=name_people(text, message.mentions, me=me),
                attachments=tuple(_post_files(content, message.message_id)),
            )
        case "image" | "audio" | "media" | "file":
            key = content.image_key if message.message_type == "image" else content.file_key
            return Said(text="", attachments=(_attachment(message, content, key or ""),))
        case kind:
            return Said(text=f"[{kind}]")


def name_people(text: str, mentions: Sequence[Mention], *, me: str) -> str:
    """Put names in place of the keys that Feishu leaves in a text.

    The longest key comes first: `@_user_1` is the beginning of `@_user_10`.
    """
    for mention in sorted(mentions, key=lambda one: -len(one.key)):
        is_me = mention.id is not None and mention.id.open_id == me
        text = text.replace(mention.key, "" if is_me else f"@{mention.name}")
    return text.replace(EVERYBODY, "@all").strip()


def resource(message_id: str, key: str, kind: str) -> str:
    """What `Attachment.url` holds: all that a resource is fetched by."""
    return f"{message_id}/{key}/{'image' if kind == 'image' else 'file'}"


def _post_text(content: Content) -> str:
    return "\n".join("".join(_node_text(node) for node in line) for line in content.content).strip()


def _node_text(node: Node) -> str:
    match node.tag:
        case "a":
            return f"{node.text} ({node.href})" if node.text and node.text != node.href else node.href
        case "at":
            return node.user_id if node.user_id.startswith("@_") else ""
        case "emotion":
            return f":{node.emoji_type}:"
        case "code_block":
            return f"```\n{node.text}\n```"
        case "hr":
            return "---"
        case _:
            return node.text


def _post_files(content: Content, message_id: str) -> Iterator[Attachment]:
    for node in (node for line in content.content for node in line):
        if node.tag == "img" and node.image_key:
            yield _named("image", "image", resource(message_id, node.image_key, "image"))
        elif node.tag == "media" and node.file_key:
            yield _named("video", "video.mp4", resource(message_id, node.file_key, "file"))


def _attachment(message: Message, content: Content, key: str) -> Attachment:
    kind = KINDS[message.message_type]
    default = {"voice": "voice.ogg", "video": "video.mp4"}.get(kind, kind)
    return _named(kind, content.file_name or default, resource(message.message_id, key, message.message_type))


def _named(kind: AttachmentKind, name: str, url: str) -> Attachment:
    """An attachment; what form an image has, Feishu does not say."""
    mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Attachment(kind=kind, name=name, mime=mime, url=url)
