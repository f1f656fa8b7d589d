"""Only what a platform has signed, lately and as it stands, gets through its hook."""

import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from bot.errors import ConfigError
from channels.discord.hook import REPLAY_SECONDS as DISCORD_SECONDS
from channels.discord.hook import Hook as DiscordHook
from channels.discord.hook import Seal
from channels.feishu.webhook import CLOCK_SECONDS, Gate, Webhook
from channels.feishu.webhook import REPLAY_SECONDS as FEISHU_SECONDS
from channels.slack.hooks import Hook as SlackHook
from channels.telegram.client import Client
from channels.telegram.hook import HEADER
from channels.telegram.hook import Hook as TelegramHook
from tests.security.posting import post
from tests.simulators.feishu_push import encrypt

SECRET = "a secret of the hook"
SLACK_SECONDS = 300
EVENT = json.dumps(
    {"type": "event_callback", "header": {"token": SECRET}, "event": {"text": "hello"}}
).encode()


@dataclass(frozen=True, slots=True)
class Signed:
    """A request, as the platform would send it."""

    body: bytes
    headers: dict[str, str]


Sign = Callable[[bytes, int], Signed]


@dataclass(frozen=True, slots=True)
class Door:
    """A hook, what it has taken, and how its platform signs for a time."""

    route: Route
    sign: Sign
    good: int
    taken: list[object] = field(default_factory=list)

    async def status(self, request: Signed) -> int:
        return await post(self.route, request.body, request.headers)

    async def is_shut_for(self, request: Signed) -> bool:
        """Whether a request is turned away, and nothing of it is taken."""
        before = len(self.taken)
        status = await self.status(request)
        return 400 <= status < 500 and len(self.taken) == before


def keep(taken: list[object]) -> Callable[..., Awaitable[None]]:
    async def take(*what: object) -> None:
        taken.append(what)

    return take


