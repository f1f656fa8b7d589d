"""Finds the sandbox of the agent's commands, and says why there is none."""

import logging
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.settings.sandbox import SandboxSettings
from bot.tools.base import ToolFault
from bot.tools.exec import Finished, Limits, Sandbox
from security.bubblewrap import START_SECONDS, BubblewrapSandbox
from security.confined import Confined
from security.plain import PlainSandbox

log = logging.getLogger(__name__)

INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"
ALLOW = "or set BOT_SANDBOX__UNSAFE=true to run commands without a sandbox"


class NoSandbox:
    """Fulfils `bot.tools.exec.Sandbox` by refusing."""

    def __init__(self, fault: str) -> None:
        self._fault = fault

    @property
    def fault(self) -> str:
        """See the protocol."""
        return self._fault

    async def run(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
        stdin: bytes | None = None,
    ) -> Finished:
        """See the protocol."""
        raise ToolFault(self._fault)

    async def spawn(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
    ) -> Confined:
        """See the protocol."""
        raise ToolFault(self._fault)


async def find_sandbox(
    settings: SandboxSettings, *, workspace: Path, home: Path, program: str = "bwrap"
) -> Sandbox:
    """Try bubblewrap once; where it fails there is no sandbox or, if the operator says so, a plain one.

    Args:
        workspace: What commands may write; it is there already.
        home: The data directory, to be kept out of sight.
        program: bubblewrap, by name or path.
    """
    if sys.platform != "linux":
        return NoSandbox("commands are off: the sandbox needs Linux")
    if _holds(workspace, home):
        return NoSandbox(f"commands are off: the workspace {workspace} holds the data directory {home}")
    found = shutil.which(program)
    if found is None:
        fault = f"commands are off: bubblewrap is missing: {INSTALL}, {ALLOW}"
    else:
        sandbox, trouble = await _try_out(found, settings, workspace, home)
        if not trouble:
            return sandbox
        fault = f"commands are off: bubblewrap does not work here ({trouble}): allow user namespaces, {ALLOW}"
    if not settings.unsafe:
        return NoSandbox(fault)
    log.warning("commands run without a sandbox", extra={"reason": fault})
    return PlainSandbox(workspace)


def _holds(outer: Path, inner: Path) -> bool:
    return inner.resolve().is_relative_to(outer.resolve())


async def _try_out(
    program: str, settings: SandboxSettings, workspace: Path, home: Path
) -> tuple[BubblewrapSandbox, str]:
    """Make a sandbox and give what is wrong with it; an old bubblewrap gets by with less."""
    for nested in (False, True):
        sandbox = BubblewrapSandbox(
            workspace,
            program=program,
            hidden=[home],
            paths=settings.paths,
            network=settings.network,
            nested=nested,
        )
        trouble = await _trouble_with(sandbox)
        if "disable-userns" not in trouble:
            break
    return sandbox, trouble


async def _trouble_with(sandbox: BubblewrapSandbox) -> str:
    limits = Limits(seconds=START_SECONDS, memory=256 << 20, processes=16, file=1 << 20, output=1_000)
    try:
        finished = await sandbox.run("true", directory=sandbox.workspace, environment={}, limits=limits)
    except (ToolFault, OSError) as error:
        return str(error) or type(error).__name__
    return "" if finished.ending.code == 0 else finished.text.strip() or f"exit code {finished.ending.code}"
