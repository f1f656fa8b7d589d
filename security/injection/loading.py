"""Makes the scanner when it is first asked for: numpy costs 100 ms and 20 MB."""

from importlib import import_module
from typing import Protocol

from bot.settings.injection import InjectionSettings
from security.verdict import Verdict


class Scans(Protocol):
    """Looks at texts; `security/injection/scanner.py` fulfils it."""

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        """Look at a text."""


def load_scanner(settings: InjectionSettings) -> Scans:
    """Load numpy, rules and weights, and make a scanner."""
    scanner: Scans = import_module("security.injection.scanner").Scanner(settings)
    return scanner
