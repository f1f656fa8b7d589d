"""The heartbeat: the bot looks by itself, every so often, at what its operator asked it to keep an eye on."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from bot.agent.silence import ALL_WELL
from bot.bus import Receipt
from bot.messages import (
    Address,
    Frozen,
    InboundMessage,
    MessageId,
    Sender,
    Trigger,
    new_id,
)
from bot.scheduler.clock import Clock, WallClock
from bot.scheduler.hours import ActiveHours
from bot.scheduler.scheduler import Publish
from bot.scheduler.timing import say_moment
from bot.settings.scheduler import HeartbeatSettings

log = logging.getLogger(__name__)

FILE: Final = "HEARTBEAT.md"
MAX_FILE: Final = 4_000  # characters, as of any file of the workspace
RETRY: Final = 60.0  # seconds until a beat that came at a bad time is tried again
PUBLISH_SECONDS: Final = 30.0
LAST: Final = "last"
# never an admin: whoever gets the agent to write the file must gain nothing by it
SENDER: Final = Sender(id="heartbeat", name="Heartbeat")
TEXT: Final = """\
[Heartbeat, {now}. Nobody is waiting. Do what is due of the list below, and tell only what somebody should \
know now. If there is nothing, answer {all_well} and no more.]

{tasks}"""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOTHING = re.compile(r"#{1,6}(?:\s.*)?|[-*+](?: \[[ xX]?\])?|-{3,}|")


IsBusy: TypeAlias = Callable[[Address], Awaitable[bool]]


class State(Protocol):
    """Keeps small texts by name over a restart."""

    async def put(self, name: str, value: str) -> None: ...

    async def get(self, name: str) -> str | None: ...


class Chats(Protocol):
    """Knows every chat; the one that spoke last comes first."""

    async def addresses(self) -> Sequence[Address]: ...


class Beat(Frozen, frozen=True, kw_only=True):
    """How the heartbeat goes.

    Attributes:
        every: Seconds.
        hours: When it may beat; `None` for always.
        zone: In which the model is told the time.
        workspace: The directory with `HEARTBEAT.md`.
    """

    every: int
    workspace: Path
    hours: ActiveHours | None = None
    zone: str = "UTC"


class Heartbeat:
    """Beats from `__aenter__` to `__aexit__`; a beat with nothing to do is over before any model is asked.

    Args:
        target: Where it reports to; `None` where nobody is there yet.
        is_busy: Whether something is being answered there: then it waits.
        state: Keeps when it beat last, so that restarts make it neither more nor less frequent.
    """

    def __init__(
        self,
        beat: Beat,
        publish: Publish,
        *,
        target: Callable[[], Awaitable[Address | None]],
        is_busy: IsBusy,
        state: State,
        clock: Clock | None = None,
    ) -> None:
        self._beat = beat
        self._publish = publish
        self._target = target
        self._is_busy = is_busy
        self._state = state
        self._clock = clock or WallClock()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="heartbeat")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        last: float | None = None
        while True:
            try:
                if last is None:
                    last = await self._remembered()
                due = await self._wait(last)
                last = await self._try(due)
            except Exception:  # one bad beat must not be the last
                log.exception("heartbeat failed, trying again")
                last = self._soon()

    def _soon(self) -> float:
        """The last beat, so that the next one comes in a minute."""
        return self._clock.now() - self._beat.every + RETRY

    async def _remembered(self) -> float:
        """When it beat last; at the very first start, now."""
        kept = await self._state.get(LAST)
        if kept is not None:
            return float(kept)
        now = self._clock.now()
        await self._state.put(LAST, f"{now:.0f}")
        return now

    async def _wait(self, last: float) -> float:
        """Wait for the next beat; gives its time."""
        awake = asyncio.Event()
        while True:
            now = self._clock.now()
            last = min(last, now)  # one in the future was told by a wrong clock
            if (due := self._due(last, now)) <= now:
                return due
            awake.clear()
            await self._clock.wait(awake, due - now)

    def _due(self, last: float, now: float) -> float:
        due, hours = last + self._beat.every, self._beat.hours
        if hours is not None and not hours.contains(max(due, now)):
            return hours.next_opening(max(due, now))
        return due

    async def _try(self, due: float) -> float:
        """Beat, if there is something to do and somebody to tell; gives what counts as the last beat."""
        now = self._clock.now()
        last = due if now - due < self._beat.every else now  # what was missed is not made up for
        tasks = await asyncio.to_thread(_read, self._beat.workspace / FILE)
        if is_effectively_empty(tasks):
            return last
        address = await self._target()
        if address is None:
            return last
        if await self._is_busy(address):
            return self._soon()
        async with asyncio.timeout(PUBLISH_SECONDS):
            receipt = await self._publish(self._message(address, tasks, due))
        if receipt is Receipt.REFUSED:
            return self._soon()
        await self._state.put(LAST, f"{last:.0f}")
        return last

    def _message(self, address: Address, tasks: str, due: float) -> InboundMessage:
        now = self._clock.now()
        told = say_moment(float(int(now)), self._beat.zone)
        return InboundMessage(
            id=MessageId(new_id()),
            platform_id=f"heartbeat:{due:.0f}",
            address=address,
            session=address.session(),
            sender=SENDER,
            text=TEXT.format(now=told, all_well=ALL_WELL, tasks=tasks),
            received_at=datetime.fromtimestamp(now, UTC),
            trigger=Trigger.HEARTBEAT,
        )


class Target:
    """Finds the chat that the heartbeat reports to.

    Args:
        named: As the settings name it, `channel:account:chat[:thread]`; without it, the chat in which an
            admin spoke last to the bot alone.
    """

    def __init__(
        self, named: str | None, chats: Chats, *, admin_chats: Callable[[], Awaitable[Sequence[Address]]]
    ) -> None:
        self._named = named
        self._chats = chats
        self._admin_chats = admin_chats

    async def __call__(self) -> Address | None:
        """The address, as it was captured when somebody wrote from there."""
        known = await self._chats.addresses()
        if self._named is not None:
            return next((one for one in known if one.session() == self._named), None) or _address(self._named)
        admins = {address.session(): address for address in await self._admin_chats()}
        return next((admins[one.session()] for one in known if one.session() in admins), None)


def is_effectively_empty(text: str) -> bool:
    """Whether a file has nothing but headings, blank lines, empty bullets and comments."""
    lines = _COMMENT.sub("", text).splitlines()
    return all(_NOTHING.fullmatch(line.strip()) for line in lines)


def _read(path: Path) -> str:
    """The text of the file; empty where there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(MAX_FILE).strip()
    except OSError as error:
        log.warning("heartbeat file not read", extra={"cause": str(error)})
        return ""


def _address(named: str) -> Address:
    """A chat that nobody has written from; a group, as long as nobody says otherwise."""
    channel, account, chat, *thread = named.split(":", 3)
    return Address(
        channel=channel, account=account, chat=chat, thread=thread[0] if thread else None, is_direct=False
    )


def open_heartbeat(
    settings: HeartbeatSettings,
    *,
    zone: str,
    workspace: Path,
    publish: Publish,
    target: Target,
    is_busy: IsBusy,
    state: State,
) -> Heartbeat | None:
    """Make the heartbeat that the settings ask for; `None` where they want none.

    Args:
        zone: The time zone of people, where the settings name none for the hours.
    """
    if settings.every is None:
        return None
    hours = ActiveHours.read(settings.hours, settings.timezone or zone) if settings.hours else None
    beat = Beat(every=settings.every, workspace=workspace, hours=hours, zone=zone)
    return Heartbeat(beat, publish, target=target, is_busy=is_busy, state=state)
