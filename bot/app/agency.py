"""What the agent works with beside its model: tools, questions, schedules, sub-agents, summaries."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from bot.agent.asides import Display
from bot.agent.compaction import Summary
from bot.agent.constraints import Directories
from bot.agent.flush import SECONDS as FLUSH_SECONDS
from bot.agent.flush import MemoryFlush
from bot.agent.moments import Moments
from bot.agent.next_prompt import NextPrompt
from bot.agent.prompt import PromptBuilder
from bot.agent.questions import QuestionDesk
from bot.agent.seams import NoToolSource, Outward, Seams
from bot.agent.shortening import HistoryShortening
from bot.agent.spending import Spending
from bot.agent.subagents import Subagents
from bot.agent.taint import person_of
from bot.app.parts import workshop_settings
from bot.app.remembering import Remembering
from bot.backends.base import Tools
from bot.backends.one import OneBackend
from bot.backends.router import Router
from bot.bus import Bus
from bot.commands.agents import SubagentCommands
from bot.commands.call import Command
from bot.commands.compaction import CompactionCommands
from bot.commands.schedules import ScheduleCommands
from bot.hooks.points import BeforeCompaction
from bot.hooks.registry import Hooks
from bot.messages import InboundMessage, SessionKey, StoredMessage
from bot.models.base import ToolSchema
from bot.plugins import Plugin
from bot.scheduler.heartbeat import IsBusy, Target, open_heartbeat
from bot.scheduler.planner import Planner
from bot.scheduler.scheduler import Scheduler
from bot.settings import Settings
from bot.tools.approval import Suspicion
from bot.tools.base import UNWATCHED, Gate, Speaker, Tool, Watch
from bot.tools.lazy_network import LazyNetwork
from bot.tools.schedule import ScheduleTools
from bot.workshop import Gates, Workshop
from memory.store import Store
from security.audit import AuditGate, AuditLog
from security.sandbox import find_sandbox

log = logging.getLogger(__name__)

FINISH_SECONDS = 10.0  # what is begun beside the start gets at the end


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What the parts work on."""

    store: Store
    bus: Bus
    router: Router | OneBackend
    hooks: Hooks
    audit: AuditLog
    redact: Callable[[str], str]
    is_operator: Callable[[InboundMessage], bool]
    directories: Directories
    remembering: Remembering
    checks: Sequence[Gate] = ()
    suspicions: Sequence[Suspicion] = ()
    watch: Watch = UNWATCHED
    links: Outward | None = None


