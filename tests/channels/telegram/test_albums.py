"""An album is one message, also when its parts come late or the bot goes down between them."""

from tests.channels.telegram.conftest import Bench, failed
from tests.simulators.platform import File

FILES = [File(name=f"{name}.png", data=b"\x89PNG", mime="image/png", kind="image") for name in "abc"]


async def test_the_parts_of_an_album_are_one_message(bench: Bench) -> None:
    await bench.running()
    parts = await bench.telegram.album("ann", FILES, text="three")

    message = await bench.ear.heard("three")

    assert message.platform_id == parts[0]
    assert len(message.attachments) == 3
    assert len(bench.ear.taken) == 1


async def test_what_is_said_after_an_album_comes_after_it(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.album("ann", FILES, text="these")
    await bench.telegram.album("ann", FILES[:2], text="and these")
    await bench.telegram.user_says("ann", "nice?")

    await bench.ear.heard("nice?")

    assert bench.ear.texts == ["these", "and these", "nice?"]
    assert [len(one.attachments) for one in bench.ear.taken.values()] == [3, 2, 0]


async def test_an_album_outlives_a_restart_between_its_parts(bench: Bench) -> None:
    await bench.running()
    await bench.telegram.album("ann", FILES[:2], text="three", group="g1")
    await bench.telegram.until(lambda: bench.telegram.push.confirmed == 2)
    await bench.stop()
    await bench.running()
    await bench.telegram.album("ann", FILES[2:], group="g1")

    message = await bench.ear.heard("three")

    assert len(message.attachments) == 3
    assert len(bench.ear.taken) == 1


async def test_an_album_that_can_not_be_taken_at_first_is_taken_later(bench: Bench) -> None:
    bench.ear.failures = 1
    await bench.running()
    await bench.telegram.album("ann", FILES, text="three")

    message = await bench.ear.heard("three")

    assert len(message.attachments) == 3


async def test_a_part_is_not_confirmed_before_it_is_kept(bench: Bench) -> None:
    adapter = await bench.running()
    bench.memory.failures = 1
    await bench.telegram.album("ann", FILES, text="three")
    await failed(bench.runs.pop())

    assert bench.telegram.push.confirmed == 0
    assert "can't be kept" in (adapter.liveness.cause or "")

    bench.run(adapter)
    assert len((await bench.ear.heard("three")).attachments) == 3