def slack() -> Door:
    def sign(body: bytes, at: int) -> Signed:
        proof = hmac.new(SECRET.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        headers = {"X-Slack-Request-Timestamp": str(at), "X-Slack-Signature": f"v0={proof}"}
        return Signed(body, headers | {"Content-Type": "application/json"})

    taken: list[object] = []
    return Door(SlackHook("default", SECRET, take=keep(taken)).route, sign, 200, taken)


def feishu() -> Door:
    def sign(body: bytes, at: int) -> Signed:
        sealed = json.dumps({"encrypt": encrypt(body, SECRET)}).encode()
        proof = hashlib.sha256(f"{at}nonce{SECRET}".encode() + sealed).hexdigest()
        names = ("X-Lark-Request-Timestamp", "X-Lark-Request-Nonce", "X-Lark-Signature")
        return Signed(sealed, dict(zip(names, (str(at), "nonce", proof), strict=True)))

    taken: list[object] = []
    webhook = Webhook(Gate(token=SECRET, encrypt_key=SECRET), keep(taken))
    return Door(Route("/hooks/feishu/default", webhook.answer, methods=["POST"]), sign, 200, taken)


def discord() -> Door:
    key = Ed25519PrivateKey.generate()

    def sign(body: bytes, at: int) -> Signed:
        proof = key.sign(str(at).encode() + body).hex()
        return Signed(body, {"X-Signature-Timestamp": str(at), "X-Signature-Ed25519": proof})

    taken: list[object] = []
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    return Door(DiscordHook("default", Seal(public), take=taken.append).route, sign, 202, taken)


DOORS = {"slack": slack, "feishu": feishu, "discord": discord}
WINDOWS = {"slack": SLACK_SECONDS, "feishu": FEISHU_SECONDS, "discord": DISCORD_SECONDS}
AHEAD = WINDOWS | {"feishu": CLOCK_SECONDS}
every_door = pytest.mark.parametrize("name", DOORS)


@every_door
async def test_what_is_signed_is_taken(name: str) -> None:
    door = DOORS[name]()

    assert await door.status(door.sign(EVENT, int(time.time()))) == door.good
    assert len(door.taken) == 1


@every_door
async def test_what_was_signed_too_long_ago_or_for_later_is_not(name: str) -> None:
    door, now = DOORS[name](), int(time.time())

    assert await door.status(door.sign(EVENT, now - WINDOWS[name] + 30)) == door.good
    assert await door.status(door.sign(b" " + EVENT, now + AHEAD[name] - 30)) == door.good
    assert await door.is_shut_for(door.sign(EVENT, now - WINDOWS[name] - 30))
    assert await door.is_shut_for(door.sign(EVENT, now + AHEAD[name] + 30))


@every_door
async def test_the_time_belongs_to_what_is_signed(name: str) -> None:
    door, now = DOORS[name](), int(time.time())
    old = door.sign(EVENT, now - WINDOWS[name] - 30)
    stamp = next(header for header in old.headers if "Timestamp" in header)

    for time_now in (str(now), f" {now}", f"+{now}", "", "soon", "9" * 400, "²", "-1", "1e9"):
        assert await door.is_shut_for(replace(old, headers=old.headers | {stamp: time_now})), time_now


@every_door
async def test_every_header_is_needed(name: str) -> None:
    door = DOORS[name]()
    request = door.sign(EVENT, int(time.time()))

    for missing in request.headers.keys() - {"Content-Type"}:
        headers = {header: value for header, value in request.headers.items() if header != missing}
        assert await door.is_shut_for(replace(request, headers=headers)), missing


@every_door
@settings(max_examples=150, deadline=None)
@given(data=st.data())
async def test_nothing_that_was_changed_gets_through(name: str, data: st.DataObject) -> None:
    door = DOORS[name]()
    request = door.sign(EVENT, int(time.time()))
    place = data.draw(st.integers(0, len(request.body) - 1))
    inserted = data.draw(st.binary(max_size=3))
    removed = data.draw(st.integers(0, 3))
    changed = request.body[:place] + inserted + request.body[place + removed :]
    if changed == request.body:
        return

    assert await door.is_shut_for(replace(request, body=changed))


@every_door
@settings(max_examples=150, deadline=None)
@given(data=st.data())
async def test_no_other_proof_gets_through(name: str, data: st.DataObject) -> None:
    door = DOORS[name]()
    request = door.sign(EVENT, int(time.time()))
    header = data.draw(
        st.sampled_from([one for one in request.headers if "Sign" in one and "Time" not in one])
    )
    proof = request.headers[header]
    place = data.draw(st.integers(0, len(proof) - 1))
    sign = data.draw(st.characters(min_codepoint=33, max_codepoint=126))
    forged = data.draw(st.sampled_from([proof[:place] + sign + proof[place + 1 :], proof[:place], proof * 2]))
    if forged.lower() == proof.lower():
        return

    assert await door.is_shut_for(replace(request, headers=request.headers | {header: forged}))


async def test_a_request_of_feishu_that_was_kept_by_others_does_nothing_a_second_time() -> None:
    door, now = feishu(), int(time.time())
    request = door.sign(EVENT, now)

    statuses = [await door.status(request) for _ in range(3)]

    assert (statuses, len(door.taken)) == ([200] * 3, 1)


async def test_a_request_of_feishu_that_could_not_be_taken_may_come_again() -> None:
    tries: list[bytes] = []

    async def fail_once(plain: bytes) -> None:
        tries.append(plain)
        if len(tries) == 1:
            raise TimeoutError

    webhook = Webhook(Gate(token=SECRET, encrypt_key=SECRET), fail_once)
    route = Route("/hooks/feishu/default", webhook.answer, methods=["POST"])
    request = feishu().sign(EVENT, int(time.time()))

    statuses = [await post(route, request.body, request.headers) for _ in range(2)]

    assert (statuses, len(tries)) == ([503, 200], 2)


@cache
def telegram() -> tuple[Route, list[object]]:
    """The hook, and what it has taken; one for all, as an SDK's client takes its time to make."""
    taken: list[object] = []
    client = Client("1:a", "http://127.0.0.1:9")
    hook = TelegramHook(
        client, account="default", secret=SECRET, public_url=None, take=keep(taken), note=lambda: None
    )
    return hook.route, taken


@settings(max_examples=200, deadline=None)
@given(secret=st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))))
async def test_telegram_is_known_by_its_secret_alone(secret: str) -> None:
    route, taken = telegram()
    taken.clear()

    right = await post(route, b"{}", {HEADER: SECRET})
    other = await post(route, b"{}", {HEADER: secret}) if secret.strip() != SECRET else 401
    none = await post(route, b"{}", {})

    assert (right, other, none, len(taken)) == (200, 401, 401, 1)


async def test_discord_sees_that_we_look_at_signatures() -> None:
    """Before it takes a URL, Discord sends a ping, and one with a wrong signature."""
    door = discord()
    ping = door.sign(b'{"type":1}', int(time.time()))

    assert await door.status(ping) == 200
    assert await door.is_shut_for(replace(ping, headers=ping.headers | {"X-Signature-Ed25519": "00" * 64}))
    assert await door.status(door.sign(b"[1", int(time.time()))) == 400
    assert await door.status(door.sign(b"x" * (2**20 + 1), int(time.time()))) == 413
    assert door.taken == []


@pytest.mark.parametrize("key", ["", "ab", "x" * 64, "00" * 33])
def test_what_is_no_key_of_discord_is_told(key: str) -> None:
    with pytest.raises(ConfigError, match="BOT_DISCORD__PUBLIC_KEY"):
        Seal(key)