class Agency:
    """Owns those parts from `__aenter__` to `__aexit__`; `working` has them act by themselves.

    Attributes:
        moments: Asks the hooks for the turns.
        questions: Where questions wait for their answers.
        planner: The people's side of schedules.
        shortening: Keeps prompts within the window.
        spending: Keeps model calls within their budgets.
        workshop: The tools.
        settled: Set when the sandbox has been tried, a moment after the start.
    """

    def __init__(self, settings: Settings, around: Around) -> None:
        self._settings = settings
        self._around = around
        self._stack = AsyncExitStack()
        store, bus = around.store, around.bus
        self._scheduler = Scheduler(store.schedules, bus.publish)
        self.planner = Planner(
            store.schedules,
            zone=settings.timezone,
            on_change=self._scheduler.wake,
            own_zone=lambda message: store.people.habits(person_of(message)).zone,
        )
        self._subagents = Subagents(around.router, tools_for=self._tools_of_subagent, bus=bus)
        self.settled = asyncio.Event()
        self.spending = Spending(
            settings.prices,
            settings.budgets,
            zone=settings.timezone,
            books=store.usage,
            account_of=store.people.key_of,
        )
        self.questions = QuestionDesk()
        self.moments = Moments(around.hooks, on_scheduled_end=self._scheduler.note_end)
        self.shortening = HistoryShortening(
            settings.compaction,
            summaries=store.summaries,
            bus=bus,
            moments=self.moments,
            max_tokens=settings.context_tokens,
            max_lines=settings.context_top_k,
        )
        self.workshop = Workshop(
            workshop_settings(settings),
            questions=self.questions,
            permissions=store.state("bot", "approvals"),
            audit=around.audit,
            hooks=around.hooks,
            is_operator=around.is_operator,
            redact=around.redact,
            gates=Gates(
                before=around.checks,
                suspicions=around.suspicions,
                behind=(around.directories, AuditGate(around.audit, is_strict=settings.audit.strict)),
                watch=around.watch,
            ),
        )

        if settings.compaction.flush:
            flush = MemoryFlush(around.router, tools_for=self._tools_for_notes, bus=bus)
            around.hooks.on(BeforeCompaction, flush, seconds=2 * FLUSH_SECONDS)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.workshop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def join(self, seams: Seams) -> Seams:
        """Put those parts into the turn."""
        seams = replace(seams, links=seams.links or self._around.links)
        return replace(
            seams,
            tools=self.workshop.box if isinstance(seams.tools, NoToolSource) else seams.tools,
            moments=self.moments,
            display=Display(self._around.store.choices, seams.outward),
            shortening=self.shortening,
            spending=self.spending,
        )

    def commands(self) -> Iterable[Command]:
        """The slash commands of those parts."""
        store = self._around.store
        yield from ScheduleCommands(self.planner).commands()
        yield from CompactionCommands(store.sessions, store.summaries, self._compact).commands()
        yield from SubagentCommands(store.sessions, self._subagents).commands()

    async def furnish(self, speaker: Speaker, tools: Sequence[Tool], plugins: Iterable[Plugin]) -> None:
        """Put the tools into the workshop, once there is somebody who can speak."""
        workshop = self.workshop
        web, own = await self._networks()
        workshop.furnish(speaker, self._around.store.chats)
        workshop.furnish_network(web, own)
        workshop.registry.add(self._around.remembering.tools())
        workshop.registry.add(ScheduleTools(self.planner).tools())
        workshop.registry.add(self._subagents.tools())
        workshop.registry.add(tools)
        workshop.add_plugins(plugins)

    @asynccontextmanager
    async def working(self, target: Target, is_busy: IsBusy) -> AsyncGenerator[None]:
        """Fire schedules, keep MCP servers connected, and look at HEARTBEAT.md where the settings want it.

        Args:
            target: Where a heartbeat speaks.
        """
        settings, around = self._settings, self._around
        heartbeat = open_heartbeat(
            settings.heartbeat,
            zone=settings.timezone,
            workspace=settings.data_dir / "workspace",
            publish=around.bus.publish,
            target=target,
            is_busy=is_busy,
            state=around.store.state("bot", "heartbeat"),
        )
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._scheduler)
            await self.workshop.open_mcp()
            if heartbeat is not None:
                await stack.enter_async_context(heartbeat)
            yield

    def look_around(self) -> None:
        """Try the sandbox, shape the tools and clear up, beside the turns that run already."""
        for name, work in (
            ("open sandbox", self._open_sandbox()),
            ("shape tools", asyncio.to_thread(self.workshop.registry.shape)),
            ("sweep", self.workshop.sweep()),
        ):
            self._stack.push_async_callback(_finish, asyncio.create_task(work, name=name))

    async def _open_sandbox(self) -> None:
        settings = self._settings
        workspace = settings.data_dir / "workspace"
        try:
            sandbox = await find_sandbox(settings.sandbox, workspace=workspace, home=settings.data_dir)
            await self.workshop.add_commands(sandbox)
        finally:
            self.settled.set()

    async def _networks(self) -> tuple[LazyNetwork, LazyNetwork]:
        """What the agent may reach, and what APIs and the search server are reached through beside it."""
        settings, enter = self._settings, self._stack.enter_async_context
        net, urls = settings.network, [api.base_url for api in settings.apis.values()]
        if settings.search.url is not None:
            urls.append(settings.search.url)

        def make(urls: Sequence[str]) -> Any:  # `Any`: loaded on first use
            network = import_module("security.network")
            allow = (*net.allow, *map(network.host_of, urls))
            return network.Network(allow=allow, ports=net.ports, use_proxy=net.use_proxy)

        return await enter(LazyNetwork(lambda: make(()))), await enter(LazyNetwork(lambda: make(urls)))

    def next_prompt(self, prompts: PromptBuilder) -> NextPrompt:
        """Measures what the next turn of a session would begin with."""
        return NextPrompt(
            self._around.store.journal,
            prompts,
            self._around.router,
            history=self._settings.context_top_k,
            offers=self.offers,
        )

    def offers(self, message: InboundMessage) -> tuple[ToolSchema, ...]:
        """The tools of the sender of a message."""
        return self.workshop.registry.offer_for(message).schemas

    def _tools_for_notes(self, message: InboundMessage) -> Tools:
        return self.workshop.box.tools_for(message, None)

    def _tools_of_subagent(self, message: InboundMessage, depth: int) -> Tools:
        return self.workshop.box.tools_for(message, None, depth=depth)

    async def _compact(
        self,
        session: SessionKey,
        lines: Sequence[StoredMessage],
        previous: Summary | None,
        *,
        keep_tokens: int,
        focus: str,
    ) -> Summary | None:
        """Summarise a session now, for `/compact`."""
        router = self._around.router
        backend, model = await router.backend(session), router.model(session)
        return await self.shortening.compact(session, lines, previous, keep_tokens, backend, model, focus)


async def _finish(task: asyncio.Task[None]) -> None:
    """Let work that is soon done come to its end: what it has begun outside closes in order."""
    await asyncio.wait({task}, timeout=FINISH_SECONDS)
    task.cancel()
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        log.error("work of the start failed", exc_info=error, extra={"work": task.get_name()})
