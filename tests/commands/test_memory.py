"""Commands for what is remembered: shown, taken back, forgotten, searched, taken away."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bot.commands.call import Answer
from bot.commands.engine import Activity
from bot.commands.memory import ALONE, OFF, UNCHANGED, MemoryCommands
from bot.commands.registry import Commands
from bot.commands.sessions import BUSY
from bot.errors import StoreError
from bot.long_term import ByPerson, Fact, LongTerm, Origin, Scope
from bot.messages import Address, Attachment, Button, End, RunId, Sender, SessionKey, new_id
from memory.database import DATABASE, Database
from memory.exports import TEXT, Exports
from memory.long_term.own import OwnMemories
from memory.sessions import Sessions
from memory.store import Store
from tests.commands.desk import ANN, BOSS, Desk, chat_key, message
from tests.memory.long_term.conftest import opened

ME = Scope(kind="person", key="telegram:42")
GROUP = Scope(kind="chat", key="telegram:default:main")
BEN = Sender(id="77", name="Ben")


class Post:
    """Notes the files that are sent."""

    def __init__(self) -> None:
        self.files: list[Attachment] = []
        self.texts: list[str] = []

    async def say(
        self,
        address: Address,
        session: SessionKey,
        text: str,
        *,
        buttons: tuple[Button, ...] = (),
        attachments: tuple[Attachment, ...] = (),
        in_context: bool = False,
    ) -> End:
        self.files += attachments
        self.texts.append(text)
        return End(
            run=RunId(new_id()), session=session, address=address, attempt=1, seq=1, reason="done", text=text
        )


class Counter:
    """Where commands for the memory are given."""

    def __init__(
        self,
        desk: Desk,
        memories: LongTerm | None,
        database: Database,
        home: Path,
        sessions: Sessions | None = None,
    ) -> None:
        self.desk = desk
        self.post = Post()
        exports = Exports(
            database,
            home / "exports",
            speaker=lambda: self.post,
            takes_files=lambda channel: channel != "web",
        )
        made = MemoryCommands(
            memories,
            ByPerson(desk.store.people),
            desk.store.recall,
            sessions or desk.store.sessions,
            desk.bot,
            exports,
            redact=lambda text: text.replace("4111", "[card]"),
            people=desk.store.people,
        )
        self.commands = Commands(made.commands(), admins=lambda: desk.admins, audit=desk.audit)

    async def says(
        self, text: str, *, sender: Sender = ANN, is_direct: bool = True, channel: str = "telegram"
    ) -> Answer:
        return await self.commands.run(message(text, sender=sender, is_direct=is_direct, channel=channel))


@pytest.fixture
async def memories(home: Path, store: Store) -> AsyncIterator[OwnMemories]:
    async with opened("own", home, None) as made:
        assert isinstance(made, OwnMemories)
        yield made


@pytest.fixture
async def counter(home: Path, store: Store, memories: OwnMemories) -> AsyncIterator[Counter]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Counter(Desk(home, store), memories, database, home)


def content_of(file: Attachment) -> bytes:
    """What is in a file, which nobody else on the machine may read."""
    assert file.path is not None
    assert Path(file.path).stat().st_mode & 0o777 == 0o600
    return Path(file.path).read_bytes()


async def learn(memories: LongTerm, *texts: str, run: str = "r1", replaces: int | None = None) -> None:
    origin = Origin(how="learned", by="telegram:42", run=RunId(run))
    await memories.learn(ME, [Fact(text=text, replaces=replaces) for text in texts], origin)


async def texts(memories: LongTerm, scope: Scope = ME) -> Sequence[str]:
    return [one.text for one in await memories.export(scope)]


async def test_the_list_shows_what_is_remembered_and_what_from(
    counter: Counter, memories: OwnMemories
) -> None:
    await learn(memories, "likes *tea*")
    await counter.says("/memory add has a card 4111")
    await memories.learn(ME, [Fact(text="x")], Origin(how="tool", by="telegram:42", foreign=("file", "web")))
    lines = (await counter.says("/memory")).text.split("\n")
    day = f"{(await memories.export(ME))[0].updated_at:%Y-%m-%d}"

    assert lines[:-1] == [
        "**What I remember of you**",
        f"- `3` x: remembered when you asked, {day}, after reading: file, web",
        rf"- `2` has a card \[card\]: added by you, {day}",
        rf"- `1` likes \*tea\*: learned from what you said, {day}",
    ]


async def test_a_long_list_comes_in_pages(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, *(f"fact {number}" for number in range(25)))
    first = (await counter.says("/memory")).text
    second = (await counter.says("/memory list 6")).text

    assert "`/memory list 6`" in first
    assert [line[:5] for line in second.split("\n")[1:6]] == ["- `5`", "- `4`", "- `3`", "- `2`", "- `1`"]


async def test_an_empty_memory_says_how_to_fill_it(counter: Counter) -> None:
    assert "/memory add" in (await counter.says("/memory")).text
    assert (await counter.says("/memory add   ")).reason == "error"


async def test_what_is_known_is_not_added_twice(counter: Counter, memories: OwnMemories) -> None:
    await counter.says("/memory add likes tea")

    assert (await counter.says("/memory add Likes tea!")).text == "I know that already."
    assert await texts(memories) == ["likes tea"]


async def test_what_was_learned_last_is_taken_back(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "lives in Berlin", run="r1")
    await learn(memories, "lives in Rome", run="r2", replaces=1)
    await learn(memories, "likes tea", "likes rain", run="r2")
    answer = await counter.says("/memory undo")

    assert answer.text.split("\n")[0] == "**Taken back**"
    assert await texts(memories) == ["lives in Berlin"]
    assert (await counter.says("/memory undo")).reason == "error"


async def test_what_a_person_added_is_not_taken_back_by_undo(counter: Counter, memories: OwnMemories) -> None:
    await counter.says("/memory add likes tea")
    await counter.says("/memory undo")

    assert await texts(memories) == ["likes tea"]


@pytest.mark.parametrize("text", ["/memory forget 1", "/memory forget #1", "/forget 1"])
async def test_a_memory_is_forgotten_by_its_number(
    counter: Counter, memories: OwnMemories, text: str
) -> None:
    await learn(memories, "likes tea", "likes rain")

    assert (await counter.says(text)).text == "Memory 1 is forgotten."
    assert await texts(memories) == ["likes rain"]


async def test_words_offer_what_may_be_meant(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "allergic to peanuts", "likes tea")
    answer = await counter.says("/forget peanuts")

    assert [(button.label, button.value) for button in answer.buttons] == [("Forget 1", "/forget 1")]
    assert await texts(memories) == ["allergic to peanuts", "likes tea"]


@pytest.mark.parametrize("text", ["/forget 9", "/forget zither", "/memory forget", "/forget"])
async def test_what_is_not_there_is_told(counter: Counter, memories: OwnMemories, text: str) -> None:
    await learn(memories, "likes tea")

    assert (await counter.says(text)).reason == "error"
    assert await texts(memories) == ["likes tea"]


async def test_people_see_and_forget_only_what_is_theirs(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "likes tea")

    assert "Nothing is remembered" in (await counter.says("/memory", sender=BEN)).text
    assert (await counter.says("/forget 1", sender=BEN)).reason == "error"
    assert "Nothing is remembered" in (await counter.says("/memory", is_direct=False)).text
    assert await texts(memories) == ["likes tea"]


async def test_in_a_group_what_others_added_is_theirs_and_admins(
    counter: Counter, memories: OwnMemories
) -> None:
    await counter.says("/memory add meets on Mondays", is_direct=False, sender=BEN)
    refused = await counter.says("/memory forget 1", is_direct=False)
    obeyed = await counter.says("/memory forget 1", is_direct=False, sender=BOSS)

    assert "somebody else" in refused.text
    assert obeyed.text == "Memory 1 is forgotten."
    assert await texts(memories, GROUP) == []


async def test_being_forgotten_is_asked_about_first(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "likes tea")
    session = await counter.desk.talks("hello")
    asked = await counter.says("/forget me")
    declined = await counter.says("/forget me no")

    assert (asked.buttons[0].value, asked.buttons[0].style) == ("/forget me yes", "danger")
    assert declined.text == UNCHANGED
    assert await texts(memories) == ["likes tea"]
    assert await counter.desk.lines(session) == ["hello", "re: hello"]


async def test_who_is_forgotten_leaves_nothing_of_what_was_said_and_known(
    home: Path, counter: Counter, memories: OwnMemories
) -> None:
    await learn(memories, "plays xylophone")
    await counter.desk.talks("I play xylophone")
    await counter.desk.says("/new xylophone")
    await counter.desk.talks("/xylophone")
    await counter.desk.talks("xylophone elsewhere", "other")
    await counter.desk.store.recall.search(chat_key(), chat_key(), ["xylophone"], 1)
    answer = await counter.says("/forget me yes")
    fresh = await counter.desk.talks("hello again")

    assert answer.text == "Forgotten: 1 memory, and all that was said here."
    assert fresh not in (chat_key(), None)
    assert await texts(memories) == []
    async with Database(home / DATABASE) as database:
        tables = ("messages", "sessions", "memories", "memory_words", "line_words", "summaries")
        job = " UNION ALL ".join(
            f"SELECT count(*) FROM {table} t WHERE " + _mentions(table) for table in tables
        )
        counts = await database.read(lambda db: [row[0] for row in db.execute(job)])
    assert counts == [2, 0, 0, 0, 2, 0]  # the other chat's two lines alone


class Stopped(Sessions):
    """Fails once, before it erases another chat."""

    failure: StoreError | None = StoreError("the disk is full")

    async def erase(self, chat: SessionKey, *, but: RunId) -> None:
        if chat == chat_key("other") and self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        await super().erase(chat, but=but)


async def test_who_is_stopped_while_they_are_forgotten_can_start_over(
    home: Path, store: Store, memories: OwnMemories
) -> None:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        counter = Counter(Desk(home, store), memories, database, home, Stopped(database, store.choices))
        for chat in ("main", "other"):
            await store.people.note(message("hello", chat))
            await counter.desk.talks("I play xylophone", chat)
        stopped = await counter.says("/forget me yes")
        again = await counter.says("/forget me yes")

    assert (stopped.reason, again.reason) == ("error", "done")
    assert await counter.desk.lines(chat_key("other")) == []
    assert await store.people.find("telegram:42") is None


def _mentions(table: str) -> str:
    column = {"sessions": "title", "memory_words": "words", "line_words": "words"}.get(table, "text")
    return f"coalesce(t.{column}, '') LIKE '%xylophone%'"


async def test_nobody_is_forgotten_before_others_or_while_something_is_answered(
    counter: Counter, memories: OwnMemories
) -> None:
    await learn(memories, "likes tea")
    session = await counter.desk.talks("hello")
    in_group = await counter.says("/forget me yes", is_direct=False)
    counter.desk.bot.busy[session] = Activity(stage="model")
    busy = await counter.says("/forget me yes")

    assert (in_group.text, busy.text) == (ALONE, BUSY)
    assert await texts(memories) == ["likes tea"]


async def test_a_search_shows_memories_and_lines_of_all_sessions(
    counter: Counter, memories: OwnMemories
) -> None:
    await learn(memories, "has a red boat")
    await counter.desk.talks("the boat *leaks*")
    await counter.desk.says("/new Rome")
    await counter.desk.talks("nothing")
    answer = await counter.says("/search boat")

    assert "has a red boat" in answer.text
    assert r"the boat \*leaks\*" in answer.text
    assert [button.value for button in answer.buttons] == ["/resume 1"]
    assert (await counter.says("/search ?!")).reason == "error"
    assert "Nothing was found" in (await counter.says("/search zither")).text


async def test_a_person_takes_everything_away_as_a_file(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "likes tea")
    await counter.desk.talks("hello")
    await counter.desk.says("/new Rome")
    await counter.desk.talks("which flights?")
    answer = await counter.says("/export me json")
    (file,) = counter.post.files
    content = json.loads(content_of(file))

    assert (answer.text, answer.reason, counter.post.texts) == ("", "silent", [TEXT])
    assert (file.name, file.mime, file.size) == ("export.json", "application/json", len(content_of(file)))
    assert [one["text"] for one in content["memories"]] == ["likes tea"]
    assert [[line["text"] for line in one["messages"]] for one in content["sessions"]] == [
        ["which flights?", "re: which flights?"],
        ["hello", "re: hello"],
    ]


async def test_a_session_is_exported_as_markdown(counter: Counter, memories: OwnMemories) -> None:
    await learn(memories, "likes tea")
    await counter.desk.talks("hello")
    await counter.desk.says("/new Rome")
    for number in range(3):
        await counter.desk.talks(f"question {number}")
    await counter.says("/export")
    (file,) = counter.post.files
    text = content_of(file).decode()

    assert text.startswith("\n# Rome\n\n**Ann**, ")
    assert [line for line in text.split("\n") if line.startswith("question")] == [
        "question 0", "question 1", "question 2",
    ]  # fmt: skip
    assert "hello" not in text
    assert "tea" not in text


async def test_a_channel_without_files_is_told_where_it_is(counter: Counter) -> None:
    answer = await counter.says("/export", channel="web")
    path = answer.text.split("`")[1]

    assert content_of(Attachment(kind="file", path=path))
    assert counter.post.files == []


async def test_nobodys_data_is_exported_before_others(counter: Counter) -> None:
    assert (await counter.says("/export me", is_direct=False)).text == ALONE


async def test_without_a_memory_the_commands_say_so(home: Path, store: Store) -> None:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        counter = Counter(Desk(home, store), None, database, home)
        await counter.desk.talks("the boat leaks")

        assert (await counter.says("/memory")).text == OFF
        assert (await counter.says("/forget 1")).text == OFF
        assert "the boat leaks" in (await counter.says("/search boat")).text
        assert "0 memories" in (await counter.says("/forget me yes")).text
