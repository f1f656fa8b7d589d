"""Posts, edits and deletions."""

import json
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

from discord.http import Route

from bot.errors import ChannelError
from bot.messages import Address, Attachment
from channels.base import Content
from channels.discord.answers import Answers, Use, asker
from channels.discord.buttons import Buttons
from channels.discord.errors import Refused
from channels.discord.parse import channel_id
from channels.discord.rest import Rest
from channels.markup.discord import render

NONCE: Final = 25
SUPPRESS_EMBEDS: Final = 1 << 2
EVERYBODY: Final = ("everyone", "roles", "users")
MOST: Final = 1_000
NO_ENTRY: Final = frozenset({50001, 50013})  # commands work where we may not write, and can be answered
MESSAGE_PATH: Final = "/channels/{channel_id}/messages/{message_id}"


class Sending:
    """Decides which way a message goes.

    What answers a command takes the place that Discord keeps for it; what follows is a message like others,
    because a nonce keeps those alone from coming twice. The answer to an admin's command in a server is seen
    by nobody else: after a quarter of an hour, or a restart, it goes to them as a direct message. Our id of
    such a one names its chat, too.
    """

    def __init__(
        self,
        rest: Rest,
        answers: Answers,
        buttons: Buttons,
        *,
        allow_pings: bool,
        link_previews: bool,
    ) -> None:
        self._rest = rest
        self._answers = answers
        self._buttons = buttons
        self._allow_pings = allow_pings
        self._link_previews = link_previews
        self._direct_chats: OrderedDict[str, str] = OrderedDict()

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a message into a chat; see `ChannelAdapter.post`."""
        body = await self._body(content)
        use = self._answers.to(content.answers)
        if use is not None and (told := await self._answers.post(use, key, body)) is not None:
            return told
        private = await self._private_chat(content.answers)
        body |= {"nonce": nonce(key), "enforce_nonce": True}
        if private is None and content.quotes and content.answers is not None and content.answers.isdecimal():
            body["message_reference"] = {"message_id": content.answers, "fail_if_not_exists": False}
        return await self._say("post", address, private, use, json=body)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Let a message look so; see `ChannelAdapter.edit`."""
        body = await self._body(content)
        if (use := self._answers.of(platform_id)) is not None:
            await self._answers.edit(use, platform_id, body)
        else:
            await self._rest.call("edit", _message("PATCH", address, platform_id), json=body)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a message back; see `ChannelAdapter.delete`."""
        if (use := self._answers.of(platform_id)) is not None:
            await self._answers.delete(use, platform_id)
        else:
            await self._rest.call("delete", _message("DELETE", address, platform_id))

    async def upload(
        self, address: Address, attachment: Attachment, file: BinaryIO, *, key: str, answers: str | None
    ) -> str:
        """Send an open file; see `ChannelAdapter.upload`."""
        use = self._answers.to(answers)
        if use is not None:
            form = _form({"flags": self._answers.flags(use)}, file, attachment)
            if (told := await self._answers.upload(use, key, form)) is not None:
                return told
        private = await self._private_chat(answers)
        form = _form({"nonce": nonce(key), "enforce_nonce": True}, file, attachment)
        return await self._say("upload", address, private, use, form=form)

    async def _say(
        self, what: str, address: Address, private: str | None, use: Use | None, **options: Any
    ) -> str:
        """Put a message into a chat, or into a private one; gives our id of it."""
        try:
            told = await self._rest.call(what, _messages(private or _place(address)), **options)
        except Refused as error:
            if use is None or error.code not in NO_ENTRY:
                raise
            use.is_only_way = True
            raise ChannelError(str(error)) from error  # the next try goes by the token
        return f"{private}:{told['id']}" if private is not None else str(told["id"])

    async def _private_chat(self, answers: str | None) -> str | None:
        """The direct chat with the only person who may see an answer; `None` where everybody may."""
        user = asker(answers)
        if user is None:
            return None
        if user not in self._direct_chats:
            route = Route("POST", "/users/@me/channels")
            told = await self._rest.call("open direct chat", route, json={"recipient_id": user})
            self._direct_chats[user] = str(told["id"])
            if len(self._direct_chats) > MOST:
                self._direct_chats.popitem(last=False)
        return self._direct_chats[user]

    async def _body(self, content: Content) -> dict[str, object]:
        previews = self._link_previews
        text = content.text if content.is_plain else render(content.text, link_previews=previews)
        return {
            "content": text,
            "allowed_mentions": {"parse": EVERYBODY if self._allow_pings else (), "replied_user": False},
            "components": await self._buttons.rows(content.buttons),
            "flags": 0 if previews else SUPPRESS_EMBEDS,
        }


def nonce(key: str) -> str:
    """What Discord recognises a repeated post by, for some minutes."""
    return sha256(key.encode()).hexdigest()[:NONCE]


def _place(address: Address) -> str:
    place = channel_id(address)
    if place == 0:
        raise ChannelError(f"discord has no chat {address.chat!r}", permanent=True)
    return str(place)


def _messages(channel: str) -> Route:
    return Route("POST", "/channels/{channel_id}/messages", channel_id=channel)


def _message(method: str, address: Address, platform_id: str) -> Route:
    channel, _, message = platform_id.rpartition(":")
    return Route(method, MESSAGE_PATH, channel_id=channel or _place(address), message_id=message)


def _form(body: dict[str, Any], file: BinaryIO, attachment: Attachment) -> list[dict[str, Any]]:
    """A file and what goes with it; named among the message's files, it takes the place of those before."""
    name = attachment.name or Path(attachment.path or "file").name
    body = {**body, "attachments": [{"id": 0, "filename": name}]}
    return [
        {"name": "payload_json", "value": json.dumps(body)},
        {"name": "files[0]", "value": file, "filename": name, "content_type": attachment.mime},
    ]
