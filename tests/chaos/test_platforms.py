"""The plug is pulled while people talk on all four platforms: each message gets one answer, in order."""

import os

import pytest

from tests.chaos.platforms import torment
from tests.contract.house import PLATFORMS

KILLS = int(os.environ.get("CHAOS_PLATFORM_KILLS", "50"))
SEED = int(os.environ.get("CHAOS_SEED", "20261121"))


@pytest.mark.chaos
@pytest.mark.timeout(120 + KILLS * 6)
async def test_no_platform_shows_an_answer_twice_or_lacks_one() -> None:
    findings = await torment(KILLS, SEED)

    assert findings.faults == []
    assert findings.kills == KILLS
    for name in PLATFORMS:
        assert findings.owing[name] > KILLS // 10, "the kills have to hit answers on their way"
        assert findings.answered[name] > KILLS // 5, "and answers that are there already"
