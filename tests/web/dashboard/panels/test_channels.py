"""How channels are doing, put together of what is known of them."""

from bot.commands.engine import ChannelState
from bot.metrics import Depth, RateWait
from bot.web.dashboard.base import Parts
from bot.web.dashboard.panels.channels import UNKNOWN, channel_rows, load_channels


def test_a_channel_has_its_accounts_and_all_that_waits_there() -> None:
    states = [
        ChannelState(channel="telegram"),
        ChannelState(channel="telegram", account="two", is_connected=False, cause="down"),
    ]
    depths = [
        Depth("journal", "telegram", "queued", 3),
        Depth("journal", "telegram", "parked", 1),
        Depth("outbox", "telegram", "failed", 2),
        Depth("webhooks", "api", "waiting", 9),
    ]
    slow = RateWait("telegram", "two", 4, 2.5, 30.0)

    (row,) = channel_rows(states, depths, [slow])

    assert [account.waits for account in row.accounts] == [UNKNOWN, slow]
    assert (row.queued, row.running, row.parked, row.undelivered, row.failed) == (3, 0, 1, 0, 2)


def test_a_channel_that_is_off_is_shown_while_something_waits_for_it() -> None:
    rows = channel_rows([ChannelState(channel="web")], [Depth("outbox", "slack", "pending", 1)], [])

    assert [(row.channel, len(row.accounts), row.undelivered) for row in rows] == [
        ("web", 1, 0),
        ("slack", 0, 1),
    ]


async def test_a_running_bot_tells_of_its_channels(parts: Parts) -> None:
    rows = await load_channels(parts.workings)

    assert {"web", "terminal"} <= {row.channel for row in rows if row.accounts}
