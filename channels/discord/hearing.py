"""From an event to the intake: whose it is, where it was said, and taken in the order it came."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import discord

from bot.errors import ChannelError, RateLimited
from bot.messages import Address, Role
from channels.base import Intake
from channels.discord.errors import discord_errors
from channels.discord.gateway import Gateway
from channels.discord.interactions import Interactions
from channels.discord.lanes import Lanes
from channels.discord.parse import (
    Heard,
    Identity,
    address_of,
    channel_id,
    parse_deletion,
    parse_edit,
    parse_message,
    role_of,
)
from channels.discord.positions import Positions

log = logging.getLogger(__name__)

MOST_MISSED: Final = 500  # messages of a chat that are asked for after we were away
MOST_CHATS: Final = 200  # that are asked, the busiest lately
AT_ONCE: Final = 4  # chats that are asked for what was missed
READY_SECONDS: Final = 60.0
TRIES: Final = 5


class Hearing:
    """Takes the events of one run of the gateway.

    Args:
        group: Outlives it, and runs what it starts.
    """

    def __init__(
        self,
        intake: Intake,
        positions: Positions,
        interactions: Interactions,
        *,
        account: str,
        group: asyncio.TaskGroup,
    ) -> None:
        self._intake = intake
        self._positions = positions
        self._interactions = interactions
        self._account = account
        self._group = group
        self._lanes = Lanes(group)
        self._asking = asyncio.Semaphore(AT_ONCE)

    def hear(self, gateway: Gateway, event: object) -> None:
        """Take an event; what nobody needs to know is dropped."""
        me = self._me(gateway)
        match event:
            case discord.Message():
                self._hear_message(event, me)
            case discord.RawMessageUpdateEvent():
                address = address_of(event.message.channel, me)
                self._put(address, parse_edit(event, address, me))
            case discord.RawMessageDeleteEvent():
                self._hear_deletion(gateway, event, me)
            case discord.RawBulkMessageDeleteEvent():
                address = self._address(gateway, event.channel_id, event.guild_id, me)
                for message in sorted(event.message_ids):
                    self._put(address, parse_deletion(message, "", address))
            case discord.Interaction():
                channel = gateway.get_channel(event.channel_id or 0) or event.channel
                in_guild = event.guild_id is not None
                address = address_of(channel, me, channel_id=event.channel_id, in_guild=in_guild)
                self._group.create_task(self._interactions.serve(event, address), name="interaction")

    def catch_up(self, gateway: Gateway) -> None:
        """Ask for what was said in the known chats without a session; it comes before what is new."""
        me = self._me(gateway)
        for address, seen in self._positions.items()[:MOST_CHATS]:
            self._lanes.put(address, partial(self._ask, gateway, address, seen, me))

    def _me(self, gateway: Gateway) -> Identity:
        return Identity(name=self._account, user=gateway.user.id if gateway.user is not None else 0)

    def _hear_message(self, message: discord.Message, me: Identity) -> None:
        address = address_of(message.channel, me)
        heard = parse_message(message, address, me)
        if heard is not None:
            self._lanes.put(address, partial(self._take, message.id, heard))

    def _hear_deletion(self, gateway: Gateway, event: discord.RawMessageDeleteEvent, me: Identity) -> None:
        author = event.cached_message.author.id if event.cached_message is not None else None
        if author != me.user:
            address = self._address(gateway, event.channel_id, event.guild_id, me)
            said_by = "" if author is None else str(author)
            self._put(address, parse_deletion(event.message_id, said_by, address))

    def _address(self, gateway: Gateway, channel: int, guild: int | None, me: Identity) -> Address:
        found = gateway.get_channel(channel)
        return address_of(found, me, channel_id=channel, in_guild=guild is not None)

    def _put(self, address: Address, heard: Heard | None) -> None:
        if heard is not None:
            self._lanes.put(address, partial(self._hand_over, heard))

    async def _take(self, message: int, heard: Heard) -> None:
        address = heard.message.address
        await self._positions.expect(address, message)
        await self._hand_over(heard)
        await self._positions.note(address, message)

    async def _hand_over(self, heard: Heard) -> None:
        await self._intake.take(heard.message, is_addressed=heard.is_addressed)

    # --- what was missed

    async def _ask(self, gateway: Gateway, address: Address, seen: int, me: Identity) -> None:
        """Take what was said in a chat after a message; a chat that is closed to us now is let be."""
        async with asyncio.timeout(READY_SECONDS):
            await gateway.wait_until_ready()
        for _ in range(TRIES):
            seen = max(seen, self._positions.seen(address))
            try:
                async with self._asking:
                    async for message in _missed(gateway, address, seen):
                        await self._take_missed(gateway, message, address, me)
                return
            except RateLimited as error:
                await asyncio.sleep(error.retry_after or 1.0)
            except ChannelError as error:
                if error.permanent:
                    log.info("chat not readable", extra={"channel": "discord", "cause": str(error)})
                    return
                await asyncio.sleep(1.0)
        raise ChannelError("discord: what was said meanwhile can't be read")

    async def _take_missed(
        self, gateway: Gateway, message: discord.Message, address: Address, me: Identity
    ) -> None:
        heard = parse_message(message, address, me, role=await _role(gateway, message, address))
        if heard is not None:
            await self._take(message.id, heard)


async def _missed(gateway: Gateway, address: Address, seen: int) -> AsyncIterator[discord.Message]:
    place = channel_id(address)
    known = gateway.get_channel(place)
    channel = known if isinstance(known, discord.abc.Messageable) else gateway.get_partial_messageable(place)
    if getattr(known, "last_message_id", None) == seen:
        return
    messages = channel.history(limit=MOST_MISSED, after=discord.Object(seen), oldest_first=True)
    for _ in range(MOST_MISSED):
        with discord_errors("history"):
            message = await anext(messages, None)
        if message is None:
            return
        yield message
    log.warning("too much was said while away", extra={"channel": "discord", "taken": MOST_MISSED})


async def _role(gateway: Gateway, message: discord.Message, address: Address) -> Role:
    """What an author may do; a history, unlike an event, does not tell of their roles."""
    channel = gateway.get_channel(channel_id(address))
    guild = getattr(channel, "guild", None)
    if not isinstance(guild, discord.Guild) or message.webhook_id is not None:
        return Role.MEMBER
    try:
        with discord_errors("member"):
            return role_of(guild.get_member(message.author.id) or await guild.fetch_member(message.author.id))
    except ChannelError as error:
        log.debug("member not found", extra={"channel": "discord", "cause": str(error)})
        return Role.MEMBER
