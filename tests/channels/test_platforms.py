"""All accounts together: what is wrong with one concerns no other."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection

import pytest
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from bot.bus import LocalBus, Receipt
from bot.errors import ChannelError, ConfigError, StoreError
from bot.messages import Address, End, InboundMessage, InboxUpdate, Kind, utc_now
from bot.settings import ChannelSettings, WebSettings
from bot.web.health import Readiness
from bot.web.server import WebServer
from channels.base import Liveness, Setup, State
from channels.delivery.outbox import Outbox
from channels.intake import Rules
from channels.platforms import Account, Platforms, Surroundings
from channels.registry import SDKS, AdapterFactory
from memory.store import Store
from tests.channels.delivery.platform import Clock, Platform, PlatformAdapter
from tests.factories import inbound


class Station(PlatformAdapter):
    """An account of the platform that a test plays."""

    def __init__(self, platform: Platform, setup: Setup[ChannelSettings]) -> None:
        super().__init__(platform)
        self.account = setup.account
        self.setup = setup
        self.is_up = asyncio.Event()
        self.is_closed = False
        self.presence: tuple[str, str | None] | None = None
        self.liveness = Liveness(is_connected=False)
        if setup.account == "hooked":
            self.routes: Sequence[BaseRoute] = [Route("/hooks/other/hooked", self._take, methods=["POST"])]

    async def _take(self, request: Request) -> Response:
        return PlainTextResponse(f"taken {(await request.body()).decode()}")

    async def run(self) -> None:
        self.liveness = Liveness(is_connected=True)
        self.is_up.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_up.clear()
            self.liveness = Liveness(is_connected=False)

    async def set_presence(self, status: str, activity: str | None) -> None:
        if self.account == "shy":
            raise ChannelError("no presence here", permanent=True)
        self.presence = (status, activity)

    async def aclose(self) -> None:
        self.is_closed = True


class BrokenOutbox:
    """The outbox of a store that can't be read for one account."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.posted, self.record, self.forget = outbox.posted, outbox.record, outbox.forget
        self.confirm, self.give_up, self.count_try = outbox.confirm, outbox.give_up, outbox.count_try

    async def pending(self, channel: str, account: str = "default") -> list[End]:
        if account == "unread":
            raise StoreError("the disk is gone")
        return await self._outbox.pending(channel, account)


@dataclass
class Harbour:
    """Platforms with what is around them."""

    store: Store
    bus: LocalBus = field(default_factory=LocalBus)
    platform: Platform = field(default_factory=lambda: Platform(Clock()))
    stations: dict[str, Station] = field(default_factory=dict)
    taken: list[InboundMessage] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    is_conversing: bool = False

    @property
    def outbox(self) -> Outbox:
        return BrokenOutbox(self.store.outbox)

    def state(self, channel: str, account: str) -> State:
        return self.store.state(channel, account)

    def account(self, name: str, factory: AdapterFactory | None = None, **settings: object) -> Account:
        section = ChannelSettings.model_validate({"typing": False, **settings})
        return Account(channel="other", name=name, settings=section, factory=factory or self.make)

    def make(self, setup: Setup[ChannelSettings]) -> Station:
        station = self.stations[setup.account] = Station(self.platform, setup)
        return station

    @asynccontextmanager
    async def open(self, *accounts: Account) -> AsyncIterator[Platforms]:
        self.bus.serve(self._accept)
        surroundings = Surroundings(
            bus=self.bus,
            store=self,
            rules=Rules(is_conversing=lambda address: self.is_conversing, is_command=lambda text: False),
            names=lambda: ("Rosie",),
            on_dead=lambda address, cause: self.dead.append(cause),
        )
        async with Platforms(accounts, surroundings) as platforms:
            yield platforms

    async def _accept(self, message: InboundMessage) -> Receipt:
        self.taken.append(message)
        return Receipt.ACCEPTED

    async def up(self, *names: str) -> None:
        """Wait until accounts hear."""
        await until(lambda: all(name in self.stations for name in names))
        for name in names:
            await asyncio.wait_for(self.stations[name].is_up.wait(), 5)


async def until(claim: Callable[[], bool]) -> None:
    """Let the tasks of this loop go on until a claim is true."""
    async with asyncio.timeout(5):
        while not claim():
            await asyncio.to_thread(bool)


@pytest.fixture
def harbour(store: Store) -> Harbour:
    return Harbour(store)


def group(account: str = "one") -> Address:
    return Address(channel="other", account=account, chat="group", is_direct=False)


async def test_every_account_hears_and_is_closed_in_the_end(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("one"), harbour.account("two")) as platforms:
        await harbour.up("one", "two")
        states = [(state.account, state.is_connected) for state in platforms.states()]
        found = platforms.adapter("other", "two")

    assert states == [("one", True), ("two", True)]
    assert found is harbour.stations["two"]
    assert all(station.is_closed for station in harbour.stations.values())


async def test_what_an_account_hears_comes_to_the_bus(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("one")):
        await harbour.up("one")
        await harbour.stations["one"].setup.intake.take(
            inbound("hi", session="other:one:main"), is_addressed=False
        )

    assert [message.text for message in harbour.taken] == ["hi"]


