"""Asking the bot that runs, over its operator routes."""

import json
import urllib.error
import urllib.request

from bot.errors import BotError
from bot.settings import Settings

ASK_SECONDS = 10.0


def ask(settings: Settings, url: str, path: str, *, method: str = "GET") -> bytes:
    """Ask the running bot.

    Raises:
        BotError: It does not answer, or refuses; the text says why.
    """
    request = urllib.request.Request(url + path, method=method)
    if settings.web.token is not None:
        request.add_header("Authorization", f"Bearer {settings.web.token.get_secret_value()}")
    try:
        with urllib.request.urlopen(request, timeout=ASK_SECONDS) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        with error:
            raise BotError(_reason(error.read()) or f"the bot answered {error.code}") from error
    except OSError as error:
        raise BotError(f"the bot at {url} can't be reached: {error}") from error


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace")[:200]
