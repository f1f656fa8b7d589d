"""The content policy of the pages, and what makes NiceGUI's HTML keep it.

Scripts come from this server or carry the answer's nonce. `unsafe-eval` is needed, on these paths only: Vue
compiles the templates of NiceGUI's components in the browser, and NiceGUI runs what the server sends by
`eval`. Texts of people never become a script or a template; see `rendering`.
"""

import re
from secrets import token_urlsafe
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPT: Final = re.compile(rb"<script(?=[\s>])")
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Nonced:
    """ASGI middleware: pages get a nonce in each script tag, and the policy that names it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve what is inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Rewriter(send))


class _Rewriter:
    """Holds a page back until it is whole; all else goes through."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type", "").startswith("text/html"):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
            return
        await self._send(message)

    async def _finish(self, start: Message) -> None:
        nonce = token_urlsafe(18)
        body = SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), bytes(self._body))
        headers = MutableHeaders(scope=start)
        headers["Content-Length"] = str(len(body))
        headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})
