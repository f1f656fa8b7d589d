"""What follows from the check of messages: for strangers, for admins, for groups, and after a release."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.agent.store import Overheard
from bot.agent.taint import Taint, tainted
from bot.commands.release import Blocked
from bot.errors import StoreError
from bot.messages import InboundMessage, Role, RunId, SessionKey, Trigger, new_id, utc_now
from bot.settings.guardian import GuardianSettings
from memory.blocked import BlockedMessages
from memory.database import DATABASE, Database
from memory.store import Store
from security.guardian import Guardian, MessageGuard
from security.injection import LazyScanner
from tests.commands.desk import Notes
from tests.factories import inbound
from tests.security.guardian.conftest import NamedLevels


class Full(BlockedMessages):
    """A shelf on a disk that takes nothing more."""

    async def put(self, blocked: Blocked) -> None:
        raise StoreError("disk full")

    async def is_released(self, run: RunId) -> bool:
        return False


class Post:
    """The guard over a real store, with what it writes down."""

    def __init__(
        self, store: Store, shelf: BlockedMessages, scanner: NamedLevels, *, is_silent: bool = False
    ) -> None:
        self.store = store
        self.shelf = shelf
        self.audit = Notes()
        self.told: list[Blocked] = []
        self.turn = Taint()
        self.guard = MessageGuard(
            Guardian(GuardianSettings(), LazyScanner(scanner.load)),
            self.shelf,
            audit=self.audit,
            is_admin=lambda message: message.sender.role in (Role.OWNER, Role.ADMIN),
            is_silent=is_silent,
            on_blocked=self.told.append,
        )

    async def says(self, message: InboundMessage) -> str | None:
        """What somebody is told instead of an answer; `None` where the message passes."""
        self.turn = Taint()
        with tainted(self.turn):
            refusal = await self.guard(message)
        return refusal.text if refusal is not None else None

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.audit.events]


@pytest.fixture
def database(home: Path, store: Store) -> Database:
    return Database(home / DATABASE, synchronous="NORMAL")


@pytest.fixture
async def post(store: Store, database: Database, scanner: NamedLevels) -> AsyncIterator[Post]:
    async with database:
        yield Post(store, BlockedMessages(database), scanner)


def by(role: Role, text: str) -> InboundMessage:
    message = inbound(text)
    return replace(message, sender=replace(message.sender, role=role))


@pytest.mark.parametrize("level", ["HIGH", "CRITICAL"])
async def test_a_message_that_is_high_is_blocked_with_a_reference(post: Post, level: str) -> None:
    message = inbound(f"{level} text")
    told = await post.says(message)
    kept = await post.shelf.find(message.run[-8:])

    assert told == f"Message blocked by safety check. Reference: {message.run[-8:]}"
    assert kept is not None
    assert (kept.message, kept.level, kept.reasons) == (message, level, ("override",))
    assert [(event.status, event.severity, event.target) for event in post.audit.events] == [
        ("blocked", "critical", message.run[-8:])
    ]
    assert [one.reference for one in post.told] == [message.run[-8:]]


async def test_a_blocked_message_is_kept_from_the_model_of_later_turns(post: Post) -> None:
    message = inbound("HIGH text")
    await post.store.journal.accept(message, history=10)
    await post.says(message)
    upcoming = await post.store.journal.upcoming(message.session, history=10)

    assert [line.text for line in upcoming.history] == []


async def test_the_person_is_not_told_where_the_operator_wants_silence(
    store: Store, database: Database, scanner: NamedLevels
) -> None:
    async with database:
        post = Post(store, BlockedMessages(database), scanner, is_silent=True)

        assert await post.says(inbound("HIGH text")) == ""


async def test_medium_marks_the_turn_and_takes_away_what_acts(post: Post) -> None:
    told = await post.says(inbound("MEDIUM text"))

    assert told is None
    assert "override" in (post.turn.restriction or "")
    assert post.turn.origins == {"stranger": "the message itself"}
    assert post.statuses == ["marked"]


@pytest.mark.parametrize("text", ["hello", "LOW text", "", "  "])
async def test_what_is_low_passes_unmarked(post: Post, text: str) -> None:
    assert await post.says(inbound(text)) is None
    assert (post.turn.restriction, post.statuses) == (None, [])


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
async def test_admins_are_marked_where_others_are_blocked(post: Post, role: Role) -> None:
    high = await post.says(by(role, "CRITICAL text"))
    is_marked = post.turn.restriction is not None
    medium = await post.says(by(role, "MEDIUM text"))

    assert (high, medium, is_marked, post.turn.restriction) == (None, None, True, None)
    assert post.statuses == ["marked", "passed"]


async def test_a_released_message_runs_but_stays_marked(post: Post) -> None:
    message = inbound("HIGH text")
    await post.says(message)
    run = RunId(new_id())
    await post.shelf.release(message.run[-8:], run)
    again = replace(message, id=run, platform_id="release:x")

    assert await post.says(again) is None
    assert post.turn.restriction is not None


async def test_a_message_that_is_taken_up_again_after_a_crash_has_the_same_reference(post: Post) -> None:
    message = inbound("HIGH text")

    assert await post.says(message) == await post.says(message)
    assert len(await post.shelf.waiting(limit=9)) == 1


async def test_a_store_that_takes_nothing_blocks_all_the_same(
    store: Store, database: Database, scanner: NamedLevels
) -> None:
    post = Post(store, Full(database), scanner)

    assert "blocked" in (await post.says(inbound("HIGH text")) or "")
    assert post.statuses == ["blocked"]


async def test_a_heartbeat_is_not_looked_at(post: Post, scanner: NamedLevels) -> None:
    assert await post.says(inbound("HIGH text", trigger=Trigger.HEARTBEAT)) is None
    assert scanner.lenient == []


async def test_of_what_was_overheard_the_worst_is_left_out_and_the_rest_marked(
    post: Post, scanner: NamedLevels
) -> None:
    texts = ("hello", "HIGH text", "MEDIUM text", '"HIGH quoted"')
    lines = [Overheard(speaker="Eve", text=text, at=utc_now()) for text in texts]
    with tainted(post.turn):
        kept = await post.guard.screen(inbound("what do they say?"), lines)

    assert [line.text for line in kept] == ["hello", "MEDIUM text"]
    assert "group" in (post.turn.restriction or "")
    assert post.statuses == ["overheard text left out", "marked", "overheard text left out"]
    assert scanner.lenient == [False] * 4


async def test_a_guard_outside_of_a_turn_lets_nothing_suspicious_through(post: Post) -> None:
    with pytest.raises(RuntimeError):  # which blocks: see `Turn`
        await post.guard(inbound("MEDIUM text", session=SessionKey("web:default:main")))
