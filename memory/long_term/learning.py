"""Learning from what people say, after the turn and beside everything else."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

from msgspec.structs import replace

from bot.agent.taint import Taint, known_taint, person_of
from bot.errors import BotError, BudgetSpent, ModelError
from bot.long_term import MAX_TEXT, Fact, LongTerm, Memory, Origin, Whose
from bot.messages import BY_ITSELF, InboundMessage, Role, RunId, SessionKey, utc_now
from bot.models.base import PromptMessage
from memory.long_term.extracting import MAX_SAID, MAX_TOKENS, Extracted, Spoiled, read_reply, request

log = logging.getLogger(__name__)

MAX_WAITING: Final = 100  # turns
MAX_WATCHED: Final = 2_000  # turns that run
TRIES: Final = 2  # of one message
SECONDS: Final = 90.0  # for one message
GRACE: Final = 5.0  # seconds that what waits gets at the end
MAX_SPOILED: Final = 20  # messages in a row by which a model has shown that it can't do it
KNOWN: Final = 5  # memories that a model is shown, to correct them
LEAST: Final = 8  # characters of a message that may hold a fact, where a letter is no word by itself

SetTitle: TypeAlias = Callable[[SessionKey, str], Awaitable[object]]
IsKept: TypeAlias = Callable[[RunId], Awaitable[bool]]


class Ask(Protocol):
    """Has the model of a session write a text; its sender pays."""

    async def __call__(
        self, message: InboundMessage, messages: Sequence[PromptMessage], max_tokens: int
    ) -> str:
        """The whole text.

        Raises:
            ModelError: There is none.
        """


class Watch:
    """Remembers what the running turns have read until they are learned from."""

    def __init__(self) -> None:
        self._turns: OrderedDict[RunId, Taint] = OrderedDict()

    def note(self, run: RunId) -> None:
        """Keep hold of the taint of the turn that runs here, which grows with what it reads."""
        if (current := known_taint()) is not None:
            self._turns[run] = current
            self._turns.move_to_end(run)
            if len(self._turns) > MAX_WATCHED:
                self._turns.popitem(last=False)

    def take(self, run: RunId) -> Taint | None:
        """That of a turn which has ended; `None` where nobody knows."""
        return self._turns.pop(run, None)


class _Said(NamedTuple):
    """A turn to learn from; `answer` is empty where it may come from others."""

    message: InboundMessage
    answer: str


class AutoLearn:
    """Fulfils `bot.agent.seams.Learner`; works from `__aenter__` to `__aexit__`.

    What strangers say is not learned, nor what a turn has read: of a turn that has read pages, files or what
    others said, only the person's own words are looked at.

    Args:
        redact: Masks what the policy wants masked in what is remembered.
        set_title: Told what a session is about.
        is_kept: Whether what was said in a turn is still in the history; if not, nothing is learned from it.
    """

    def __init__(
        self,
        memories: LongTerm,
        whose: Whose,
        ask: Ask,
        watch: Watch,
        *,
        redact: Callable[[str], str],
        set_title: SetTitle,
        is_kept: IsKept,
    ) -> None:
        self._memories = memories
        self._whose = whose
        self._ask = ask
        self._watch = watch
        self._redact = redact
        self._set_title = set_title
        self._is_kept = is_kept
        self._spoiled = 0  # messages in a row
        self._waiting: asyncio.Queue[_Said] = asyncio.Queue(MAX_WAITING)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work(), name="learn")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Learn from what waits, as far as there is time for it, and stop."""
        task, self._task = self._task, None
        if task is None:
            return
        idle = asyncio.create_task(self._waiting.join(), name="learn the rest")
        await asyncio.wait({idle, task}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
        for one in (idle, task):
            one.cancel()
        await asyncio.wait({idle, task})
        if left := self._waiting.qsize():
            log.warning("turns not learned from", extra={"turns": left})

    def learn(self, message: InboundMessage, answer: str) -> None:
        """See the protocol."""
        read = self._watch.take(message.run)
        is_strangers = read is not None and read.own == "stranger"
        if self._task is None or self._spoiled >= MAX_SPOILED or is_strangers or not _may_hold_facts(message):
            return
        is_clean = read is not None and not read.foreign
        try:
            self._waiting.put_nowait(_Said(message, answer if is_clean else ""))
        except asyncio.QueueFull:
            log.warning("turn not learned from", extra={"waiting": MAX_WAITING})

    async def settled(self) -> None:
        """Wait until all that was said so far is learned from."""
        await self._waiting.join()

    async def _work(self) -> None:
        while True:
            said = await self._waiting.get()
            try:
                async with asyncio.timeout(SECONDS):
                    await self._take(said)
            except BudgetSpent as error:
                log.info("turn not learned from", extra={"cause": str(error)})
            except (BotError, TimeoutError) as error:
                log.warning("turn not learned from", extra={"cause": str(error) or "timeout"})
            except Exception:  # the next turn is learned from all the same
                log.exception("learning failed")
            finally:
                self._waiting.task_done()

    async def _take(self, said: _Said) -> None:
        message = said.message
        scope = await self._whose.writes(message)
        found = await self._memories.search([scope], message.text[:MAX_SAID], limit=KNOWN)
        extracted = await self._extract(said, [one.memory for one in found])
        raw = extracted is None
        facts = (Fact(text=message.text[:MAX_TEXT]),) if extracted is None else extracted.facts
        origin = Origin(
            how="raw" if raw else "learned",
            by=person_of(message),
            run=message.run,
            session=message.session,
        )
        masked = [replace(fact, text=await self._masked(fact.text)) for fact in facts]
        kept = await self._memories.learn(scope, masked, origin)
        if not await self._is_kept(message.run):  # asked last: it may be deleted while this is written
            for one in kept:
                await self._memories.forget(scope, one.number)
            return
        if extracted is not None and extracted.title:
            await self._set_title(message.session, await self._masked(extracted.title))
        self._count(is_spoiled=raw)
        if kept:
            log.info("learned", extra={"facts": len(kept), "is_raw": raw})

    async def _masked(self, text: str) -> str:
        """As it is kept; in a thread, for looking for names takes a while."""
        return await asyncio.to_thread(self._redact, text)

    def _count(self, *, is_spoiled: bool) -> None:
        """Give up on a model that finds nothing: every message would be kept, at the price of two calls."""
        self._spoiled = self._spoiled + 1 if is_spoiled else 0
        if self._spoiled == MAX_SPOILED:
            log.error("no learning any more: the model gives no JSON; BOT_MEMORY__LEARN_MODEL names another")

    async def _extract(self, said: _Said, known: Sequence[Memory]) -> Extracted | None:
        """What a model finds; `None` where it has spoiled both tries, and the words have to be kept."""
        messages = request(said.message.text, said.answer, known, today=utc_now())
        for left in reversed(range(TRIES)):
            try:
                return read_reply(await self._ask(said.message, messages, MAX_TOKENS), known)
            except BudgetSpent:
                raise
            except (Spoiled, ModelError) as error:
                log.warning("facts not found", extra={"cause": str(error), "tries_left": left})
        return None


def _may_hold_facts(message: InboundMessage) -> bool:
    """Whether somebody has said something of their own."""
    is_person = not message.sender.is_bot and message.sender.role is not Role.GUEST
    text = message.text.strip()
    is_long = len(text) >= LEAST or not text.isascii()
    return bool(is_person and text and is_long) and message.trigger not in BY_ITSELF
