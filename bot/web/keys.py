"""API keys as a request shows them."""

from typing import Final

from starlette.requests import HTTPConnection

PREFIX: Final = "swb_"  # so that people and scanners of secrets know one when they see it
PATHS: Final = ("/api/", "/v1/", "/ws/", "/metrics")


def is_api(path: str) -> bool:
    """Whether a path belongs to the API."""
    return path.startswith(PATHS)


def key_of(request: HTTPConnection) -> str | None:
    """The API key that a request shows; `None` where it shows none, or something else."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token.startswith(PREFIX) else None


def brings_key(request: HTTPConnection) -> bool:
    """Whether the API itself looks at who asks: it knows the keys, and the guard does not."""
    return is_api(request.url.path) and key_of(request) is not None
