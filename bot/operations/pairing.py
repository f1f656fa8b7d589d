"""`pair` and `pair list`: let people in from the terminal, with the bot running or not."""

import asyncio
from urllib.parse import quote, urlencode

import msgspec

from bot.app import let_in, read_holder, waiting
from bot.commands.pairing import ROLES, LetIn, Request, describe, describe_all
from bot.errors import BotError, ConfigError
from bot.messages import Role
from bot.operations.ask import ask
from bot.operations.terminal import say
from bot.settings import Settings, load_settings

ELSEWHERE = "the bot runs without its page, so it can't be told from here: give /pair {code} to it"


def pair_list() -> int:
    """`pair list`: who waits to be let in."""
    settings = load_settings()
    url = _running_at(settings, "list")
    if url is not None:
        requests = msgspec.json.decode(ask(settings, url, "/api/pairings"), type=list[Request])
    else:
        requests = list(asyncio.run(waiting(settings)))
    say(describe_all(requests).replace("`", ""))
    return 0


def pair(code: str, role: str | None) -> int:
    """`pair <code>`: let somebody in; the first that comes in so is the owner."""
    if role is not None and role not in ROLES:
        raise ConfigError(f"--role {role!r}: a role is one of {', '.join(ROLES)}")
    settings = load_settings()
    url = _running_at(settings, code)
    if url is not None:
        query = f"?{urlencode({'role': role})}" if role is not None else ""
        done = msgspec.json.decode(
            ask(settings, url, f"/api/pairings/{quote(code, safe='')}{query}", method="POST"), type=LetIn
        )
    else:
        done = asyncio.run(let_in(settings, code, Role(role) if role is not None else None))
    say(describe(done).replace("`", ""))
    return 0


def _running_at(settings: Settings, code: str) -> str | None:
    """Where the running bot listens; `None` where none runs."""
    holder = read_holder(settings.data_dir)
    if holder is None:
        return None
    if holder.url is None:
        raise BotError(ELSEWHERE.format(code=code))
    return holder.url