@pytest.mark.parametrize("fault", [ChannelError("no such bot"), ZeroDivisionError("a bug")])
async def test_an_account_that_can_not_be_made_concerns_no_other(harbour: Harbour, fault: Exception) -> None:
    def refuse(setup: Setup[ChannelSettings]) -> Station:
        raise fault

    async with harbour.open(harbour.account("bad", refuse), harbour.account("good")) as platforms:
        await harbour.up("good")
        bad, good = platforms.states()

    assert (bad.is_connected, bad.cause) == (False, str(fault))
    assert good.is_connected


async def test_an_account_whose_outbox_can_not_be_read_concerns_no_other(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("unread"), harbour.account("good")) as platforms:
        await harbour.up("good")
        await until(lambda: platforms.states()[0].cause == "the disk is gone")

        assert platforms.states()[1].is_connected
        assert harbour.stations["unread"].is_closed


async def test_a_missing_sdk_stops_the_start(harbour: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SDKS, "telegram", "surely_not_installed")
    account = Account(channel="telegram", name="default", settings=ChannelSettings())
    with pytest.raises(ConfigError, match="pip install"):
        async with harbour.open(account):
            pytest.fail("it started")


async def test_a_channel_that_nobody_has_written_is_told_as_its_state(harbour: Harbour) -> None:
    account = Account(channel="icq", name="default", settings=ChannelSettings())
    async with harbour.open(account) as platforms:
        await until(lambda: "icq" in (platforms.states()[0].cause or ""))


async def test_answers_still_go_out_when_nothing_is_heard_any_more(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("one")) as platforms:
        await harbour.up("one")
        message = inbound("hi", session="other:one:main")
        await harbour.store.journal.accept(message, history=0)
        await platforms.stop_hearing()
        is_up = harbour.stations["one"].is_up.is_set()
        harbour.bus.send(
            End(
                run=message.run,
                session=message.session,
                address=message.address,
                attempt=1,
                seq=1,
                reason="done",
                text="bye",
            )
        )
        await harbour.platform.until(lambda: harbour.platform.texts() == ["bye"])

    assert not is_up


async def test_an_account_that_is_ready_after_the_hearing_stopped_never_hears(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("one"), harbour.account("two")) as platforms:
        await platforms.stop_hearing()

    assert not any(station.is_up.is_set() for station in harbour.stations.values())
    assert all(station.is_closed for station in harbour.stations.values())


async def test_where_the_bot_spoke_in_a_group_it_takes_part(harbour: Harbour) -> None:
    harbour.is_conversing = True
    async with harbour.open(harbour.account("one")):
        await harbour.up("one")
        intake = harbour.stations["one"].setup.intake
        said = replace(inbound("lunch?", session="other:one:group", is_direct=False), address=group())
        await intake.take(said, is_addressed=False)
        harbour.bus.emit(spoken(said))
        for _ in range(3):  # until it has heard of it
            await asyncio.sleep(0)
        await intake.take(replace(said, platform_id="next"), is_addressed=False)

    assert [(one.kind, one.may_be_silent) for one in harbour.taken] == [
        (Kind.OVERHEARD, False),
        (Kind.MESSAGE, True),
    ]


def spoken(message: InboundMessage) -> InboxUpdate:
    """The bot has answered."""
    return InboxUpdate(
        session=message.session,
        run=message.run,
        id="answer",
        direction="out",
        address=message.address,
        speaker="Rosie",
        text="yes",
        at=utc_now(),
    )


async def test_presence_is_shown_where_it_can_be(harbour: Harbour) -> None:
    async with harbour.open(harbour.account("one"), harbour.account("shy")) as platforms:
        await harbour.up("one", "shy")
        shown = await platforms.set_presence("dnd", "thinking")

    assert shown == ["other"]
    assert harbour.stations["one"].presence == ("dnd", "thinking")


def test_the_largest_file_is_the_most_that_any_account_of_a_channel_takes(harbour: Harbour) -> None:
    accounts = (harbour.account("one", max_file_mb=3), harbour.account("two", max_file_mb=7))
    surroundings = Surroundings(
        bus=harbour.bus,
        store=harbour,
        rules=Rules(is_conversing=lambda address: False, is_command=lambda text: False),
        names=lambda: ("Rosie",),
        on_dead=lambda address, cause: None,
    )
    platforms = Platforms(accounts, surroundings)

    assert platforms.max_file_bytes("other") == 7_000_000
    assert platforms.max_file_bytes("icq") == 0


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("POST", "/hooks/other/hooked", (200, "taken body")),
        ("GET", "/hooks/other/hooked", (405, "Method Not Allowed")),
        ("POST", "/hooks/other/one", (404, "Nothing listens here.")),
        ("POST", "/hooks/other/nobody", (404, "Nothing listens here.")),
        ("POST", "/hooks/other", (404, "Nothing listens here.")),
        ("POST", "/hooks/other/hooked/more", (404, "Nothing listens here.")),
        ("POST", "/hooks/", (404, "Nothing listens here.")),
    ],
)
async def test_hooks_come_to_the_account_that_they_name(
    harbour: Harbour, method: str, path: str, answer: tuple[int, str]
) -> None:
    async with harbour.open(harbour.account("hooked"), harbour.account("one")) as platforms:
        await harbour.up("hooked", "one")
        async with WebServer(WebSettings(port=0), platforms.routes(), Readiness(None)) as server:
            found = await asyncio.to_thread(request, server.port, method, path)

    assert found == answer


def request(port: int, method: str, path: str) -> tuple[int, str]:
    """Make a request as a platform would."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, "body")
    answer = connection.getresponse()
    found = (answer.status, answer.read().decode())
    connection.close()
    return found
