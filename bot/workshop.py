"""The tools of the bot: made at the start, owned until the end, opened to each turn."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from bot.agent.audit import Audit
from bot.agent.questions import QuestionDesk
from bot.hooks.gate import HookGate
from bot.hooks.registry import Hooks
from bot.messages import Address, InboundMessage, SessionKey
from bot.models.picture_files import MAX_PICTURES
from bot.plugins import Plugin
from bot.settings.approvals import ApprovalSettings
from bot.settings.mcp import McpServerSettings
from bot.settings.network import ApiSettings, SearchSettings
from bot.settings.sandbox import SandboxSettings
from bot.settings.tools import ToolsSettings
from bot.tools.api import ApiTools
from bot.tools.approval import Approvals, Permissions, Suspicion
from bot.tools.ask import AskTools
from bot.tools.base import UNWATCHED, Gate, Speaker, Tool, Watch
from bot.tools.box import ToolBox
from bot.tools.calls import CallLimits
from bot.tools.exec import ExecTools, Sandbox
from bot.tools.files import FileTools
from bot.tools.jobs import Jobs
from bot.tools.lazy_network import Network
from bot.tools.mcp import McpServers
from bot.tools.messaging import Chats, MessagingTools
from bot.tools.notes import NotesTools
from bot.tools.processes import ProcessTools
from bot.tools.registry import ToolRegistry
from bot.tools.results import Results
from bot.tools.search import PublicEngines, SearchTools, SearxNG
from bot.tools.summary import summary_tools
from bot.tools.web import Fetcher, WebTools
from bot.tools.workspace import Jail

log = logging.getLogger(__name__)

KEEP_RESULTS = 30 * 86_400.0  # seconds


class WorkshopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes from the settings; `home` is the data directory, `sees`: the model takes pictures."""

    home: Path
    tools: ToolsSettings
    approvals: ApprovalSettings
    sandbox: SandboxSettings
    search: SearchSettings
    apis: Mapping[str, ApiSettings]
    mcp: Mapping[str, McpServerSettings]
    sees: bool = True

    @property
    def workspace(self) -> Path:
        """Where the agent may read and write."""
        return self.home / "workspace"


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """What looks at calls beside hooks and approvals.

    Attributes:
        before: See calls before anybody is asked for a permission.
        suspicions: Say which calls have to be asked for.
        behind: See calls once they are permitted.
        watch: Who looks at results and denials.
    """

    before: Sequence[Gate] = ()
    suspicions: Sequence[Suspicion] = ()
    behind: Sequence[Gate] = ()
    watch: Watch = UNWATCHED


NO_GATES = Gates()


