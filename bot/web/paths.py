"""Which paths of the web server belong to whom."""

from typing import Final

PREFIX: Final = "/inbox"  # of the operator's pages


def is_page(path: str) -> bool:
    """Whether a path belongs to the operator's pages."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")
