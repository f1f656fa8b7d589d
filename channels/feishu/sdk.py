"""Loads the socket client of Feishu's SDK, and nothing else of it.

`import lark_oapi` reads more than 11,000 modules: up to five seconds and 170 MB, for types of thousands of
API calls of which we use fifteen, and make ourselves. Its socket client alone takes a third of a second. The
packages on the way to it that read everything else stand aside as empty modules while it is imported.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Final, Protocol

from bot.errors import ConfigError
from channels.feishu.wire import Endpoint

CLIENT: Final = "channels.feishu.sdk_client"
HANDLER: Final = "lark_oapi.event.dispatcher_handler"
_loading = Lock()  # two accounts may start at once, each in a thread


class Connection(Protocol):
    """One connection of the client (`sdk_client.SocketClient`)."""

    async def serve(self, *, stop: asyncio.Event, connect_seconds: float) -> str: ...


class Connect(Protocol):
    """Makes a connection; in the thread that it is to run in."""

    def __call__(
        self,
        endpoint: Endpoint,
        *,
        app_id: str,
        handle: Callable[[bytes], object],
        heard: Callable[[], None],
    ) -> Connection: ...


def load() -> Connect:
    """Import the client; for a thread: it takes a while, and needs a thread without an event loop.

    Raises:
        ConfigError: The SDK is not installed.
    """
    with _loading:
        if CLIENT not in sys.modules:
            with _stand_ins(), _own_loop():
                import_module(CLIENT)
    client: Connect = sys.modules[CLIENT].SocketClient
    return client


@contextmanager
def _stand_ins() -> Iterator[None]:
    """Keep the packages above the client empty while it is imported; later they are what they are."""
    if "lark_oapi" in sys.modules:
        yield
        return
    spec = find_spec("lark_oapi")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("channel 'feishu' needs lark-oapi: pip install 'switchboard-bot[feishu]'")
    root = Path(next(iter(spec.submodule_search_locations)))
    names = {"lark_oapi": root, "lark_oapi.event": root / "event"}
    for name, path in names.items():
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    handler = ModuleType(HANDLER)
    handler.__dict__["EventDispatcherHandler"] = object  # the client only names it in an annotation
    sys.modules[HANDLER] = handler
    try:
        yield
    finally:
        for name in (*names, HANDLER):
            del sys.modules[name]


@contextmanager
def _own_loop() -> Iterator[None]:
    """Give the module the event loop that it takes at its import, and close it: nothing runs there."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()
