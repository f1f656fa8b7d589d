"""The guard of the event loop: names what blocked it."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType, TracebackType
from typing import Self

log = logging.getLogger(__name__)

MAX_LAG = 0.25  # seconds that the event loop may stand still before it is told
BEAT = 0.1  # seconds between two signs of life


class LagGuard:
    """Watches the event loop from a thread, and logs the stack of whatever holds it up."""

    def __init__(self, *, max_lag: float = MAX_LAG) -> None:
        self._max_lag = max_lag
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._beat_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lag guard", daemon=True)

    def __enter__(self) -> Self:
        self._beat()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._timer is not None:
            self._timer.cancel()
        self._thread.join()

    def _beat(self) -> None:
        self._beat_at = time.monotonic()
        self._timer = self._loop.call_later(BEAT, self._beat)

    def _watch(self) -> None:
        """Runs in the thread; tells once a blockage, as soon as it is longer than allowed."""
        told = 0.0
        wait = BEAT
        while not self._stop.wait(wait):
            beat = self._beat_at
            lag = time.monotonic() - beat - BEAT
            left = self._max_lag - lag
            wait = left if left > 0 else BEAT  # look again just when it is too long, or at the next beat
            if lag >= self._max_lag and beat != told:
                told = beat
                frame = sys._current_frames().get(self._thread_id)
                log.warning("event loop blocked", extra={"seconds": round(lag, 3), "stack": _stack(frame)})


def _stack(frame: FrameType | None) -> str:
    """Where the loop's thread is, innermost line last."""
    return "".join(traceback.format_stack(frame, limit=12)) if frame is not None else ""
