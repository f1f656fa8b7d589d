"""The adapter: Slack, as delivery and the intake know it."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import SecretStr
from starlette.routing import BaseRoute

from bot.errors import ChannelError, MessageGone, StoreError
from bot.messages import Address, Attachment, utc_now
from bot.settings import SlackSettings
from channels.base import Capabilities, Content, Liveness, Rate, Setup
from channels.markup.slack import measure
from channels.slack.blocks import MAX_BUTTONS, MAX_SIZE
from channels.slack.client import Client
from channels.slack.files import MAX_UPLOAD, Files
from channels.slack.forms import Forms
from channels.slack.hearing import Hearing
from channels.slack.hooks import Hook
from channels.slack.parse import Identity
from channels.slack.people import People
from channels.slack.private import Private
from channels.slack.reactions import Reactions
from channels.slack.sending import Sending
from channels.slack.socket import Socket
from channels.slack.streams import Recipients, Streams
from channels.slack.threads import Threads
from channels.slack.wire import AuthTest, Done

log = logging.getLogger(__name__)

STATUS_SECONDS: Final = 60.0  # Slack shows it for two minutes, or until something is posted
LONG_CODE: Final = 12_000  # characters of a code block; a longer one is easier to read as a file
CHECK_SECONDS: Final = 60.0  # HTTP mode: how often the token is tried

# Source: docs.slack.dev, "Rate limits" and the method pages. chat.postMessage has one a second in a channel,
# reactions.add 50 a minute, reactions.remove 20. An edit becomes chat.update (50 a minute), in threads mostly
# chat.appendStream (100); for the few updates there, `Sending` leaves growth out where they run short.
RATES: Final = (
    Rate(calls=1, seconds=1.1, kinds=("post", "upload")),
    Rate(calls=2, seconds=2.0, kinds=("edit",)),
    Rate(calls=38, seconds=60.0, scope="account", kinds=("react",)),
)
UPDATES: Final = Rate(calls=50, seconds=60.0, scope="account", kinds=("edit",))
APPENDS: Final = Rate(calls=100, seconds=60.0, scope="account", kinds=("edit",))


class SlackAdapter:
    """One app in one workspace.

    Args:
        ping_interval: Seconds between two looks at the socket.
        patience: Seconds without a connection after which `run` gives up.
    """

    name: Final = "slack"

    def __init__(
        self, setup: Setup[SlackSettings], *, ping_interval: float = 5.0, patience: float = 30.0
    ) -> None:
        settings = setup.settings
        self.account = setup.account
        self._app_token = _secret(settings.app_token)
        self._ping_interval = ping_interval
        self._patience = patience
        self._me: Identity | None = None
        self._liveness = Liveness(is_connected=False)
        self._client = Client(token=_secret(settings.bot_token) or "", base_url=settings.base_url)
        self._threads = Threads(setup.state)
        self._streams = Streams(self._client, setup.state)
        self._files = Files(self._client)
        self._reactions = Reactions(self._client, usual=settings.ack_reaction)
        recipients, private = Recipients(), Private(self._client)
        self._sending = Sending(
            self._client,
            self._streams,
            private,
            recipients,
            allow_pings=settings.allow_pings,
            link_previews=settings.link_previews,
        )
        self._hearing = Hearing(
            setup.intake,
            setup.commands,
            people=People(self._client),
            threads=self._threads,
            recipients=recipients,
            private=private,
            forms=Forms(self._client),
            trusts_admins=settings.trust_admins,
        )
        self.routes: Sequence[BaseRoute] = self._hook(_secret(settings.signing_secret))

    @property
    def liveness(self) -> Liveness:
        """How the connection is doing."""
        return self._liveness

    def capabilities_in(self, address: Address) -> Capabilities:
        """What Slack can do in a chat; that somebody writes it shows in threads with the bot alone."""
        has_status = address.is_direct and address.thread is not None
        return Capabilities(
            max_size=MAX_SIZE,
            rates=(*RATES, UPDATES if address.thread is None else APPENDS),
            edits=True,
            finds=True,
            finishes=True,
            typing_seconds=STATUS_SECONDS if has_status else None,
            reactions=True,
            max_upload=MAX_UPLOAD,
            max_buttons=MAX_BUTTONS,
            forms=True,
            long_code=LONG_CODE,
        )

    def measure(self, text: str) -> int:
        """Characters, as a Markdown block counts them."""
        return measure(text)

    async def run(self) -> None:
        """Hear Slack until cancelled: on a socket, or by requests that come to `routes`."""
        try:
            await self._prepare()
            if self._app_token is not None:
                await self._socket(self._app_token).hear()
            else:
                await self._stay_signed_in()
        except ChannelError as error:
            self._note(False, None, cause=str(error))
            raise

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a new message into a chat; gives our id of it."""
        await self._join(address)
        return await self._sending.post(address, content, key=key)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a posted message look so."""
        await self._sending.edit(address, platform_id, content)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a posted message or file back."""
        if ":" not in platform_id:
            await self._files.delete(platform_id)
            return
        try:
            await self._sending.delete(address, platform_id)
        except MessageGone:
            log.debug("message was gone already")

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Slack has no previews: its streams are messages from the start."""
        raise ChannelError("slack has no previews", permanent=True)

    async def find(self, address: Address, *, key: str) -> str | None:
        """Our id of what was posted or uploaded under a key, if it was; see `Sending.find`."""
        me = await self._identity()
        return await self._sending.find(address, me, key=key, file_id=self._files.sent(key))

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        """Send a file; gives Slack's id of the file."""
        await self._join(address)
        return await self._files.upload(address, attachment, key=key)

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write a file that somebody sent to `target`."""
        await self._files.download(attachment, target, max_bytes=max_bytes)

    async def type(self, address: Address) -> None:
        """Show in a thread that we are thinking."""
        arguments = {
            "channel_id": address.chat,
            "thread_ts": address.thread,
            "status": "is thinking…",
        }
        await self._client.call("assistant.threads.setStatus", Done, arguments)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put our reaction on a message, or take it away."""
        await self._reactions.react(address.chat, platform_id, emoji)

    async def set_presence(self, status: str, activity: str | None) -> None:
        """An app's presence is set in its configuration, and it has no activity."""
        raise ChannelError("slack shows no presence of apps that they could set", permanent=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _hook(self, secret: str | None) -> Sequence[BaseRoute]:
        if self._app_token is not None or secret is None:
            return ()
        return (Hook(self.account, secret, take=self._take).route,)

    def _socket(self, app_token: str) -> Socket:
        return Socket(
            self._client,
            app_token,
            take=self._take,
            note=self._note,
            ping_interval=self._ping_interval,
            patience=self._patience,
        )

    async def _take(self, kind: str, payload: object) -> None:
        await self._hearing.take(kind, payload, await self._prepare())
        self._note(True, utc_now())

    async def _prepare(self) -> Identity:
        """Find out who we are, and read what we knew; before the first event."""
        if self._me is None:
            await self._threads.load()
            await self._streams.load()
        return await self._identity()

    async def _identity(self) -> Identity:
        if self._me is None:
            self._me = await self._sign_in()
        return self._me

    async def _sign_in(self) -> Identity:
        found = await self._client.call("auth.test", AuthTest, {})
        return Identity(name=self.account, user=found.user_id, bot=found.bot_id, team=found.team_id)

    async def _stay_signed_in(self) -> None:
        """See from time to time whether Slack still knows us: requests that don't come say nothing."""
        try:
            while True:
                self._note(True, utc_now())
                await asyncio.sleep(CHECK_SECONDS)
                await self._sign_in()
        finally:
            self._note(False, None)

    async def _join(self, address: Address) -> None:
        """Count a thread among those where the bot need not be mentioned."""
        if address.thread is None or address.is_direct:
            return
        try:
            await self._threads.join(address.chat, address.thread)
        except StoreError as error:  # the answer is worth more than the memory of its thread
            log.warning("thread not remembered", extra={"cause": str(error)})

    def _note(self, is_connected: bool, heard_at: datetime | None, *, cause: str | None = None) -> None:
        last = max((at for at in (heard_at, self._liveness.last_event_at) if at is not None), default=None)
        self._liveness = Liveness(is_connected=is_connected, last_event_at=last, cause=cause)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
