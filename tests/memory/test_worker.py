"""The thread that writes: shared commits, and each job's failure its own."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import Fenced, StoreError
from memory.database import Database, connect
from memory.worker import Gathered, Worker

BLOB = 200_000  # bytes; more than a database of a few pages takes


class Bench:
    """A worker, what it told SQLite, and a way to hold it up while jobs gather behind it."""

    def __init__(self, path: Path, max_pending: int = 20_000) -> None:
        self.path = path
        self.statements: list[str] = []
        connection = connect(path, "NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(
            "CREATE TABLE notes (text TEXT UNIQUE, parent TEXT REFERENCES notes (text) DEFERRABLE"
            " INITIALLY DEFERRED)"
        )
        connection.set_trace_callback(self.statements.append)
        self.worker = Worker(connection, name="test writer", commits=True, max_pending=max_pending)
        self._go = threading.Event()

    def hold(self, loop: asyncio.AbstractEventLoop) -> asyncio.Event:
        """A job that keeps the thread busy until `release`; the event says that it runs."""
        running = asyncio.Event()

        def job(db: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(running.set)
            assert self._go.wait(10)

        self.holding = asyncio.create_task(self.worker.run(job))
        return running

    def release(self) -> None:
        self._go.set()

    def add(self, text: str, parent: str | None = None) -> Callable[[sqlite3.Connection], str]:
        """A job that adds a note."""

        def job(db: sqlite3.Connection) -> str:
            db.execute("INSERT INTO notes VALUES (?, ?)", (text, parent))
            return text

        return job

    def notes(self) -> list[str]:
        """What another connection sees, so what is committed."""
        with closing(sqlite3.connect(self.path)) as other:
            return [text for (text,) in other.execute("SELECT text FROM notes ORDER BY rowid")]

    def count(self, statement: str) -> int:
        return sum(line.startswith(statement) for line in self.statements)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "test.db")
    yield bench
    bench.release()
    await bench.worker.close()


async def gather_behind(
    bench: Bench, *jobs: Callable[[sqlite3.Connection], object]
) -> list[object | BaseException]:
    """Let jobs wait together, so that they make one batch; gives their results or errors."""
    await bench.hold(asyncio.get_running_loop()).wait()
    waiting = [asyncio.create_task(bench.worker.run(job)) for job in jobs]
    await asyncio.sleep(0)
    bench.release()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    await bench.holding
    return list(results)


def fail_after(job: Callable[[sqlite3.Connection], object]) -> Callable[[sqlite3.Connection], None]:
    """A job that writes and then finds that it may not."""

    def failing(db: sqlite3.Connection) -> None:
        job(db)
        raise Fenced("not yours")

    return failing


async def test_jobs_that_wait_share_one_commit(bench: Bench) -> None:
    results = await gather_behind(bench, *(bench.add(str(number)) for number in range(50)))

    assert results == [str(number) for number in range(50)]
    assert bench.count("COMMIT") == 2  # the job that held the thread, and all the others


async def test_nobody_hears_of_success_before_the_commit(bench: Bench) -> None:
    async def add(text: str) -> bool:
        await bench.worker.run(bench.add(text))
        return text in bench.notes()

    assert all(await asyncio.gather(*(add(str(number)) for number in range(50))))


async def test_jobs_are_done_in_the_order_in_which_they_were_given(bench: Bench) -> None:
    await gather_behind(bench, *(bench.add(str(number)) for number in range(20)))

    assert bench.notes() == [str(number) for number in range(20)]


async def test_a_failing_job_takes_back_only_its_own_writes(bench: Bench) -> None:
    results = await gather_behind(bench, bench.add("a"), fail_after(bench.add("b")), bench.add("c"))

    assert results[0] == "a"
    assert isinstance(results[1], Fenced)
    assert results[2] == "c"
    assert bench.notes() == ["a", "c"]


async def test_a_broken_rule_of_the_database_is_a_store_error(bench: Bench) -> None:
    await bench.worker.run(bench.add("a"))

    with pytest.raises(StoreError, match="UNIQUE"):
        await bench.worker.run(bench.add("a"))


async def test_a_bug_in_a_job_is_a_store_error_and_the_thread_lives_on(bench: Bench) -> None:
    def broken(db: sqlite3.Connection) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(StoreError, match="a bug") as caught:
        await bench.worker.run(broken)

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert await bench.worker.run(bench.add("a")) == "a"


async def test_a_commit_that_fails_fails_only_whom_it_must(bench: Bench) -> None:
    """The missing parent is noticed by the commit, when both jobs have done their part."""
    orphan, fine = await gather_behind(bench, bench.add("orphan", "nobody"), bench.add("fine"))

    assert isinstance(orphan, StoreError)
    assert fine == "fine"
    assert bench.notes() == ["fine"]


async def test_a_cancelled_caller_disturbs_nobody(bench: Bench) -> None:
    await bench.hold(asyncio.get_running_loop()).wait()
    leaving = asyncio.create_task(bench.worker.run(bench.add("left")))
    staying = asyncio.create_task(bench.worker.run(bench.add("stayed")))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait({leaving})
    bench.release()

    assert await staying == "stayed"
    assert leaving.cancelled()
    assert bench.notes() == ["left", "stayed"]


async def test_callers_wait_when_the_queue_is_full_and_a_cancelled_one_makes_no_room(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "test.db", max_pending=2)
    await bench.hold(asyncio.get_running_loop()).wait()
    cancelled = asyncio.create_task(bench.worker.run(bench.add("a")))
    await asyncio.sleep(0)
    cancelled.cancel()
    beyond = asyncio.create_task(bench.worker.run(bench.add("b")))
    await asyncio.wait({cancelled})
    await asyncio.sleep(0)
    beyond.cancel()  # it never got into the queue
    await asyncio.wait({beyond})
    bench.release()
    await bench.worker.close()

    assert bench.notes() == ["a"]


async def test_closing_finishes_what_waits(bench: Bench) -> None:
    await bench.hold(asyncio.get_running_loop()).wait()
    waiting = [asyncio.create_task(bench.worker.run(bench.add(str(number)))) for number in range(5)]
    await asyncio.sleep(0)
    closing_down = asyncio.create_task(bench.worker.close())
    await asyncio.sleep(0)
    bench.release()
    await closing_down

    assert await asyncio.gather(*waiting) == ["0", "1", "2", "3", "4"]


async def test_a_caller_that_waits_for_room_is_told_when_the_worker_closes(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "test.db", max_pending=1)
    await bench.hold(asyncio.get_running_loop()).wait()
    outside = asyncio.create_task(bench.worker.run(bench.add("late")))
    await asyncio.sleep(0)
    closing_down = asyncio.create_task(bench.worker.close())
    await asyncio.sleep(0)
    bench.release()
    await closing_down

    with pytest.raises(StoreError, match="closed"):
        await outside


async def test_a_closed_worker_takes_no_job(bench: Bench) -> None:
    await bench.worker.close()

    with pytest.raises(StoreError, match="closed"):
        await bench.worker.run(bench.add("late"))


def note(text: str) -> Callable[[sqlite3.Connection], None]:
    """A job on the real database that keeps a text."""

    def job(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO aliases VALUES (?, ?)", (text[:40], text))

    return job


def limit_pages(extra: int) -> Callable[[sqlite3.Connection], None]:
    """A job that leaves the database room for so many more pages, as a full disk does."""

    def job(db: sqlite3.Connection) -> None:
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {count + extra}")

    return job


def kept(db: sqlite3.Connection) -> list[str]:
    return [alias for (alias,) in db.execute("SELECT alias FROM aliases ORDER BY rowid")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


async def test_on_a_full_disk_every_caller_is_told_and_nothing_is_half_written(path: Path) -> None:
    async with Database(path) as database:
        await database.write(limit_pages(0))
        texts = [f"{number:02}" + "x" * BLOB for number in range(5)]
        results = await asyncio.gather(
            *(database.write(note(text)) for text in texts), return_exceptions=True
        )

        assert all(isinstance(result, StoreError) for result in results)
        assert all("full" in str(result) for result in results)
        assert await database.read(kept) == []


async def test_what_still_fits_on_a_full_disk_is_written_though_its_batch_failed(path: Path) -> None:
    async with Database(path) as database:
        await database.write(note("first"))
        await database.write(limit_pages(0))
        results = await asyncio.gather(
            database.write(note("small")), database.write(note("b" * BLOB)), return_exceptions=True
        )

        assert results[0] is None
        assert isinstance(results[1], StoreError)
        assert await database.read(kept) == ["first", "small"]


async def test_writes_work_again_when_the_disk_has_room(path: Path) -> None:
    async with Database(path) as database:
        await database.write(limit_pages(0))
        with pytest.raises(StoreError):
            await database.write(note("a" * BLOB))
        await database.write(limit_pages(1000))
        await database.write(note("a" * BLOB))

        assert len(await database.read(kept)) == 1


class Listed:
    """Work that adds all notes that it is given by one statement, and remembers how many came together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, db: sqlite3.Connection, texts: Sequence[str]) -> list[str]:
        self.sizes.append(len(texts))
        if "bad" in texts:
            raise Fenced("one of them")
        db.execute(f"INSERT INTO notes (text) VALUES {', '.join(['(?)'] * len(texts))}", tuple(texts))
        return [text.upper() for text in texts]


async def test_jobs_of_one_kind_are_done_as_one_but_never_past_another_job(bench: Bench) -> None:
    listed = Listed()
    jobs: list[Callable[[sqlite3.Connection], object]] = [
        Gathered(listed, "a"),
        bench.add("between"),
        Gathered(listed, "b"),
        Gathered(listed, "c"),
    ]

    results = await gather_behind(bench, *jobs)

    assert results == ["A", "between", "B", "C"]
    assert listed.sizes == [1, 2]
    assert sorted(bench.notes()) == ["a", "b", "between", "c"]


async def test_of_jobs_that_were_gathered_the_one_that_fails_fails_alone(bench: Bench) -> None:
    listed = Listed()

    results = await gather_behind(bench, *(Gathered(listed, text) for text in ("a", "bad", "b")))

    assert [type(result) for result in results] == [str, Fenced, str]
    assert listed.sizes == [3, 1, 1, 1]
    assert bench.notes() == ["a", "b"]


async def test_kinds_are_not_mixed(bench: Bench) -> None:
    first, second = Listed(), Listed()

    await gather_behind(bench, Gathered(first, "a"), Gathered(second, "b"), Gathered(first, "c"))

    assert (first.sizes, second.sizes) == ([2], [1])
