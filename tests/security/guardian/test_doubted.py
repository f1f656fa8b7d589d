"""A call that the Guardian doubts is asked for, even where the mode or a rule would let it run."""

from pathlib import Path

import pytest

from bot.settings.approvals import ApprovalRule
from bot.settings.guardian import GuardianSettings
from security.guardian import CommandGuard, Guardian
from security.injection import LazyScanner
from tests.security.guardian.conftest import NamedLevels
from tests.tools.approving import context, desk, is_allowed, tool_of

ANYTHING = {"exec": ApprovalRule(mode="auto", allow=(".*",))}


@pytest.mark.parametrize(("words", "allowed"), [("once", True), ("deny", False)])
async def test_a_doubted_command_waits_for_an_admin_in_auto_mode(
    home: Path, scanner: NamedLevels, words: str, allowed: bool
) -> None:
    async with desk(home, ANYTHING) as place:
        place.approvals.heed(
            CommandGuard(Guardian(GuardianSettings(), LazyScanner(scanner.load)), place.bot.audit)
        )
        async with place.asked("sudo ls") as (question, judged):
            await place.says(question, words)
            verdict = await judged

    assert "suspicious: raised" in question.text
    assert is_allowed(verdict) is allowed


async def test_a_harmless_command_is_not_asked_for(home: Path, scanner: NamedLevels) -> None:
    async with desk(home, ANYTHING) as place:
        place.approvals.heed(
            CommandGuard(Guardian(GuardianSettings(), LazyScanner(scanner.load)), place.bot.audit)
        )
        is_clear = place.approvals.waves_through(tool_of(), {"command": "ls -la"}, context())

    assert is_clear
