"""The Web API, through the SDK's client."""

import logging
from collections.abc import Mapping
from typing import Final, TypeVar

import aiohttp
import msgspec
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import slack_errors
from channels.slack.wire import Wire

Answer = TypeVar("Answer", bound=Wire)

CALL_TIMEOUT: Final = aiohttp.ClientTimeout(total=30, connect=10)
# These take no JSON, only forms. Source: docs.slack.dev, the method pages' "content types".
FORMS: Final = frozenset(
    {
        "conversations.history",
        "conversations.replies",
        "files.getUploadURLExternal",
        "files.info",
        "users.info",
    }
)


def sdk_log() -> logging.Logger:
    """The SDK's logger, silenced: its lines hold message texts, and URLs with tickets in them."""
    log = logging.getLogger("channels.slack.sdk")
    log.setLevel(logging.CRITICAL + 1)
    return log


class Client:
    """Calls methods and reads their answers; opens its connections at the first call.

    It never tries a call twice. The SDK would, once, when a connection breaks: a post would show twice.
    """

    def __init__(self, *, token: str, base_url: str) -> None:
        self.token = token
        self.base_url = base_url
        self._web: AsyncWebClient | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """For what is no method of the API: files, and the URLs that answer a command."""
        if self._session is None or self._session.closed:
            self._session, self._web = aiohttp.ClientSession(timeout=CALL_TIMEOUT), None
        return self._session

    @property
    def web(self) -> AsyncWebClient:
        """The SDK's client."""
        session = self.session
        if self._web is None:
            self._web = AsyncWebClient(
                token=self.token,
                base_url=self.base_url,
                session=session,
                retry_handlers=[],
                logger=sdk_log(),
            )
        return self._web

    async def call(self, method: str, answer: type[Answer], arguments: Mapping[str, object]) -> Answer:
        """Call a method; arguments that are `None` are left out.

        Raises:
            ChannelError: Any of its kinds.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        with slack_errors(method):
            if method in FORMS:
                response = await self.web.api_call(method, data=given)
            else:
                response = await self.web.api_call(method, json=given)
            return msgspec.convert(response.data, answer)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
