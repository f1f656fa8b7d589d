"""What was heard, taken chat by chat: in one chat in the order it came, in different ones at once."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from bot.errors import ChannelError, StoreError
from bot.messages import Address

log = logging.getLogger(__name__)

MOST: Final = 1_000  # that may wait in one chat
PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # seconds between tries to make a message durable

Job: TypeAlias = Callable[[], Awaitable[None]]


class Lanes:
    """Runs jobs in a group that outlives it.

    Discord tells of a message once. One that can't be kept holds up those behind it, and if that does not
    help, ends the run: the next one asks Discord for what it has not taken.
    """

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._jobs: dict[Address, deque[Job]] = {}

    def put(self, address: Address, job: Job) -> None:
        """Run a job when those of its chat that came before are done.

        Raises:
            ChannelError: Too many are waiting.
        """
        jobs = self._jobs.get(address)
        if jobs is None:
            self._jobs[address] = deque([job])
            self._group.create_task(self._drain(address), name=f"discord chat {address.chat}")
        elif len(jobs) >= MOST:
            raise ChannelError(f"discord: more than {MOST} messages of one chat are waiting")
        else:
            jobs.append(job)

    async def _drain(self, address: Address) -> None:
        jobs = self._jobs[address]
        while jobs:
            await kept(jobs.popleft())
        del self._jobs[address]


async def kept(job: Job) -> None:
    """Run a job until what it writes is durable.

    Raises:
        ChannelError: It does not become so.
    """
    for pause in PAUSES:
        try:
            return await job()
        except StoreError as error:
            log.warning("message not kept, trying again", extra={"channel": "discord", "cause": str(error)})
        await asyncio.sleep(pause)
    try:
        return await job()
    except StoreError as error:
        raise ChannelError(f"discord: a message can't be kept ({error})") from error
