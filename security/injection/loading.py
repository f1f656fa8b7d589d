"""Makes the scanner when it is first asked for: numpy costs 100 ms and 20 MB."""

import asyncio
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Final, Protocol, Self

from bot.settings.injection import InjectionSettings
from security.verdict import Verdict

AT_ONCE: Final = 2_000  # characters that take up to 1 ms


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
        at_once: Characters of a text that is looked at on the spot; longer ones are in a thread.
    """

    def __init__(self, load: Callable[[], Scans], *, at_once: int = AT_ONCE) -> None:
        self.at_once = at_once
        self._load = load
        self._scanner: Scans | None = None
        self._loading = threading.Lock()

    @classmethod
    def of(cls, settings: InjectionSettings) -> Self:
        """That of the settings; a larger model takes too long for the event loop, however short the text."""
        return cls(lambda: load_scanner(settings), at_once=AT_ONCE if settings.model == "small" else 0)

    async def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text; the event loop is not held up by loading nor by long texts.

        Raises:
            ConfigError: The model that is set is not installed.
        """
        if self._scanner is not None and len(text) <= self.at_once:
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
