"""The open API over HTTP: the token, one way to call it, and the files that it serves."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import aiohttp
import msgspec

from bot.errors import ChannelError
from channels.feishu.errors import Scope, StaleToken, feishu_errors, no_envelope, refusal
from channels.feishu.wire import Bot, BotInfo, Endpoint, Reply, Token, Wire

Answer = TypeVar("Answer", bound=Wire)
Verb: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Form: TypeAlias = Mapping[str, str | tuple[str, bytes]]  # a pair is a file's name and content

CALL_TIMEOUT: Final = aiohttp.ClientTimeout(total=55, connect=10)  # files are waited for a minute
SECRETS_REFUSED: Final = frozenset({10003, 10012, 10014, 10015, 1000040344, 1000040345, 1000040346})
JSON: Final = {"Content-Type": "application/json; charset=utf-8"}
FRESH: Final = 0.9  # of its life, a token is used


class Ask(Protocol):
    """A call that waits for its token."""

    def __call__(self, *, token: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]: ...


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
        form: Form | None = None,
        scope: Scope = "account",
    ) -> Answer:
        """Call a method, and give the data of its answer.

        Args:
            path: Below `/open-apis`.
            form: Sent as multipart instead of `body`.
            scope: What shares the budget of the call, where its own rate is exceeded.

        Raises:
            ChannelError: Any of its kinds.
        """
        content = msgspec.json.encode(body) if body is not None else None
        ask = partial(self._open, verb, path, content=content, query=query, form=form)
        data = await self._ask(ask, path, scope)
        with feishu_errors(method_of(path)):
            given = msgspec.json.decode(data, type=Reply).data
            return msgspec.json.decode(b"{}" if bytes(given) == b"null" else given, type=answer)

    async def bot(self) -> Bot:
        """Who we are.

        Raises:
            ChannelError: Permanent where the app is not there, or is no bot.
        """
        path = "/bot/v3/info"
        data = await self._ask(partial(self._open, "GET", path), path, "account")
        with feishu_errors(method_of(path)):
            info = msgspec.json.decode(data, type=BotInfo)
        if info.bot is None or not info.bot.open_id:
            raise ChannelError("feishu: the app is no bot; add that under Features", permanent=True)
        return info.bot

    @asynccontextmanager
    async def fetch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a file; it is read inside, where the errors of HTTP are turned into ours too.

        Raises:
            ChannelError: Feishu refused it; or sent a page in its place (permanent).
        """
        token = await self.token()
        try:
            async with self._open("GET", path, token=token, query=query) as response:
                if response.status == 200 and response.content_type == "text/html":
                    raise ChannelError(f"feishu {method_of(path)}: a page in place of a file", permanent=True)
                if response.status != 200 or response.content_type == "application/json":
                    read_reply(await response.read(), response, path, "account")
                    raise ChannelError(f"feishu {method_of(path)}: no file in the answer", permanent=True)
                yield response
        except StaleToken:
            self._drop(token)
            raise

    async def socket_endpoint(self) -> Endpoint:
        """Where to open the socket. The SDK would ask for it itself, blocking and without a time limit."""
        path = "/callback/ws/endpoint"
        keys = {"AppID": self.app_id, "AppSecret": self._app_secret}
        data = await self._sign_in(path, keys)
        with feishu_errors(path):
            return msgspec.json.decode(msgspec.json.decode(data, type=Reply).data, type=Endpoint)

    async def token(self) -> str:
        """The access token; fetched once for all who wait for it, and well before it ends."""
        async with self._fetching:
            if time.monotonic() >= self._token_until:
                await self._fetch_token()
            return self._token

    async def _fetch_token(self) -> None:
        path, asked_at = "/open-apis/auth/v3/tenant_access_token/internal", time.monotonic()
        data = await self._sign_in(path, {"app_id": self.app_id, "app_secret": self._app_secret})
        with feishu_errors(path):
            found = msgspec.json.decode(data, type=Token)
        self._token, self._token_until = found.tenant_access_token, asked_at + found.expire * FRESH

    async def _sign_in(self, path: str, keys: Mapping[str, str]) -> bytes:
        """Call one of the two methods that take the app's secret instead of a token."""
        with feishu_errors(path):
            async with self._connections().post(self._domain + path, json=keys) as response:
                data = await response.read()
                return read_reply(data, response, path, "account")

    async def _ask(self, ask: Ask, path: str, scope: Scope) -> bytes:
        """Call with a token; once more where it turns out to be too old."""
        token = await self.token()
        try:
            return await self._read(ask, token, path, scope)
        except StaleToken:
            self._drop(token)
        return await self._read(ask, await self.token(), path, scope)

    async def _read(self, ask: Ask, token: str, path: str, scope: Scope) -> bytes:
        async with ask(token=token) as response:
            return read_reply(await response.read(), response, path, scope)

    def _drop(self, token: str) -> None:
        """Forget a token that was refused, unless another call has got a new one already."""
        if token == self._token:
            self._token_until = 0.0

    @asynccontextmanager
    async def _open(
        self,
        verb: Verb,
        path: str,
        *,
        token: str,
        content: bytes | None = None,
        query: Mapping[str, str] | None = None,
        form: Form | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Authorization": f"Bearer {token}", **(JSON if content is not None else {})}
        with feishu_errors(method_of(path)):
            async with self._connections().request(
                verb,
                f"{self._domain}/open-apis{path}",
                headers=headers,
                data=content if form is None else _multipart(form),
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


def read_reply(data: bytes, response: aiohttp.ClientResponse, path: str, scope: Scope) -> bytes:
    """Give an answer on whose code is 0.

    Raises:
        ChannelError: It is another, or there is none.
    """
    method = method_of(path)
    try:
        reply = msgspec.json.decode(data, type=Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise no_envelope(response.status, method=method, headers=response.headers) from None
    if reply.code in SECRETS_REFUSED:
        raise ChannelError(f"feishu: app id or secret is wrong: {reply.msg} ({reply.code})", permanent=True)
    if reply.code != 0:
        raise refusal(reply.code, reply.msg, method=method, headers=response.headers, scope=scope)
    return data


def method_of(path: str) -> str:
    """The name of a call: its path without what names a message, a card or a file."""
    return "/".join(part for part in path.strip("/").split("/") if not _is_id(part))


def _is_id(part: str) -> bool:
    return part.isdecimal() or (len(part) > 12 and any(letter.isdigit() for letter in part))


def _multipart(form: Form) -> aiohttp.FormData:
    data = aiohttp.FormData()
    for name, value in form.items():
        if isinstance(value, tuple):
            data.add_field(name, value[1], filename=value[0], content_type="application/octet-stream")
        else:
            data.add_field(name, value)
    return data
