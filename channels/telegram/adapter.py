"""The adapter: Telegram, as delivery and the intake know it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.routing import BaseRoute

from bot.errors import ChannelError, StoreError
from bot.messages import Address, Attachment, utc_now
from bot.settings import TelegramSettings
from channels.base import Capabilities, Content, Liveness, Rate, Setup
from channels.markup.telegram import measure
from channels.telegram.chats import Chats
from channels.telegram.client import Client
from channels.telegram.files import MAX_UPLOAD, Files
from channels.telegram.hearing import Hearing
from channels.telegram.hook import Hook, secret_of
from channels.telegram.keyboard import MAX_BUTTONS, Keyboard
from channels.telegram.menu import publish
from channels.telegram.polling import PATIENCE, POLL_SECONDS, Poller
from channels.telegram.sending import Sending

MAX_SIZE: Final = 4096  # UTF-16 units after the markup is read; Bot API, sendMessage
LONG_CODE: Final = 8_000  # characters of a code block; a longer one is easier to read as a file
TYPING_SECONDS: Final = 5.0  # Bot API, sendChatAction

# Source: Telegram's Bots FAQ, "My bot is hitting limits": one message a second in a chat, 20 a minute in a
# group, about 30 a second in all. Edits and drafts count like messages.
RATES: Final = (Rate(calls=1, seconds=1.0), Rate(calls=30, seconds=1.0, scope="account"))
GROUP_RATES: Final = (*RATES, Rate(calls=20, seconds=60.0))


class TelegramAdapter:
    """One bot on Telegram.

    A post whose answer is lost may show twice: Telegram knows no keys of posts, and tells bots nothing of
    what was said before.

    Args:
        poll_seconds: That Telegram is asked to wait for something to happen.
        patience: Seconds without progress after which `run` gives up.
    """

    name: Final = "telegram"

    def __init__(
        self,
        setup: Setup[TelegramSettings],
        *,
        poll_seconds: int = POLL_SECONDS,
        patience: float = PATIENCE,
    ) -> None:
        settings = setup.settings
        token = settings.token.get_secret_value() if settings.token is not None else ""
        self.account = setup.account
        self._setup = setup
        self._liveness = Liveness(is_connected=False)
        self._client = Client(token, settings.base_url)
        self._chats = Chats(setup.state)
        keyboard = Keyboard(setup.state)
        self._sending = Sending(
            self._client,
            self._chats,
            keyboard,
            link_previews=settings.link_previews,
            allow_pings=settings.allow_pings,
        )
        self._files = Files(self._client, self._sending)
        self._hearing = Hearing(
            setup.intake,
            self._client,
            account=setup.account,
            commands=setup.commands,
            state=setup.state,
            chats=self._chats,
            keyboard=keyboard,
        )
        self._poller = Poller(
            self._client,
            take=self._hearing.take,
            note=self._note,
            poll_seconds=poll_seconds,
            patience=patience,
        )
        self._hook = self._make_hook(token) if settings.mode == "webhook" else None
        self.routes: Sequence[BaseRoute] = () if self._hook is None else (self._hook.route,)

    @property
    def liveness(self) -> Liveness:
        """How the connection is doing."""
        return self._liveness

    def capabilities_in(self, address: Address) -> Capabilities:
        """What Telegram can do in a chat; drafts are for private ones."""
        return Capabilities(
            max_size=MAX_SIZE,
            rates=RATES if address.is_direct else GROUP_RATES,
            edits=True,
            previews=address.is_direct,
            typing_seconds=TYPING_SECONDS,
            reactions=True,
            max_upload=MAX_UPLOAD,
            max_buttons=MAX_BUTTONS,
            long_code=LONG_CODE,
        )

    def measure(self, text: str) -> int:
        """UTF-16 units of what is left when the markup is read."""
        return measure(text)

    async def run(self) -> None:
        """Hear Telegram until cancelled: by polling, or by what comes to `routes`."""
        try:
            await self._hearing.open(await self._client.me())
            await self._chats.load()
            await publish(self._client, self._setup.state, self._setup.commands)
            async with self._hearing.watching():
                await (self._hook or self._poller).hear()
        except StoreError as error:
            self._fall(str(error))
            raise ChannelError(f"telegram: the state can't be read ({error})") from error
        except ChannelError as error:
            self._fall(str(error))
            raise
        finally:
            self._fall(self._liveness.cause)

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a new message into a chat; gives our id of it."""
        return await self._sending.post(address, content)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a posted message look so."""
        await self._sending.edit(address, platform_id, content)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a posted message back; after 48 hours Telegram does not let us."""
        await self._sending.delete(address, platform_id)

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Show a text that grows as a draft."""
        await self._sending.preview(address, content, key=key)

    async def find(self, address: Address, *, key: str) -> str | None:
        """Telegram does not tell bots what was said in a chat."""
        raise ChannelError("telegram has no way to find a message", permanent=True)

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        """Send a file; gives our id of its message."""
        return await self._files.upload(address, attachment)

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write a file that somebody sent to `target`."""
        await self._files.download(attachment, target, max_bytes=max_bytes)

    async def type(self, address: Address) -> None:
        """Show that we write."""
        await self._sending.type(address)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put our reaction on a message, or take it away; Telegram has a fixed list of them."""
        await self._sending.react(address, platform_id, emoji)

    async def set_presence(self, status: str, activity: str | None) -> None:
        """Bots have no presence on Telegram."""
        raise ChannelError("telegram shows no presence of bots", permanent=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _make_hook(self, token: str) -> Hook:
        secret = self._setup.settings.webhook_secret
        return Hook(
            self._client,
            account=self.account,
            secret=secret.get_secret_value() if secret is not None else secret_of(token),
            public_url=self._setup.public_url,
            take=self._hearing.take,
            note=self._note,
        )

    def _note(self) -> None:
        self._liveness = Liveness(is_connected=True, last_event_at=utc_now())

    def _fall(self, cause: str | None) -> None:
        self._liveness = Liveness(is_connected=False, last_event_at=self._liveness.last_event_at, cause=cause)
