"""Commands and presses that Discord posts are heard and answered as those of the gateway."""

import json
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.routing import Route

from channels.discord.adapter import DiscordAdapter
from tests.channels.discord.conftest import Bench, final
from tests.security.posting import post

KEY = Ed25519PrivateKey.generate()
PUBLIC = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


async def send(adapter: DiscordAdapter, interaction: object) -> int:
    (route,) = adapter.routes
    assert isinstance(route, Route)
    body, stamp = json.dumps(interaction).encode(), str(int(time.time()))
    proof = KEY.sign(stamp.encode() + body).hex()
    return await post(route, body, {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": proof})


async def test_a_command_that_is_posted_is_heard_acknowledged_and_answered(bench: Bench) -> None:
    adapter = await bench.running(bench.adapter(public_key=PUBLIC))
    world, interactions = bench.discord.world, bench.discord.interactions
    await bench.discord.until(lambda: "switch" in interactions.commands)
    ann = world.person("ann")
    used = interactions.use("switch", "to the other", world.direct("ann", ann), ann)

    status = await send(adapter, used.as_json(world))
    asked = await bench.ear.heard("/switch to the other")
    await adapter.post(bench.place("ann"), final("Done.", answers=asked.platform_id), key="a")

    assert status == 202
    assert interactions.failed == []
    assert bench.discord.texts("ann") == ["Done."]


async def test_an_interaction_that_comes_again_is_one_message(bench: Bench) -> None:
    adapter = await bench.running(bench.adapter(public_key=PUBLIC))
    world, interactions = bench.discord.world, bench.discord.interactions
    await bench.discord.until(lambda: "help" in interactions.commands)
    ann = world.person("ann")
    used = interactions.use("help", "", world.direct("ann", ann), ann).as_json(world)

    await send(adapter, used)
    await bench.ear.heard("/help")
    await send(adapter, used)
    await bench.ear.until(lambda: bench.ear.takes == 2)

    assert bench.ear.texts == ["/help"]


async def test_before_the_gateway_is_there_discord_is_told_to_wait(bench: Bench) -> None:
    adapter = bench.adapter(public_key=PUBLIC)

    assert await send(adapter, {"type": 2}) == 503


async def test_without_a_key_there_is_no_url(bench: Bench) -> None:
    assert list(bench.adapter().routes) == []
