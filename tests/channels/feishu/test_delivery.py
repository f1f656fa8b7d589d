"""Whole answers on Feishu, brought by the real delivery at the rates that Feishu allows."""

import pytest

from bot.bus.local import LocalBus
from bot.messages import Address, Button, Chunk, End, RunId, SessionKey, new_id
from channels.delivery.delivery import Delivery
from memory.store import Store
from tests.channels.feishu.conftest import Bot
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.platform import Fault

TEXT = "\n\n".join(f"Sentence {number} of an answer that **grows**." for number in range(40))
SHOWN = TEXT.replace("**", "")


async def deliver(bot: Bot, store: Store, address: Address, text: str, *, pieces: int = 8) -> None:
    """Bring an answer in so many pieces."""
    run, bus = RunId(new_id()), LocalBus()
    session = SessionKey(address.session())
    step = -(-len(text) // pieces)
    simulator = bot.intake.simulator
    async with Delivery(bot.adapter, bot.adapter_settings, bus=bus, outbox=store.outbox):
        for seq, at in enumerate(range(0, len(text), step)):
            calls, piece = len(simulator.calls), text[at : at + step]
            bus.send(Chunk(run=run, session=session, address=address, attempt=1, seq=seq, text=piece))
            await simulator.until(lambda calls=calls: len(simulator.calls) > calls)  # type: ignore[misc]  # a default
        buttons = (Button(label="Good", value="good"),)
        end = End(
            run=run,
            session=session,
            address=address,
            attempt=1,
            seq=10_000,
            reason="done",
            text=text,
            buttons=buttons,
        )
        bus.send(end)
        await bot.intake.simulator.until(lambda: any(one.buttons for one in bot.intake.simulator.chat("ann")))


@pytest.mark.parametrize("fault", [None, "lose", "cut", "status", "limit"])
async def test_an_answer_that_grows_stands_there_once_and_whole(
    poster: Bot, simulator: FeishuSimulator, store: Store, fault: str | None
) -> None:
    if fault is not None:
        simulator.fail(Fault(kind=fault, method="messages.create", seconds=0.1))  # type: ignore[arg-type]  # of a list

    await deliver(poster, store, poster.address(), TEXT)

    [shown] = simulator.chat("ann")
    assert " ".join(shown.text.split()) == " ".join(SHOWN.split())
    assert shown.buttons == ["Good"]
    assert not any(card.is_streaming for card in simulator.world.cards.values() if card.message)


async def test_feishu_never_has_to_say_that_it_is_too_much(
    poster: Bot, simulator: FeishuSimulator, store: Store
) -> None:
    await deliver(poster, store, poster.address(), TEXT)

    assert {call.status for call in simulator.calls} == {200}


async def test_a_long_answer_takes_as_few_messages_as_fit(
    poster: Bot, simulator: FeishuSimulator, store: Store
) -> None:
    text = "\n\n".join(f"Paragraph {number}: " + "word " * 60 for number in range(160))

    await deliver(poster, store, poster.address(), text, pieces=4)

    shown = simulator.chat("ann")
    assert len(shown) == 3
    assert " ".join(" ".join(one.text for one in shown).split()) == " ".join(text.split())
