"""What the page of the studio asks for, and how it is done to the simulators."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from tests.simulators.platform import File, Simulator, UploadKind
from tests.simulators.studio_bot import BotProcess

GROUP = "team"


class Deed(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=str.lower):
    """What the page asks for."""


class Start(Deed, frozen=True, kw_only=True):
    """Start the bot."""


class Kill(Deed, frozen=True, kw_only=True):
    """Kill the bot."""


class Drop(Deed, frozen=True, kw_only=True):
    """Cut the live connections of a platform."""

    platform: str


class Click(Deed, frozen=True, kw_only=True):
    """Press a button."""

    platform: str
    user: str
    message: str
    label: str


class Place(Deed, frozen=True, kw_only=True):
    """Something done in a chat."""

    platform: str
    user: str
    is_direct: bool = True

    @property
    def chat(self) -> str:
        """The name of the chat."""
        return self.user if self.is_direct else GROUP


class Say(Place, frozen=True, kw_only=True):
    """Say something."""

    text: str
    mentions_bot: bool = False
    thread: str | None = None
    reply_to: str | None = None


class Slash(Place, frozen=True, kw_only=True):
    """Use a command of the platform's menu."""

    command: str
    arguments: str = ""


class Upload(Place, frozen=True, kw_only=True):
    """Send a file; the data come in base64."""

    name: str
    mime: str
    data: bytes
    text: str = ""


Request: TypeAlias = Start | Kill | Drop | Click | Say | Slash | Upload


async def perform(deed: Request, simulators: Mapping[str, Simulator], bot: BotProcess) -> None:
    """Do it."""
    match deed:
        case Start():
            await bot.start()
        case Kill():
            await bot.kill()
        case Drop():
            await simulators[deed.platform].drop()
        case Click():
            await simulators[deed.platform].click(deed.message, deed.label, user=deed.user)
        case Say():
            await _say(deed, simulators[deed.platform])
        case Slash():
            await simulators[deed.platform].slash(
                deed.chat, deed.command, deed.arguments, user=deed.user, direct=deed.is_direct
            )
        case Upload():
            file = File(name=deed.name, data=deed.data, mime=deed.mime, kind=_kind(deed.mime))
            await simulators[deed.platform].upload(
                deed.chat, file, user=deed.user, text=deed.text, direct=deed.is_direct
            )


async def _say(deed: Say, simulator: Simulator) -> None:
    await simulator.user_says(
        deed.chat,
        deed.text,
        user=deed.user,
        direct=deed.is_direct,
        mentions_bot=deed.mentions_bot and not deed.is_direct,
        thread=deed.thread,
        reply_to=deed.reply_to,
    )


def _kind(mime: str) -> UploadKind:
    """What platforms make of a file of this type."""
    kinds: dict[str, UploadKind] = {"image": "image", "audio": "audio", "video": "video"}
    return kinds.get(mime.partition("/")[0], "file")
