"""The plug is pulled at random moments: every accepted message is answered once, in order."""

import asyncio
import os

import pytest

from tests.chaos.driver import torment

KILLS = int(os.environ.get("CHAOS_KILLS", "200"))  # more: CHAOS_KILLS=5000 make test ARGS="-m chaos"
SEED = int(os.environ.get("CHAOS_SEED", "20261121"))
SIDES = 2  # bots that are tormented side by side


@pytest.mark.chaos
@pytest.mark.timeout(60 + KILLS * 6)
async def test_no_message_is_lost_or_answered_twice_however_often_the_process_is_killed() -> None:
    shares = [KILLS // SIDES + (side < KILLS % SIDES) for side in range(SIDES)]

    findings = await asyncio.gather(*(torment(share, SEED + side) for side, share in enumerate(shares)))

    assert [fault for side in findings for fault in side.faults] == []
    assert sum(side.kills for side in findings) == KILLS
    assert sum(side.mid_answer for side in findings) > KILLS // 20, "the kills have to hit answers that grow"
