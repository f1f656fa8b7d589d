"""Signs that somebody was heard: not for quick answers, and never longer than the answer takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from bot.bus import LocalBus
from bot.errors import ChannelError
from bot.messages import Address, AgentEnd, InboundMessage, InboxUpdate, RunId, SessionKey
from bot.settings import ChannelSettings
from channels.base import Capabilities
from channels.delivery.attention import QUICK, RENEW, Attention
from channels.delivery.pace import Pace
from tests.channels.delivery.platform import Clock, Platform, PlatformAdapter
from tests.factories import inbound

SIGNS = Capabilities(rates=(), typing_seconds=5.0, reactions=True)


@dataclass
class Scene:
    """A platform that shows signs, and what it shows."""

    clock: Clock = field(default_factory=lambda: Clock(is_turned=True))
    bus: LocalBus = field(default_factory=LocalBus)
    answered: list[Address] = field(default_factory=list)
    message: InboundMessage = field(default_factory=lambda: inbound(session="other:default:main"))

    def __post_init__(self) -> None:
        self.platform = Platform(self.clock, SIGNS)

    @asynccontextmanager
    async def attending(self, **settings: object) -> AsyncIterator[None]:
        async with (
            asyncio.timeout(10),
            Attention(
                PlatformAdapter(self.platform),
                ChannelSettings.model_validate(settings),
                bus=self.bus,
                pace=Pace(clock=self.clock, sleep=self.clock.sleep),
                on_answer=self.answered.append,
                sleep=self.clock.sleep,
            ),
        ):
            yield

    def hear(self, **changes: object) -> None:
        self.bus.emit(replace(update(self.message), **changes))

    async def signs(self, count: int) -> list[str]:
        """Wait for so many signs; gives all, a reaction as its emoji."""
        await self.platform.until(lambda: len(self.platform.calls) >= count)
        return [text for _, _, text in self.platform.calls]


def update(message: InboundMessage) -> InboxUpdate:
    return InboxUpdate(
        session=message.session,
        run=message.run,
        id=message.id,
        direction="in",
        address=message.address,
        speaker="Ann",
        text=message.text,
        at=message.received_at,
        platform_id=message.platform_id,
    )


@pytest.fixture
def scene() -> Scene:
    return Scene()


def ended(message: InboundMessage) -> AgentEnd:
    return AgentEnd(session=message.session, run=message.run, reason="done", seconds=1.0)


async def test_a_quick_answer_is_not_announced(scene: Scene) -> None:
    async with scene.attending(ack_reaction="👀"):
        scene.hear()
        await scene.clock.waited(1)
        scene.bus.emit(ended(scene.message))

    assert scene.clock.waits == [QUICK]
    assert scene.platform.calls == []


async def test_typing_is_renewed_before_it_runs_out_until_the_answer_is_there(scene: Scene) -> None:
    async with scene.attending():
        scene.hear()
        await scene.clock.waited(1)
        await scene.clock.turn(QUICK)
        for number in range(3):
            await scene.clock.waited(2 + number)
            await scene.clock.turn(5.0 * RENEW)
        shown = await scene.signs(4)
        scene.hear(direction="out", text="done")
        await scene.clock.waited(5)

    assert shown == ["…"] * 4
    assert scene.clock.waits == [QUICK, *([5.0 * RENEW] * 4)]
    assert len(scene.platform.calls) == 4


async def test_a_reaction_stands_until_the_answer_is_there(scene: Scene) -> None:
    async with scene.attending(ack_reaction="👀", typing=False):
        scene.hear()
        await scene.clock.waited(1)
        await scene.clock.turn(QUICK)
        before = list(await scene.signs(1))
        scene.bus.emit(ended(scene.message))
        after = await scene.signs(2)

    assert (before, after) == (["👀"], ["👀", "-"])


async def test_closing_takes_every_reaction_back(scene: Scene) -> None:
    async with scene.attending(ack_reaction="👀"):
        scene.hear()
        await scene.clock.waited(1)
        await scene.clock.turn(QUICK)
        await scene.signs(2)

    assert [text for _, _, text in scene.platform.calls] == ["👀", "…", "-"]


async def test_a_platform_that_refuses_signs_is_asked_again_at_the_next_turn(scene: Scene) -> None:
    scene.platform.failures += [ChannelError("no"), ChannelError("no")]
    async with scene.attending(ack_reaction="👀"):
        scene.hear()
        await scene.clock.waited(1)
        await scene.clock.turn(QUICK)
        await scene.clock.waited(2)
        await scene.clock.turn(5.0 * RENEW)
        await scene.signs(3)

    assert scene.platform.failures == []


@pytest.mark.parametrize(
    "changes",
    [
        {"address": Address(channel="other", account="second", chat="main")},
        {"address": Address(channel="web", chat="main")},
        {"run": None},
    ],
)
async def test_messages_of_other_accounts_and_without_a_turn_are_not_attended(
    scene: Scene, changes: dict[str, object]
) -> None:
    async with scene.attending():
        scene.hear(**changes)
        scene.hear()
        await scene.clock.waited(1)
        await asyncio.sleep(0)

    assert scene.clock.waits == [QUICK]


async def test_where_the_bot_has_spoken_is_told(scene: Scene) -> None:
    async with scene.attending():
        scene.hear(direction="out", run=RunId("other run"), session=SessionKey("other:default:x"))
        scene.hear()
        await scene.clock.waited(1)

    assert scene.answered == [scene.message.address]


async def test_after_events_were_missed_no_sign_stays_for_good(scene: Scene) -> None:
    async with scene.attending():
        scene.hear()
        await scene.clock.waited(1)
        await scene.clock.turn(QUICK)
        await scene.signs(1)
        for number in range(1_500):
            scene.hear(address=Address(channel="web", chat=str(number)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await scene.clock.turn(5.0)
        await asyncio.sleep(0)

        assert len(scene.platform.calls) == 1


async def test_closing_is_not_held_up_by_messages_that_have_just_come(scene: Scene) -> None:
    async with scene.attending():
        for number in range(50):
            scene.hear(run=RunId(str(number)))

    assert scene.platform.calls == []
