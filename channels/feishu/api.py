"""The open API over HTTP: the token, one way to call it, and the files that it serves."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeAlias, TypeVar

import aiohttp
import msgspec

from bot.errors import ChannelError
from channels.feishu.errors import Scope, StaleToken, feishu_errors, no_envelope, refusal
from channels.feishu.wire import Bot, BotInfo, Endpoint, Envelope, Refusal, Token, Wire

Answer = TypeVar("Answer", bound=Wire)
Verb: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

CALL_TIMEOUT: Final = aiohttp.ClientTimeout(total=30, connect=10)
SECRETS_REFUSED: Final = frozenset({10003, 10012, 10014, 10015, 1000040344, 1000040345, 1000040346})
JSON: Final = {"Content-Type": "application/json; charset=utf-8"}


class Nothing(Wire, frozen=True, kw_only=True):
    """The data of an answer of which only the code matters."""


class Api:
    """Calls the open API of one app; opens its connections at the first call.

    It never tries a call twice, but where Feishu says that the token is too old: then nothing was done.
    """

    def __init__(self, *, domain: str, app_id: str, app_secret: str) -> None:
        self.app_id = app_id
        self._domain = domain.rstrip("/")
        self._app_secret = app_secret
        self._session: aiohttp.ClientSession | None = None
        self._token = ""
        self._token_until = 0.0
        self._fetching = asyncio.Lock()

    async def call(
        self,
        verb: Verb,
        path: str,
        answer: type[Answer],
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        form: Mapping[str, str | bytes | tuple[str, bytes]] | None = None,
        scope: Scope = "account",
    ) -> Answer:
        """Call a method, and give the data of its answer.

        Args:
            path: Below `/open-apis`.
            form: Sent as multipart instead of `body`; a pair is a file's name and content.
            scope: What shares the budget of the call, where its own rate is exceeded.

        Raises:
            ChannelError: Any of its kinds.
        """
        content = msgspec.json.encode(body) if body is not None else None
        for is_last in (False, True):
            token = await self.token()
            try:
                async with self._open(verb, path, token, content=content, query=query, form=form) as response:
                    found = _read(await response.read(), response, Envelope[answer], path, scope)  # type: ignore[valid-type]  # a class given as a value
            except StaleToken:
                self._drop(token)
                if is_last:
                    raise
            else:
                return _given(found, answer, path)
        raise AssertionError("the loop ends by returning or raising")

    @asynccontextmanager
    async def fetch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a file; the caller reads it inside, where the errors of HTTP are turned into ours too.

        Raises:
            ChannelError: Feishu refused it; or sent a page in its place (permanent).
        """
        token = await self.token()
        try:
            async with self._open("GET", path, token, query=query) as response:
                if response.status != 200 or response.content_type == "application/json":
                    _read(await response.read(), response, Refusal, path, "account")
                    raise ChannelError(f"feishu {_method(path)}: no file in the answer", permanent=True)
                yield response
        except StaleToken:
            self._drop(token)
            raise

    async def bot(self) -> Bot:
        """Who we are."""
        for is_last in (False, True):
            token = await self.token()
            try:
                async with self._open("GET", "/bot/v3/info", token) as response:
                    info = _read(await response.read(), response, BotInfo, "/bot/v3/info", "account")
            except StaleToken:
                self._drop(token)
                if is_last:
                    raise
            else:
                if info.bot is None or not info.bot.open_id:
                    raise ChannelError("feishu: the app has no bot; add it under Features", permanent=True)
                return info.bot
        raise AssertionError("the loop ends by returning or raising")

    async def socket_endpoint(self) -> Endpoint:
        """Where to open the socket. The SDK would ask for it itself, blocking and without a time limit."""
        keys = {"AppID": self.app_id, "AppSecret": self._app_secret}
        path = "/callback/ws/endpoint"
        with feishu_errors(path):
            async with self._connections().post(
                self._domain + path, json=keys, headers={"locale": "en"}
            ) as response:
                found = _read(await response.read(), response, Envelope[Endpoint], path, "account")
        return _given(found, Endpoint, path)

    async def token(self) -> str:
        """The access token; fetched once for all who wait for it, and well before it ends."""
        async with self._fetching:
            if time.monotonic() >= self._token_until:
                await self._fetch_token()
            return self._token

    async def _fetch_token(self) -> None:
        path = "/auth/v3/tenant_access_token/internal"
        asked_at = time.monotonic()
        keys = {"app_id": self.app_id, "app_secret": self._app_secret}
        with feishu_errors(path):
            url = f"{self._domain}/open-apis{path}"
            async with self._connections().post(url, json=keys) as response:
                found = _read(await response.read(), response, Token, path, "account")
        self._token, self._token_until = found.tenant_access_token, asked_at + found.expire * 0.9

    def _drop(self, token: str) -> None:
        """Forget a token that was refused, unless another call has already got a new one."""
        if token == self._token:
            self._token_until = 0.0

    @asynccontextmanager
    async def _open(
        self,
        verb: Verb,
        path: str,
        token: str,
        *,
        content: bytes | None = None,
        query: Mapping[str, str] | None = None,
        form: Mapping[str, str | bytes | tuple[str, bytes]] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Authorization": f"Bearer {token}", **(JSON if content is not None else {})}
        data = content if form is None else _multipart(form)
        with feishu_errors(_method(path)):
            async with self._connections().request(
                verb,
                f"{self._domain}/open-apis{path}",
                headers=headers,
                data=data,
                params=query,
                allow_redirects=False,
            ) as response:
                yield response

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=CALL_TIMEOUT)
        return self._session

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


Decoded = TypeVar("Decoded", bound=Wire)


def _read(
    data: bytes, response: aiohttp.ClientResponse, answer: type[Decoded], path: str, scope: Scope
) -> Decoded:
    """Read an answer: what it refuses is raised.

    Raises:
        ChannelError: The code is not 0, or there is none.
    """
    try:
        head = msgspec.json.decode(data, type=Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise no_envelope(response.status, method=_method(path), headers=response.headers) from None
    if head.code != 0:
        if head.code in SECRETS_REFUSED:
            raise ChannelError(f"feishu: app id or secret is wrong: {head.msg} ({head.code})", permanent=True)
        raise refusal(head.code, head.msg, method=_method(path), headers=response.headers, scope=scope)
    return msgspec.json.decode(data, type=answer)


def _given(found: Envelope[Answer], answer: type[Answer], path: str) -> Answer:
    """The data of an answer; some methods leave it out where there is none."""
    if found.data is not None:
        return found.data
    with feishu_errors(_method(path)):
        return msgspec.convert({}, answer)


def _method(path: str) -> str:
    """The name of a call for messages: its path without what names a message, a card or a file."""
    return "/".join(part for part in path.strip("/").split("/") if not _is_id(part))


def _is_id(part: str) -> bool:
    return part.isdecimal() or (len(part) > 12 and any(letter.isdigit() for letter in part))


def _multipart(form: Mapping[str, str | bytes | tuple[str, bytes]]) -> aiohttp.FormData:
    data = aiohttp.FormData()
    for name, value in form.items():
        if isinstance(value, tuple):
            data.add_field(name, value[1], filename=value[0], content_type="application/octet-stream")
        else:
            data.add_field(name, value)
    return data
