"""Makes the scanner when it is first asked for: numpy costs 100 ms and 20 MB."""

from functools import lru_cache
from importlib import import_module
from typing import Protocol

from bot.settings.injection import InjectionSettings
from security.verdict import Verdict


class Scans(Protocol):
    """Looks at texts; `security/injection/scanner.py` fulfils it."""

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text."""


@lru_cache(maxsize=2)
def load_scanner(settings: InjectionSettings) -> Scans:
    """Load numpy, rules and weights, and make a scanner; what the setting `model` adds may need a second.

    All that ask with the same settings get the same one.

    Raises:
        ConfigError: The model that is set is not installed.
    """
    second = None
    if settings.model == "onnx":
        second = import_module("security.injection.onnx").OnnxClassifier.load()
    scanner: Scans = import_module("security.injection.scanner").Scanner(settings, second=second)
    return scanner
