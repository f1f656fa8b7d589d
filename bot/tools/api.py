"""`api_request`: calls the APIs that the operator has named; the model never sees their credentials."""

import asyncio
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, Protocol, TypeAlias
from unicodedata import normalize
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

import msgspec
from pydantic import JsonValue

from bot.settings.network import READING, ApiSettings
from bot.tools.base import Arguments, Place, Tool, ToolContext, ToolFault, ToolOutput
from bot.tools.concealing import Concealer
from bot.tools.declare import declare
from bot.tools.reading import decode, looks_like_text
from bot.tools.web import Page, one_line, status_line, visible

MAX_BYTES: Final = 1_000_000
MAX_BODY: Final = 200_000  # bytes of what is sent
MAX_PATH: Final = 2_000  # characters
MAX_REDIRECTS: Final = 5
CALL_SECONDS: Final = 20.0
WINDOW: Final = 20_000  # characters of an answer that the model gets
LOOKED: Final = 80_000  # characters of an answer in which secrets are looked for, before it is cut

# Headers without secrets: what they say may stand in every answer.
PUBLIC_HEADERS: Final = re.compile(r"accept(-.*)?|content-type|user-agent|.*-version", re.IGNORECASE)
SAFE_IN_PATH: Final = "/:@!$&'()*+,;=~-._"

Method: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Query: TypeAlias = dict[str, str | int | float | bool]
Body: TypeAlias = dict[str, JsonValue] | list[JsonValue]


class Caller(Protocol):
    """Makes one request; follows no redirect."""

    async def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        max_bytes: int,
        seconds: float,
    ) -> Page:
        """Ask, and take at most `max_bytes` of the answer.

        Raises:
            ToolFault: The host may not be reached, or did not answer as it should; the text names
                no more than the host.
        """


class ApiTools:
    """The tool, over the APIs that have a name.

    Args:
        caller: Must let through the hosts of all `base_url`.
    """

    def __init__(self, apis: Mapping[str, ApiSettings], caller: Caller) -> None:
        self._apis = {name: _Api(settings, caller) for name, settings in apis.items()}

    def tools(self) -> tuple[Tool, ...]:
        """What is registered: nothing, where there is no API."""
        if not self._apis:
            return ()
        is_reading = all(api.is_reading for api in self._apis.values())
        about = "\n".join(f"- {name}: {api.about}" for name, api in self._apis.items())
        return (
            declare(
                self.request,
                name="api_request",
                description=f"Call an HTTP API; credentials are added for you. APIs:\n{about}",
                group="api",
                risk="network" if is_reading else "write",
                effects=("reads_private", "reads_untrusted", "acts"),
                acts_if=_changes,
                source="tool",
                place=Place(kind="name", argument="api"),
                timeout=CALL_SECONDS + 10,
                is_idempotent=is_reading,
            ),
        )

    async def request(
        self,
        api: str,
        path: str,
        method: Method = "GET",
        query: Query | None = None,
        body: Body | None = None,
    ) -> ToolOutput:
        """Call an HTTP API.

        Args:
            api: Its name.
            path: Begins with /; without the query.
            body: Sent as JSON.
        """
        if (chosen := self._apis.get(api)) is None:
            raise ToolFault(f"There is no API {api[:100]!r}, only {', '.join(sorted(self._apis))}.")
        return ToolOutput(text=await chosen.request(method, path, query or {}, body))


