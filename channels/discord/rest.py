"""Discord's REST API: the SDK's client, at an address of its own, with one try a call."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import discord
from discord.http import HTTPClient, Route
from discord.http import json_or_text as read_answer
from discord.utils import MISSING

from channels.discord.errors import GONE, discord_errors
from channels.discord.limits import Limits

PATIENCE: Final = aiohttp.ClientTimeout(total=120, connect=10, sock_read=25)


class Rest(HTTPClient):
    """Calls Discord once, and says what came of it.

    The SDK's `request` sleeps on rate limits and tries failed calls again, for half a minute; here delivery
    does both, for all platforms. The address is the SDK's class attribute `Route.BASE`, the same for all
    clients of a process; here it is swapped call by call.
    """

    def __init__(self, base_url: str, token: str) -> None:
        super().__init__(MISSING)  # it has no use for the loop
        self.token = token
        self.base_url = base_url.rstrip("/")
        self._limits = Limits()
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections, made at the first call."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=PATIENCE, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def call(self, what: str, route: Route, **options: Any) -> Any:  # `Any`: as `request` has it
        """Call Discord; gives the JSON of its answer.

        Args:
            what: Names the call in errors.
            options: `json`, `params` or `form`, see `request`.

        Raises:
            ChannelError: Any of its kinds.
        """
        with discord_errors(what):
            return await self.request(route, **options)

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[discord.File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **kwargs: Any,  # `Any`: the SDK's signature
    ) -> Any:
        """Make one HTTP request; the SDK's own methods all come through here."""
        self._limits.check(route)
        headers = {"User-Agent": self.user_agent, "Authorization": f"Bot {self.token}"}
        if (reason := kwargs.pop("reason", None)) is not None:
            headers["X-Audit-Log-Reason"] = quote(reason, safe="/ ")
        if "json" in kwargs:
            headers["Content-Type"] = "application/json"
            kwargs["data"] = json.dumps(kwargs.pop("json"), separators=(",", ":"))
        if form is not None:
            kwargs["data"] = _form(form)
        url = self.base_url + route.url.removeprefix(Route.BASE)
        async with self.session.request(route.method, url, headers=headers, **kwargs) as response:
            answer = await read_answer(response)
            return self._judge(route, response, answer)

    def _judge(self, route: Route, response: aiohttp.ClientResponse, answer: object) -> object:
        if response.status == 429 and _code(answer) not in GONE:
            raise self._limits.refused(route, response.headers, answer)
        self._limits.note(route, response.headers)
        if 200 <= response.status < 300:
            return answer
        kinds: dict[int, type[discord.HTTPException]] = {403: discord.Forbidden, 404: discord.NotFound}
        usual = discord.DiscordServerError if response.status >= 500 else discord.HTTPException
        raise kinds.get(response.status, usual)(response, answer)  # type: ignore[arg-type]  # text or a dict

    async def close(self) -> None:
        """Close the connections of calls and of the gateway."""
        await super().close()
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # lets the transports say that they are closed


def _code(answer: object) -> object:
    return answer.get("code") if isinstance(answer, dict) else None


def _form(fields: Iterable[dict[str, Any]]) -> aiohttp.FormData:
    form = aiohttp.FormData(quote_fields=False)  # Discord wants `files[0]`, not `files%5B0%5D`
    for one in fields:
        form.add_field(**one)
    return form
