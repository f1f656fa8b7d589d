"""The adapter: Feishu and Lark, as delivery and the intake know them."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import SecretStr
from starlette.routing import BaseRoute, Route

from bot.errors import ChannelError, ConfigError
from bot.messages import Address, Attachment, utc_now
from bot.settings import FeishuSettings
from channels.base import Capabilities, Content, Liveness, Rate, Setup
from channels.feishu.api import Api
from channels.feishu.cards import MAX_BODY, MAX_BUTTONS, RESERVED, measure
from channels.feishu.files import MAX_UPLOAD, Files
from channels.feishu.hearing import Hearing
from channels.feishu.parse import CHANNEL, Me
from channels.feishu.people import Ours, People
from channels.feishu.reactions import ReactionKeeper
from channels.feishu.sdk import load
from channels.feishu.sending import Sending, message_of
from channels.feishu.socket import Socket
from channels.feishu.streams import Streams
from channels.feishu.webhook import Gate, Webhook

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 60.0  # webhook mode: how often Feishu is asked whether the app is still let in

# Source: open.feishu.cn, "Frequency control" (50 a second and 1,000 a minute for each method), im-v1
# message/create (5 a second to a chat) and message-card/patch (5 a second a message; cards that grow, 10).
RATES: Final = (
    Rate(calls=5, seconds=1.0, scope="chat", kinds=("post", "upload")),
    Rate(calls=5, seconds=1.0, scope="message", kinds=("edit",)),
    *(
        Rate(calls=calls, seconds=seconds, scope="account", kinds=kinds)
        for calls, seconds in ((50, 1.0), (1_000, 60.0))
        for kinds in (("post", "upload"), ("edit",), ("react",))
    ),
)


class FeishuAdapter:
    """One app on Feishu or Lark."""

    name: Final = CHANNEL

    def __init__(self, setup: Setup[FeishuSettings]) -> None:
        settings = setup.settings
        self.account = setup.account
        self._app_id = settings.app_id or ""
        self._is_webhook = settings.mode == "webhook"
        self._me: Me | None = None
        self._liveness = Liveness(is_connected=False)
        self._api = Api(
            domain=settings.domain, app_id=self._app_id, app_secret=_secret(settings.app_secret) or ""
        )
        ours = Ours(self._api)
        self._sending = Sending(self._api, Streams(self._api, setup.state), ours)
        self._files = Files(self._api, self._sending)
        self._reactions = ReactionKeeper(self._api)
        self._hearing = Hearing(setup.intake, people=People(self._api), ours=ours)
        self.routes: Sequence[BaseRoute] = self._hook(settings) if self._is_webhook else ()

    @property
    def liveness(self) -> Liveness:
        """How the connection is doing."""
        return self._liveness

    def capabilities_in(self, address: Address) -> Capabilities:
        """What Feishu can do; the same in every chat."""
        return Capabilities(
            max_size=MAX_BODY - RESERVED,
            rates=RATES,
            edits=True,
            idempotent=True,
            finishes=True,
            reactions=True,
            max_upload=MAX_UPLOAD,
            max_buttons=MAX_BUTTONS,
        )

    def measure(self, text: str) -> int:
        """Bytes, as they count in the body of a request."""
        return measure(text)

    async def run(self) -> None:
        """Hear Feishu until cancelled: on a socket, or by requests that come to `routes`."""
        try:
            self._me = await self._find_out()
            if self._is_webhook:
                await self._stay_signed_in()
            else:
                await self._listen()
        except ChannelError as error:
            self._note(cause=str(error))
            raise
        except asyncio.CancelledError:
            self._note(cause="stopped")
            raise

    async def _listen(self) -> None:
        """Hear one connection to its end."""
        connect = await asyncio.to_thread(load)
        endpoint = await self._api.socket_endpoint()
        socket = Socket(connect, endpoint, app_id=self._app_id, hear=self._hear, heard=self._note)
        await socket.run()

    async def _stay_signed_in(self) -> None:
        """Look now and then whether the app is still let in: no request says that it is not."""
        while True:
            self._note()
            await asyncio.sleep(CHECK_SECONDS)
            await self._find_out()

    async def _find_out(self) -> Me:
        bot = await self._api.bot()
        return Me(name=self.account, bot=bot.open_id, app=self._app_id)

    async def _hear(self, payload: bytes) -> object:
        if self._me is None:  # a request came before `run` did
            self._me = await self._find_out()
        answer = await self._hearing.hear(payload, self._me)
        self._note()
        return answer

    def _note(self, *, cause: str | None = None) -> None:
        """Write down how the connection is; called in the socket's thread, too."""
        now = utc_now() if cause is None else self._liveness.last_event_at
        self._liveness = Liveness(is_connected=cause is None, last_event_at=now, cause=cause)

    def _hook(self, settings: FeishuSettings) -> list[BaseRoute]:
        token = _secret(settings.verification_token)
        if token is None:
            raise ConfigError(
                f"feishu account {self.account!r}: mode webhook needs a verification token: "
                "BOT_FEISHU__VERIFICATION_TOKEN, or that of the account"
            )
        gate = Gate(token=token, encrypt_key=_secret(settings.encrypt_key))
        webhook = Webhook(gate, self._hear)
        return [Route(f"/hooks/{self.name}/{self.account}", webhook.answer, methods=["POST"])]

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a new message into a chat; gives our id of it."""
        return await self._sending.post(address, content, key=key)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a posted message look so."""
        await self._sending.edit(address, platform_id, content)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a posted message or file back."""
        await self._sending.delete(platform_id)

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Feishu has no previews: its growing cards are messages from the start."""
        raise ChannelError("feishu has no previews", permanent=True)

    async def find(self, address: Address, *, key: str) -> str | None:
        """Find nothing: it is not needed, as a post that is tried again does not show twice."""
        return None

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        """Send a file."""
        return await self._files.upload(address, attachment, key=key)

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Fetch a file that came with a message."""
        await self._files.download(attachment, target, max_bytes=max_bytes)

    async def type(self, address: Address) -> None:
        """Feishu does not show that a bot is writing; its growing cards do."""

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put our reaction on a message, or take it away."""
        await self._reactions.react(message_of(platform_id), emoji)

    async def set_presence(self, status: str, activity: str | None) -> None:
        """Feishu's bots have no presence."""
        raise ChannelError("feishu's bots have no presence", permanent=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()


def _secret(value: SecretStr | None) -> str | None:
    return (value.get_secret_value() or None) if value is not None else None