class _Api:
    """One API, with what it takes to be let in."""

    def __init__(self, settings: ApiSettings, caller: Caller) -> None:
        self._settings = settings
        self._caller = caller
        self._headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        self._query = {name: value.get_secret_value() for name, value in settings.query.items()}
        hidden = [value for name, value in self._headers.items() if not PUBLIC_HEADERS.fullmatch(name)]
        self._concealer = Concealer([*hidden, *self._query.values()])

    @property
    def is_reading(self) -> bool:
        """Nothing is changed by calling it."""
        return READING.issuperset(self._settings.methods)

    @property
    def about(self) -> str:
        """What the model has to know."""
        allowed = f"{' '.join(self._settings.methods)} {' '.join(self._settings.paths)}"
        return f"{self._settings.description} ({allowed})".strip()

    async def request(self, method: str, path: str, query: Query, body: Body | None) -> str:
        """Ask, and tell what came, without the secrets."""
        if method not in self._settings.methods:
            raise ToolFault(f"{method} is not allowed here, only {', '.join(self._settings.methods)}.")
        try:
            async with asyncio.timeout(CALL_SECONDS):
                page = await self._send(method, self._check(path), _words(query), body)
        except TimeoutError as error:
            raise ToolFault(_doubtful(method, f"No answer came within {CALL_SECONDS:g} s.")) from error
        return await asyncio.to_thread(self._tell, page)

    def _check(self, path: str) -> str:
        """The path as it will be asked for; only such a one is held against what is allowed."""
        path = normal_path(path)
        if not any(fnmatchcase(path, allowed) for allowed in self._settings.paths):
            raise ToolFault(f"The path {path!r} is not allowed here, only {', '.join(self._settings.paths)}.")
        return path

    async def _send(self, method: str, path: str, query: dict[str, str], body: Body | None) -> Page:
        data = None if body is None else msgspec.json.encode(body)
        if data is not None and len(data) > MAX_BODY:
            raise ToolFault(
                f"The body has {len(data):,} bytes, and at most {MAX_BODY:,} are sent: send less."
            )
        if taken := self._query.keys() & query.keys():
            raise ToolFault(f"Leave {', '.join(sorted(taken))} out of the query: it is added for you.")
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if data else {})
        for _ in range(MAX_REDIRECTS + 1):
            url = self._url(path, query)
            page = await self._call(method, url, _merged(headers, self._headers), data)
            if page.location is None:
                return page
            path, query = self._follow(method, url, page.location)
        raise ToolFault(f"The API redirects more than {MAX_REDIRECTS} times.")

    async def _call(self, method: str, url: str, headers: dict[str, str], data: bytes | None) -> Page:
        try:
            return await self._caller.call(
                method, url, headers=headers, body=data, max_bytes=MAX_BYTES, seconds=CALL_SECONDS
            )
        except ToolFault as error:
            raise ToolFault(self._concealer.conceal(_doubtful(method, str(error)))) from None

    def _url(self, path: str, query: dict[str, str]) -> str:
        together = urlencode({**query, **self._query})
        return f"{self._settings.base_url}{quote(path, safe=SAFE_IN_PATH)}{'?' if together else ''}{together}"

    def _follow(self, method: str, here: str, location: str) -> tuple[str, dict[str, str]]:
        """Where a redirect leads, if that is somewhere that could have been asked for in the first place."""
        try:
            target = urlsplit(urljoin(here, location))
        except ValueError as error:
            raise ToolFault("The API redirects to something that is no URL.") from error
        base = urlsplit(self._settings.base_url)
        beyond = base.path + "/"
        if method not in READING or target[:2] != base[:2] or not target.path.startswith(beyond):
            where = one_line(self._concealer.conceal(location))
            raise ToolFault(f"The API redirects to {where}, which is not followed: ask for another path.")
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        path = self._check(target.path[len(base.path) :])
        return path, {name: value for name, value in query.items() if name not in self._query}

    def _tell(self, page: Page) -> str:
        """The answer, as much as the model gets of it."""
        if not page.body:
            text = "(no body)"
        elif looks_like_text(page.mime, page.body):
            text = self._clean(decode(page.body, page.charset), is_cut=page.is_cut)
        else:
            text = f"Not text: {one_line(page.mime)}, {len(page.body):,} bytes."
        told = visible(self._concealer.conceal(f"{one_line(page.mime)}\n\n{text[:WINDOW]}".strip()))
        if page.is_cut or len(text) > WINDOW:
            told += f"\nOnly the first {min(WINDOW, len(text))} characters are shown: ask for less at a time."
        return f"HTTP {status_line(page.status)}\n{told}"

    def _clean(self, text: str, *, is_cut: bool) -> str:
        """The beginning of a text without secrets; what may be half of one, at the end, is left out."""
        clean = self._concealer.conceal(text[:LOOKED])
        return clean[: -self._concealer.longest or None] if is_cut or len(text) > LOOKED else clean


def normal_path(path: str) -> str:
    """A path without escapes, which every server understands in the same way.

    Raises:
        ToolFault: It could be understood in another way by some.
    """
    if len(path) > MAX_PATH or not path.startswith("/") or "?" in path or "#" in path:
        raise ToolFault(f"A path begins with /, has at most {MAX_PATH} characters, and no query: use query.")
    try:
        plain = unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise ToolFault("The escapes in the path are not UTF-8.") from error
    flat = normalize("NFKC", plain)  # some servers take full-width dots and slashes for what they look like
    segments = [segment.partition(";")[0].strip() for segment in flat.split("/")]
    is_odd = (
        flat.count("/") != path.count("/")  # an escaped slash
        or re.search(r"%[0-9a-fA-F]{2}|[\\?#]|//", flat) is not None
        or not plain.isprintable()
        or not {".", ".."}.isdisjoint(segments)
    )
    if is_odd:
        raise ToolFault("The path must not have .., //, backslashes, or escapes of / ? # and % in it.")
    return plain


def _changes(arguments: Arguments, context: ToolContext) -> bool:
    """Whether a request may change something where it goes, or brings something there."""
    return arguments.get("method", "GET") not in READING or arguments.get("body") is not None


def _words(query: Query) -> dict[str, str]:
    """The query as it is written out; JSON's words for true and false."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()
    }


def _merged(ours: dict[str, str], theirs: dict[str, str]) -> dict[str, str]:
    """Headers, of which the operator's own come first, however their names are written."""
    named = {name.lower() for name in theirs}
    return {name: value for name, value in ours.items() if name.lower() not in named} | theirs


def _doubtful(method: str, fault: str) -> str:
    if method in READING:
        return fault
    return f"{fault} It may have taken effect all the same: find out before you ask again."
