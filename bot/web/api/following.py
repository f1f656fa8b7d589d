"""Following a run to its end, whatever is missed on the way."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from bot.web.api.base import Parts, RunState
from bot.web.api.feed import Entry

QUIET_SECONDS: Final = 15.0  # without an event; proxies hang up where nothing comes for long
SOON_SECONDS: Final = 1.0  # in which the last word of a run comes that is saved already


async def follow_run(parts: Parts, state: RunState) -> AsyncGenerator[Entry | RunState | None]:
    """What is kept of a run, and what comes, up to its `End`; `None` where nothing has come for a while.

    A run whose end was missed, or is not kept any more, ends with its state.
    """
    with parts.feed.watch(state.run) as watch:
        if state.is_over and watch.is_empty:
            yield state
            return
        seconds = SOON_SECONDS if state.is_over else QUIET_SECONDS
        while True:
            try:
                async with asyncio.timeout(seconds):
                    entry = await anext(watch)
            except TimeoutError:
                known = await parts.runs.find(state.run)
                if known is not None and known.is_over:
                    yield known
                    return
                yield None
            except StopAsyncIteration:
                return
            else:
                yield entry
