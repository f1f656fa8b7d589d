"""Instructions in texts that have no right to give them; `load_scanner` loads numpy, this does not."""

from security.injection.loading import LazyScanner, Scans, load_scanner
from security.injection.wrapping import make_mark, wrap_untrusted

__all__ = ["LazyScanner", "Scans", "load_scanner", "make_mark", "wrap_untrusted"]
