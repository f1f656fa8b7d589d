"""What model calls used: added up by day, person, session and model, and kept."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

from msgspec.structs import replace

from bot.agent.accounts import Amount, Scope
from bot.agent.store import Spent
from bot.commands.usage import Used
from bot.messages import RunId, SessionKey
from memory.database import DATABASE, migrate, migrations
from memory.store import Store
from tests.commands.desk import Desk, chat_key

DAY = "2031-05-17"


def spent(
    *,
    day: str = DAY,
    person: str = "telegram:42",
    session: str = "telegram:default:main",
    model: str = "m",
    prompt: int = 10,
    cost: int = 0,
) -> Spent:
    return Spent(
        day=day,
        person=person,
        channel=person.split(":")[0],
        session=SessionKey(session),
        model=model,
        calls=1,
        prompt=prompt,
        completion=1,
        cached=5,
        cost=cost,
    )


def rows_of(home: Path) -> int:
    with closing(connect(home / DATABASE)) as db:
        (rows,) = db.execute("SELECT COUNT(*) FROM usage").fetchone()
        return int(rows)


async def test_what_a_turn_used_is_kept_by_the_commit_that_ends_it(home: Path, store: Store) -> None:
    await Desk(home, store).talks("a", tokens=10, cost=7)

    (used,) = await store.usage.by_model(since=DAY[:2])
    assert used == Used(name="gpt-5", calls=1, prompt=10, completion=1, cached=5, cost=7)
    assert await store.usage.by_model(since="9999") == []
    assert await store.usage.of_chat(chat_key(), since="9999") == []
    assert await store.usage.of_session(SessionKey("telegram:default:other")) == []


async def test_the_table_grows_with_days_and_people_and_never_with_turns(home: Path, store: Store) -> None:
    for _ in range(50):
        await store.usage.add([spent(), spent(person="telegram:1")])

    assert rows_of(home) == 2
    (used,) = await store.usage.of_person("telegram:42", since=DAY)
    assert used == Used(name="m", calls=50, prompt=500, completion=50, cached=250)


async def test_each_scope_has_its_own_sum(store: Store) -> None:
    await store.usage.add(
        [
            spent(cost=3),
            spent(session="telegram:default:second"),
            spent(person="slack:42", session="slack:default:main"),
            spent(day="2031-05-16"),
        ]
    )
    scopes = [
        Scope("person", "telegram:42", DAY),
        Scope("channel", "telegram", DAY),
        Scope("all", "", DAY),
        Scope("session", "telegram:default:main", None),
        Scope("person", "telegram:nobody", DAY),
    ]

    assert await store.usage.used(scopes) == [
        Amount(22, 3),
        Amount(22, 3),
        Amount(33, 3),
        Amount(22, 3),
        Amount(0, 0),
    ]


async def test_the_sums_stay_when_a_session_is_deleted(home: Path, store: Store) -> None:
    desk = Desk(home, store)
    session = await desk.talks("a", tokens=10)
    await store.sessions.delete(chat_key(), session, but=RunId("none"))

    assert sum(one.prompt for one in await store.usage.of_chat(chat_key(), since=DAY[:2])) == 10
    assert await store.usage.used([Scope("session", session, None)]) == [Amount(11, 0)]


async def test_people_and_days_come_in_an_order_that_can_be_read(store: Store) -> None:
    await store.usage.add([spent(person=f"telegram:{number}", prompt=number) for number in range(1, 20)])
    await store.usage.add([spent(day="2031-05-18"), spent(day="2031-05-01")])

    def names(used: Sequence[Used]) -> list[str]:
        return [one.name for one in used]

    assert names(await store.usage.by_person(since=DAY, limit=2)) == ["telegram:19", "telegram:18"]
    assert names(await store.usage.by_day(since=DAY, limit=10)) == ["2031-05-18", DAY]


async def test_what_was_used_is_told_by_channel(store: Store) -> None:
    slack, telegram = (
        replace(spent(prompt=prompt), channel=name) for name, prompt in (("slack", 5), ("telegram", 9))
    )
    await store.usage.add([slack, telegram])

    used = await store.usage.by_channel(since=DAY)

    assert [(one.name, one.prompt) for one in used] == [("telegram", 9), ("slack", 5)]


def test_turns_from_before_the_table_was_there_are_in_it(tmp_path: Path) -> None:
    with closing(connect(tmp_path / DATABASE, isolation_level=None)) as db:
        for number, script in migrations()[:7]:
            db.executescript(f"{script}\nPRAGMA user_version = {number};")
        for run, model, started in (("r1", "m", 0.0), ("r2", "m", 90_000.0), ("r3", None, 90_001.0)):
            db.execute(
                "INSERT INTO turns (run, session, state, attempt, model, prompt_tokens, completion_tokens,"
                " cached_tokens, started_at, ended_at)"
                " VALUES (?, 'web:default:main', 'done', 1, ?, 7, 3, 2, ?, 0)",
                (run, model, started),
            )
        migrate(db)

        rows = db.execute("SELECT day, channel, session, model, calls, prompt FROM usage ORDER BY 1, 4")
        assert rows.fetchall() == [
            ("1970-01-01", "web", "web:default:main", "m", 1, 7),
            ("1970-01-02", "web", "web:default:main", "m", 1, 7),
            ("1970-01-02", "web", "web:default:main", "unknown", 1, 7),
        ]
