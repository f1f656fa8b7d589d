"""Discord's errors, as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp
import discord

from bot.errors import ChannelError, MessageGone, OutcomeUnknown, RateLimited

# Source: Discord API reference, "JSON error codes" and "Gateway close event codes".
GONE: Final = frozenset(
    {
        10008,  # unknown message
        30046,  # an old message was edited too often
        50005,  # the message is of another author
        50021,  # a system message
    }
)
ANSWERED_ALREADY: Final = 40060
CLOSED_FOR_GOOD: Final = {
    4004: "Discord does not take the token: set BOT_DISCORD__TOKEN to the one in the developer portal",
    4010: "Discord refuses the shard",
    4011: "the bot is in too many servers for one connection: Discord asks for sharding",
    4012: "Discord does not speak this version of the gateway any more",
    4013: "Discord refuses the intents",
    4014: (
        "Discord refuses the intent Message Content: switch it on in the developer portal, "
        "Bot, Privileged Gateway Intents"
    ),
}


class Refused(ChannelError):
    """Discord said no, for a reason that some callers take for an answer.

    Attributes:
        code: Discord's number for it; 0 where it gave none.
    """

    def __init__(self, message: str, *, code: int, permanent: bool = False) -> None:
        super().__init__(message, permanent=permanent)
        self.code = code


@contextmanager
def discord_errors(what: str) -> Iterator[None]:
    """Turn the errors of the SDK and its HTTP client into ours; every call to Discord stands inside this.

    Args:
        what: Names what is done, for the message.
    """
    try:
        yield
    except discord.DiscordException as error:
        raise translate(error, what) from error
    except aiohttp.ConnectionTimeoutError:  # names the address, and some hold a token: not for a traceback
        raise ChannelError(f"discord {what}: can't be reached (ConnectionTimeoutError)") from None
    except aiohttp.ClientConnectorError as error:
        raise ChannelError(f"discord {what}: can't be reached ({type(error).__name__})") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise OutcomeUnknown(f"discord {what}: no answer ({type(error).__name__})") from error
    except ValueError as error:
        raise OutcomeUnknown(f"discord {what}: an answer that makes no sense") from error


def translate(error: discord.DiscordException, what: str) -> ChannelError:
    """Name what an error of the SDK means."""
    match error:
        case discord.HTTPException():
            return refusal(error.status, error.code, f"discord {what}: status {error.status} ({error.code})")
        case discord.RateLimited():
            return RateLimited(f"discord {what}: asked too often", retry_after=error.retry_after)
        case discord.LoginFailure():
            return ChannelError(CLOSED_FOR_GOOD[4004], permanent=True)
        case discord.PrivilegedIntentsRequired():
            return ChannelError(CLOSED_FOR_GOOD[4014], permanent=True)
        case discord.ConnectionClosed(code=code):
            told = CLOSED_FOR_GOOD.get(code, f"discord {what}: the gateway closed with {code}")
            return ChannelError(told, permanent=code in CLOSED_FOR_GOOD)
        case discord.InvalidData() | discord.GatewayNotFound():
            return ChannelError(f"discord {what}: {type(error).__name__}")
        case _:  # the SDK found the call wrong, and sent nothing
            return ChannelError(f"discord {what}: {type(error).__name__}", permanent=True)


def refusal(status: int, code: int, message: str) -> ChannelError:
    """Sort Discord's ways to say "no" by what can be done about them."""
    if code in GONE:
        return MessageGone(message)
    if status == 503:
        return ChannelError(message)
    if status >= 500:  # of a proxy in front of it: what stands behind may have obeyed
        return OutcomeUnknown(message)
    return Refused(message, code=code, permanent=status not in (408, 425))
