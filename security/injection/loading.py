"""Makes the scanner when it is first asked for: numpy costs 100 ms and 20 MB."""

import asyncio
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Final, Protocol

from bot.settings.injection import InjectionSettings
from security.verdict import Verdict

AT_ONCE: Final = 2_000  # characters that are looked at on the spot, in up to 1 ms; longer ones in a thread


class Scans(Protocol):
    """Looks at texts; `security/injection/scanner.py` fulfils it."""

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text."""


def load_scanner(settings: InjectionSettings) -> Scans:
    """Load numpy, rules and weights, and make a scanner; what the setting `model` adds may need a second.

    Raises:
        ConfigError: The model that is set is not installed.
    """
    second = None
    if settings.model == "onnx":
        second = import_module("security.injection.onnx").OnnxClassifier.load()
    scanner: Scans = import_module("security.injection.scanner").Scanner(settings, second=second)
    return scanner


class LazyScanner:
    """The one scanner of a bot, shared by all who look at texts; made when the first text comes.

    Args:
        load: Makes it; called in a thread, and again only if it has failed.
    """

    def __init__(self, load: Callable[[], Scans]) -> None:
        self._load = load
        self._scanner: Scans | None = None
        self._loading = threading.Lock()

    async def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text; the event loop is not held up by loading nor by long texts.

        Raises:
            ConfigError: The model that is set is not installed.
        """
        if self._scanner is not None and len(text) <= AT_ONCE:
            return self._scanner.scan(text, are_quotes_lenient=are_quotes_lenient)
        return await asyncio.to_thread(self.scan_here, text, are_quotes_lenient=are_quotes_lenient)

    def scan_here(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """The same for threads: it blocks."""
        return self._loaded().scan(text, are_quotes_lenient=are_quotes_lenient)

    def _loaded(self) -> Scans:
        with self._loading:
            if self._scanner is None:
                self._scanner = self._load()
            return self._scanner
