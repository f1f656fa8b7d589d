"""The bot as a whole: what is opened in order is closed in reverse."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Literal, Self

from msgspec.structs import replace

from bot.adjusting import Adjusting
from bot.agent.constraints import Directories
from bot.agent.loop import AgentLoop, RunningTurn
from bot.agent.notebook import Notebook
from bot.agent.seams import Seams
from bot.agent.turn import Turn
from bot.agent.watchdog import LagGuard
from bot.alarm import Alarm
from bot.app.agency import Agency, Around
from bot.app.doors import Doors, outside_of
from bot.app.front import Behind, Front
from bot.app.interface import API_CHANNEL, make_tracing, make_webhooks
from bot.app.operating import Operating, Works, muted_in, watch_for_new
from bot.app.parts import (
    accounts_of,
    audit_log,
    hub_of,
    loop_settings,
    media_of,
    prompt_builder,
    quiet_redactor,
    renewal_of,
    router_of,
    rules_of,
)
from bot.app.peopling import Noting, linking_of, people_commands
from bot.app.protection import Protection
from bot.app.remembering import Remembering
from bot.app.secrets import fill_secrets
from bot.app.vocabulary import open_plugins, ports_of
from bot.app.workings import notice_knobs
from bot.backends.base import AgentBackend
from bot.backends.one import OneBackend
from bot.backends.router import Router
from bot.bus import LocalBus
from bot.commands.admin import read_presence
from bot.commands.builtin import builtin_commands
from bot.commands.call import Command
from bot.commands.engine import ChannelState
from bot.commands.registry import Commands
from bot.commands.release import Blocked, ReleaseCommands, Releases
from bot.hooks.points import AfterToolCall, GatewayStart, GatewayStop, SessionEnd
from bot.hooks.registry import Hooks
from bot.inbox.base import Desk
from bot.messages import Address, Frozen, RunId, SessionKey, SessionSwitched
from bot.models.providers import ModelSetup
from bot.running import RunningBot
from bot.scheduler.heartbeat import Target
from bot.settings import Settings
from bot.telemetry import hide_in_log
from bot.tools.base import Tool
from bot.web.dashboard.lazy import Dashboard
from bot.web.health import Readiness
from channels.intake import Rules
from channels.platforms import Platforms, Surroundings
from channels.registry import AdapterFactory
from memory.home import Home
from memory.journal import JournalEntry
from memory.store import Store
from security.audit import note_result

log = logging.getLogger(__name__)

LIVE_CHANNELS = ("web", "terminal")
UNDELIVERED = (*LIVE_CHANNELS, API_CHANNEL)  # who asks there reads the history


class Status(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """What the bot is doing, for people who look after it; times in seconds."""

    uptime: float
    is_draining: bool
    sessions: int
    running: tuple[RunningTurn, ...]
    channels: tuple[ChannelState, ...] = ()


class App:
    """The bot, from `__aenter__` (ready) to `__aexit__` (drained and closed).

    Args:
        adapters: Channels of one's own by name, beside the page, the terminal and the platforms.
        backend: An agent of one's own, instead of the one the settings name.
        commands: Commands of one's own, beside the built-in ones.
        tools: The same for what the model may call.
        hooks: Handlers of one's own; the App closes them.
        seams: Guards and whatever else joins the turn.
        has_web: Serve the page if the settings say so; False for a bot that lives in a terminal alone, which
            leaves the platforms alone, too.

    Attributes:
        pages: Those of the operators; there where the web server is on.
        restart_asked: Set when an admin wants the process to start again.
    """

    pages: Dashboard

    def __init__(
        self,
        settings: Settings,
        *,
        adapters: Mapping[str, AdapterFactory] | None = None,
        backend: AgentBackend | None = None,
        commands: Sequence[Command] = (),
        tools: Sequence[Tool] = (),
        hooks: Hooks | None = None,
        seams: Seams | None = None,
        has_web: bool = True,
    ) -> None:
        self._written = settings
        self._settings = settings  # with the secrets that they name, once the store is there
        self._factories = adapters or {}
        self._backend = backend
        self._own_commands = commands
        self._own_tools = tools
        self.hooks = hooks or Hooks()
        self._seams = seams or Seams()
        self._has_web = has_web and settings.web.enabled
        self._is_public = has_web
        self._stack = AsyncExitStack()
        self._started_at = time.time()
        self._readiness = Readiness("starting")
        self.bus = LocalBus()
        self.url: str | None = None
        self.restart_asked = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start everything.

        Raises:
            HomeInUse: Another process works on the data directory.
            ConfigError: The settings do not work on this machine.
            StoreError: The database can't be used.
        """
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _open(self) -> None:
        enter = self._stack.enter_async_context
        home = self._stack.enter_context(Home(self._written.data_dir))
        settings = self._settings = await fill_secrets(self._written)
        self.store = await enter(
            Store(
                settings.data_dir,
                synchronous=settings.store.synchronous,
                share_sessions=settings.people.share_sessions,
            )
        )
        self._quiet = quiet_redactor(settings, settings.redaction.logs).redact
        hide_in_log(self._quiet)
        self.audit = audit_log(settings, self.store, on_failure=self._audit_failed)
        await self.audit.open()
        self._stack.push_async_callback(self.audit.aclose)
        self.hooks.on(AfterToolCall, note_result(self.audit))
        self._protection = Protection(settings, self.store, self.audit, redactor=self._seams.redactor)
        self._stack.enter_context(LagGuard())
        self._stack.push_async_callback(self.hooks.aclose)
        router = router_of(self._settings, self._backend, self.store.choices)
        self._stack.push_async_callback(router.aclose)
        changed = await self.store.changed_settings.all()
        await self._open_agent(router)
        await self._open_channels(changed.get("presence"))
        self._turn = self._make_turn(router)
        self._bot.loop = self.loop = self._agent_loop()
        await self._agency.furnish(self.loop.speaker, self._own_tools, self.plugins)
        self._webhooks = await enter(make_webhooks(settings, self.store, self.bus))
        await enter(make_tracing(settings, self.bus, self.hooks))
        await enter(self.loop)
        await enter(self._agency.working(self._heartbeat_target(), self._is_busy))
        self._stack.push_async_callback(self.platforms.stop_hearing)
        self.store.sessions.on_switch = self._tell_of_switch
        self.store.sessions.on_end = self._end_session
        self.adjusting = Adjusting(
            settings,
            self._bot,
            book=self.store.changed_settings,
            audit=self.audit,
            more=notice_knobs(settings.notices, self._alarm),
        )
        await self.adjusting.restore(changed)
        if self._has_web:
            front = await enter(Front(settings, self, self._behind()))
            self.url, self.pages = front.url, front.pages
        home.announce(self.url)
        self._stack.push_async_callback(self.drain)
        self._readiness.reason = None
        log.info("ready", extra={"url": self.url, "seconds": round(time.time() - self._started_at, 3)})
        await self.hooks.fire(GatewayStart(url=self.url))
        self._stack.push_async_callback(self.hooks.fire, GatewayStop())
        await self._look_around(router)

    async def _open_agent(self, router: Router | OneBackend) -> None:
        """What answers, and the commands that steer it."""
        settings, enter = self._settings, self._stack.enter_async_context
        self._bot = self._running_bot()
        self.doors = self._make_doors()
        self._notebook = Notebook(
            self.store.chats, self.store.state("bot", "admins"), is_admin=self.doors.is_admin
        )
        protection, redact = self._protection, self._protection.redactor.redact
        self._alarm = await enter(
            Alarm(
                self.bus,
                self.store.outbox,
                admin_chats=self._notebook.admin_chats,
                notices=settings.notices,
                is_muted=muted_in(self.store.inbox),
                redact=redact,
            )
        )
        watch_for_new(settings, self.hooks, self._alarm)
        protection.watch(self.doors, on_blocked=self._tell_of_blocked)
        self._stack.push_async_callback(protection.aclose)
        self._remembering = await enter(
            Remembering(settings, self.store, router, speaker=lambda: self.loop.speaker)
        )
        directories = Directories()
        texts = protection.taint.texts
        self._bot.prompts = self._prompts = prompt_builder(settings, self.bus, directories, texts)
        self._rules = rules_of(settings, self.store.choices)
        around = Around(
            store=self.store,
            bus=self.bus,
            router=router,
            hooks=self.hooks,
            audit=self.audit,
            redact=redact,
            is_operator=self.doors.is_operator,
            directories=directories,
            remembering=self._remembering,
            checks=protection.checks,
            suspicions=protection.suspicions,
            watch=protection.taint.watch,
            links=protection.taint.links,
        )
        self._agency = await enter(Agency(settings, around))
        self._remembering.spending = self._agency.spending
        self._operating = await enter(self._make_operating(router))
        self.desk: Desk = self._operating.desk
        self.linking = linking_of(
            self.store,
            self.audit,
            speaker=lambda: self.loop.speaker,
            on_change=self._agency.spending.forget,
        )
        self.commands = await self._commands()

    def _tell_of_blocked(self, blocked: Blocked) -> None:
        self._alarm.message_blocked(blocked.message.address, blocked.level, blocked.reference)

    async def _say(self, address: Address, session: SessionKey, text: str) -> None:
        await self.loop.speaker.say(address, session, text)

    async def _open_channels(self, presence: str | None) -> None:
        enter = self._stack.enter_async_context
        self.hubs = {
            name: await enter(hub_of(name, self._settings, self.bus, self.store.history, self.commands))
            for name in LIVE_CHANNELS
        }
        self._bot.named.extend(self.hubs.values())
        self._bot.platforms = self.platforms = await enter(self._platforms(presence))

    async def _look_around(self, router: Router | OneBackend) -> None:
        """What can be done once people are served already, and must not hold them up."""
        for file in await self.audit.cut_files():
            log.critical("audit file was cut", extra={"file": file})
        warming = asyncio.create_task(router.warm_up(self._prompts.preamble), name="warm up")
        self._stack.push_async_callback(_cancel, warming)
        self._agency.look_around()
        await self._stack.enter_async_context(self._remembering.retention)
        await self._stack.enter_async_context(self._operating.watch)

    def _audit_failed(self, cause: str) -> None:
        if not self._readiness.reason:  # at the start and at the end there is nobody to tell it to
            self._alarm.audit_failed(cause)

    async def drain(self) -> None:
        """Begin no more turns and see the running ones off; what is accepted now waits for the next start."""
        self._readiness.reason = "shutting down"
        await self.loop.drain()

    # --- the parts

    def _running_bot(self) -> RunningBot:
        return RunningBot(
            self._written,  # with which the settings are compared when they are read again
            model=ModelSetup.of(self._settings).model_name,
            bus=self.bus,
            outbox=self.store.outbox,
            journal=self.store.journal,
            on_restart=self.restart_asked.set,
            live_channels=UNDELIVERED,
            redact=self._protection.redactor.redact,
        )

    def _heartbeat_target(self) -> Target:
        where = self._settings.heartbeat.target
        return Target(where, self.store.chats, admin_chats=self._notebook.admin_chats)

    async def _is_busy(self, address: Address) -> bool:
        session = await self.store.history.resolve(address.session())
        return self._bot.activity(session).is_busy

    def _make_operating(self, router: Router | OneBackend) -> Operating:
        works = Works(
            store=self.store,
            bus=self.bus,
            bot=self._bot,
            doors=self.doors,
            audit=self.audit,
            alarm=self._alarm,
            router=router,
            prompts=self._prompts,
            spending=self._agency.spending,
            redact=self._protection.redactor.redact,
            loop=lambda: self.loop,
            undelivered=UNDELIVERED,
            live=LIVE_CHANNELS,
        )
        return Operating(self._settings, works)

    async def _commands(self) -> Commands:
        ports = ports_of(
            self._settings,
            self.store,
            self._bot,
            agency=self._agency,
            prompts=self._prompts,
            doors=self.doors,
            rules=self._rules,
        )
        self.releases = Releases(
            self.store.blocked, publish=self.bus.publish, tell=self._say, audit=self.audit
        )
        every = [
            *builtin_commands(ports),
            *self._remembering.commands(self._bot),
            *self.doors.slash_commands(),
            *people_commands(self.linking, self.store, self.doors),
            *ReleaseCommands(self.releases).commands(),
            *self._agency.commands(),
            *self._operating.commands(),
            *self._own_commands,
        ]
        self.plugins = await open_plugins(self._settings, self.hooks, every)
        every += [command for plugin in self.plugins for command in plugin.parts.commands]
        self.doors.commands = made = Commands(every, admins=lambda: self.doors.steering, audit=self.audit)
        return made

    def _make_doors(self) -> Doors:
        outside = outside_of(
            self._bot,
            self.bus,
            admin_chats=lambda: self._notebook.admin_chats(),
            speaker=lambda: self.loop.speaker,
        )
        access = self._settings.access
        return Doors.of(access, self.store, admins=self._bot.admins, audit=self.audit, outside=outside)

    def _platforms(self, presence: str | None) -> Platforms:
        surroundings = Surroundings(
            bus=self.bus,
            store=self.store,
            rules=Rules(is_conversing=self.store.rules.is_conversing, is_command=self.commands.knows),
            names=self._bot.names,
            commands=self.commands.native,
            public_url=self._settings.public_url,
            presence=read_presence(presence) if presence else None,
            on_dead=self._alarm.chat_lost,
            on_sent=self._agency.moments.sent,
        )
        public = self._settings if self._is_public else None
        return Platforms(accounts_of(public, self._factories), surroundings)

    def _make_turn(self, router: Router | OneBackend) -> Turn:
        settings = self._settings
        return Turn(
            journal=self.store.journal,
            ledger=self.store.ledger,
            bus=self.bus,
            router=router,
            prompts=self._prompts,
            seams=self._joined_seams(),
            run_timeout=settings.run_timeout,
            history=settings.context_top_k,
        )

    def _agent_loop(self) -> AgentLoop:
        return AgentLoop(
            loop_settings(
                self._settings,
                admins=self.doors.steering,
                live_channels=UNDELIVERED,
                people=self.doors,
                renewal=renewal_of(
                    self._settings,
                    self.store,
                    self._bot,
                    self.doors,
                    is_taken=self._operating.diversions.has_taken,
                ),
            ),
            bus=self.bus,
            journal=self.store.journal,
            turn=self._turn,
            audit=self.audit,
            chats=Noting(self._notebook, self.store.people),
            rules=self._rules,
            questions=self._agency.questions,
        )

    def _joined_seams(self) -> Seams:
        """What the caller wants in the turn, and our own where it names nothing."""
        seams = self._protection.join(self._seams)
        notices = self._settings.notices
        seams = replace(
            seams,
            operators=seams.operators or self._operating.diversions,
            on_spent=self._alarm.budget_spent if notices.budget else seams.on_spent,
        )
        return self._agency.join(
            replace(
                seams,
                commands=seams.commands or self.commands,
                media=seams.media or media_of(self._settings, self.platforms),
                learner=seams.learner or self._remembering.learner,
                notes=seams.notes or self._remembering.notes,
            )
        )

    def _behind(self) -> Behind:
        return Behind(
            bot=self._bot,
            agency=self._agency,
            audit=self.audit,
            prompts=self._prompts,
            readiness=self._readiness,
            redact=self._quiet,
            webhooks=self._webhooks,
        )

    async def _end_session(self, session: SessionKey, reason: Literal["new", "reset", "deleted"]) -> None:
        if reason == "deleted":
            await self._agency.workshop.forget(session)
        await self.hooks.fire(SessionEnd(session=session, reason=reason))

    def _tell_of_switch(self, chat: SessionKey, session: SessionKey) -> None:
        self.bus.emit(SessionSwitched(session=session, chat=chat))

    # --- what the operator's routes and the command line ask

    @property
    def remembering(self) -> Remembering:
        """What is remembered for long."""
        return self._remembering

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All that there are now; those of the sandbox and of MCP servers come a moment after the start."""
        return self._agency.workshop.registry.tools

    async def settled(self) -> None:
        """Wait until the sandbox has been tried, a moment after the start."""
        await self._agency.settled.wait()

    def status(self) -> Status:
        """What is going on now."""
        return Status(
            uptime=time.time() - self._started_at,
            is_draining=self.loop.is_draining,
            sessions=self.loop.busy_sessions,
            running=tuple(self.loop.running()),
            channels=tuple(self._bot.channels()),
        )

    async def unfinished(self) -> list[JournalEntry]:
        """Accepted messages that are not done."""
        return await self.store.journal.unfinished()

    async def retry(self, run: RunId) -> None:
        """Run a parked message again.

        Raises:
            StoreError: No parked message has this id.
        """
        await self._bot.retry(run)

    async def cancel(self, run: RunId, *, actor: str) -> bool:
        """Stop a run, whether it is being done or waits; False where it does neither."""
        return await self.loop.cancel(run, actor=actor)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