class Workshop:
    """Owns what tools need from `__aenter__` to `__aexit__`.

    Args:
        is_operator: Whether somebody may steer the bot as a whole, and so permit calls.
        gates: What else looks at calls.
        redact: Hides what must not be shown to who is asked for a permission.

    Attributes:
        box: Gives each turn its tools.
        registry: Takes tools at any time.
    """

    def __init__(
        self,
        settings: WorkshopSettings,
        *,
        questions: QuestionDesk,
        permissions: Permissions,
        audit: Audit,
        hooks: Hooks,
        is_operator: Callable[[InboundMessage], bool],
        gates: Gates = NO_GATES,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._settings = settings
        self._questions = questions
        self._stack = AsyncExitStack()
        self._jobs = Jobs()
        self._processes: ProcessTools | None = None
        self._mcp: McpServers | None = None
        self._mcp_tools: tuple[Tool, ...] = ()
        self.results = Results(settings.home / "artifacts", limit=settings.tools.result_limit)
        self.registry = ToolRegistry((), settings.tools, is_operator)
        chat = _address(settings.approvals.chat)
        approvals = Approvals(
            settings.approvals.rules,
            questions=questions,
            permissions=permissions,
            audit=audit,
            may_approve=is_operator,
            seconds=settings.approvals.timeout,
            chat=chat,
            redact=redact,
        )
        for suspicion in gates.suspicions:
            approvals.heed(suspicion)
        gate = HookGate(hooks, questions, answerers=is_operator, chat=chat, redact=redact)
        self.box = ToolBox(
            self.registry,
            results=self.results,
            jobs=self._jobs,
            is_admin=is_operator,
            hooks=hooks,
            gates=(gate, *gates.before, approvals, *gates.behind),
            watch=gates.watch,
            limits=CallLimits(
                batch=settings.tools.batch_timeout,
                gate=settings.tools.gate_timeout,
                pictures=MAX_PICTURES if settings.sees else 0,
            ),
        )

    async def __aenter__(self) -> Self:
        self._stack.push_async_callback(self._jobs.aclose)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def furnish(self, speaker: Speaker, chats: Chats) -> None:
        """Put in the tools that need nothing to be opened."""
        jail = Jail(self._settings.workspace)
        families: Sequence[Iterable[Tool]] = (
            AskTools(self._questions).tools(),
            summary_tools(),
            self.results.tools(),
            FileTools(jail).tools(),
            NotesTools(jail).tools(),
            MessagingTools(speaker, chats, jail).tools(),
        )
        self.registry.add([tool for family in families for tool in family])

    def furnish_network(self, web: Fetcher, own: Network) -> None:
        """Put in the tools that reach the network.

        Args:
            web: What the agent may reach by any address.
            own: What the named APIs and the search server are reached through.
        """
        url = self._settings.search.url
        engine = PublicEngines() if url is None else SearxNG(url, own)
        self.registry.add(WebTools(web, media=self._settings.home / "media").tools())
        self.registry.add(SearchTools(engine).tools())
        self.registry.add(ApiTools(self._settings.apis, own).tools())

    def add_plugins(self, plugins: Iterable[Plugin]) -> None:
        """Put in what plugins bring; one whose tools have names that are taken brings none."""
        for plugin in plugins:
            try:
                self.registry.add(plugin.parts.tools)
            except ValueError as error:
                log.error("tools of a plugin left out", extra={"plugin": plugin.name, "cause": str(error)})

    async def open_mcp(self) -> None:
        """Connect to the MCP servers, beside whatever comes next; their tools come and go."""
        servers = McpServers(self._settings.mcp, self._offer_mcp, directory=self._settings.home / "mcp")
        self._mcp = await self._stack.enter_async_context(servers)
        self._offer_mcp()

    def _offer_mcp(self) -> None:
        if self._mcp is None:
            return
        fresh = self._mcp.tools()
        self.registry.remove(self._mcp_tools)
        self._mcp_tools = ()
        try:
            self.registry.add(fresh)
        except ValueError as error:
            log.error("tools of MCP servers left out", extra={"cause": str(error)})
        else:
            self._mcp_tools = fresh

    async def add_commands(self, sandbox: Sandbox) -> None:
        """Put in the tools that run commands, where there is a sandbox for them."""
        if sandbox.fault is not None:
            log.info("no commands can be run", extra={"reason": sandbox.fault})
            return
        workspace, settings = self._settings.workspace, self._settings.sandbox
        self._processes = await self._stack.enter_async_context(ProcessTools(sandbox, workspace, settings))
        self.registry.add([*ExecTools(sandbox, workspace, settings).tools(), *self._processes.tools()])

    async def forget(self, session: SessionKey) -> None:
        """Let go of what tools keep for a session that was deleted."""
        await self.results.forget(session)
        if self._processes is not None:
            await self._processes.close_session(session)

    async def sweep(self) -> None:
        """Delete old results."""
        await self.results.sweep(seconds=KEEP_RESULTS)


def _address(chat: str | None) -> Address | None:
    """The chat of a setting: channel:account:chat."""
    if chat is None:
        return None
    channel, account, name = chat.split(":", 2)
    return Address(channel=channel, account=account, chat=name)
