"""The list of conversations: what stands in it, what operators put to it, and how it is found."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.agent.store import Spent
from bot.inbox.base import EVERYTHING, Canned, Filter, InboxError
from bot.messages import Address, RunId, Sender, SessionKey
from bot.models.base import FunctionCall, ToolCall
from memory.database import DATABASE, connect, migrations
from memory.inbox.listing import FEW, conditions, ways
from memory.retention import DAY, Retention
from memory.store import Store
from tests.factories import inbound
from tests.memory.inbox.talking import ANN, BOB, answer, ask, talk

GROUP = Address(channel="slack", chat="C1", is_direct=False)
EVERY_KIND = (
    EVERYTHING,
    Filter(states=("handled",)),
    Filter(channels=("slack", "telegram")),
    Filter(labels=("vip", "late")),
    Filter(assignee="Olga"),
    Filter(assignee=""),
    Filter(is_unread=True),
    Filter(is_taken=True),
    Filter(is_direct=False),
)


async def chats(store: Store, wanted: Filter = EVERYTHING) -> list[str]:
    return [one.chat for one in await store.inbox.find(wanted)]


async def state(store: Store, chat: SessionKey = ANN) -> str:
    found = await store.inbox.get(chat)
    assert found is not None
    return found.state


async def test_a_conversation_shows_who_spoke_last_and_what_was_used(store: Store) -> None:
    await talk(store, "is it raining?")
    await store.chats.note_chat(Address(channel="telegram", chat="ann"), Sender(id="7", name="Ann"))
    await store.sessions.rename(ANN, "Weather")
    spent = Spent(
        day="2031-01-01",
        person="telegram:7",
        channel="telegram",
        session=ANN,
        model="m",
        calls=1,
        prompt=200,
        completion=50,
        cost=7,
    )
    await store.usage.add([spent])
    found = await store.inbox.get(ANN)

    assert found is not None
    assert (found.person, found.subject, found.title) == ("Ann", "telegram:7", "Weather")
    assert found.address == Address(channel="telegram", chat="ann")
    assert found.last is not None
    assert (found.last.role, found.last.text, found.last.reason) == ("assistant", "hi", "done")
    assert (found.messages, found.unread, found.state) == (2, 2, "open")
    assert (found.tokens, found.cost) == (250, 7)


async def test_the_list_has_the_newest_first_and_moves_with_every_word(store: Store) -> None:
    await talk(store, chat=ANN)
    await talk(store, chat=BOB)
    before = await chats(store)
    await talk(store, chat=ANN)

    assert before == [BOB, ANN]
    assert await chats(store) == [ANN, BOB]


async def test_sub_agents_and_sessions_beside_the_chat_are_no_conversations(store: Store) -> None:
    await talk(store)
    second = await store.sessions.begin(ANN)
    await talk(store, "in the second")
    await talk(store, chat=f"{ANN}#12ab")
    found = await store.inbox.find(EVERYTHING)

    assert [(one.chat, one.session) for one in found] == [(ANN, second)]
    with pytest.raises(InboxError, match="no conversation"):
        await store.inbox.mark(SessionKey(f"{ANN}#12ab"), "muted")
    assert await store.inbox.get(second) is None


async def test_a_thread_is_a_conversation_of_its_own(store: Store) -> None:
    thread = Address(channel="slack", chat="C1", thread="17.5", is_direct=False)
    for address in (GROUP, thread):
        await talk(store, chat=address.session())
        await store.chats.note_chat(address, Sender(id="U1", name="Bob"))
    found = {one.chat: one.address for one in await store.inbox.find(Filter(is_direct=False))}

    assert found == {GROUP.session(): GROUP, thread.session(): thread}
    assert await store.chats.addresses() == [GROUP]


async def test_who_has_another_name_now_is_known_by_it_at_once(store: Store) -> None:
    address = Address(channel="telegram", chat="ann")
    await talk(store)
    for name in ("Ann", "Anna"):
        await store.chats.note_chat(address, Sender(id="7", name=name))
    found = await store.inbox.get(ANN)

    assert found is not None
    assert found.person == "Anna"


async def test_a_turn_writes_nothing_for_the_inbox(store: Store) -> None:
    def kept(db: sqlite3.Connection) -> list[object]:
        tables = ("conversations", "inbox_stale", "inbox_seen", "conversation_names", "conversation_labels")
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]

    await talk(store)
    await store.inbox.label(ANN, ["vip"])
    await store.inbox.find(EVERYTHING)
    before = await store.database.read(kept)
    await talk(store)

    assert await store.database.read(kept) == before
    assert (await store.inbox.find(EVERYTHING))[0].messages == 4


async def test_handled_ends_with_the_next_word_of_a_person_and_of_nobody_else(store: Store) -> None:
    message = await ask(store)
    await store.inbox.mark(ANN, "handled")
    await answer(store, message)
    await store.journal.hear(inbound("good morning", session=ANN, platform_id="schedule:1:2"))
    before = await state(store)
    await ask(store, "one more thing")

    assert (before, await state(store)) == ("handled", "open")


async def test_what_is_muted_stays_so_and_is_in_no_list_that_does_not_ask_for_it(store: Store) -> None:
    await talk(store)
    await store.inbox.mark(ANN, "muted")
    await talk(store)

    assert await chats(store) == []
    assert await chats(store, Filter(states=("muted",))) == [ANN]
    assert (await store.inbox.counts()).unread == 0


async def test_who_speaks_to_an_operator_waits_until_that_answers(store: Store) -> None:
    await talk(store)
    await store.inbox.take(ANN, "Olga")
    before = await state(store)
    message = await ask(store, "are you there?")
    await answer(store, message, "", reason="silent")
    found = await store.inbox.get(ANN)

    assert found is not None
    assert (before, found.state, found.taken_by) == ("open", "waiting", "Olga")
    assert found.waiting_since == message.received_at.timestamp()


async def test_what_the_agent_has_nothing_to_say_to_does_not_wait(store: Store) -> None:
    await answer(store, await ask(store, "just saying"), "", reason="silent")
    found = await store.inbox.get(ANN)

    assert found is not None
    assert found.waiting_since is None


async def test_a_message_that_waits_for_its_turn_waits(store: Store) -> None:
    await talk(store)
    await store.journal.accept(inbound(session=ANN))
    found = await store.inbox.get(ANN)

    assert found is not None
    assert found.waiting_since is not None


async def test_reading_goes_on_from_the_furthest_and_0_makes_it_unread(store: Store) -> None:
    for _ in range(3):
        await talk(store)
    unread = []
    for upto in (4, 2, None, 0):
        await store.inbox.mark_read(ANN, upto)
        found = await store.inbox.get(ANN)
        unread.append(found.unread if found else None)

    assert unread == [2, 2, 0, 6]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ann", [ANN]),
        ("ANN", [ANN]),
        ("eath", [ANN]),
        ("telegram:", [ANN]),
        ("bo", [BOB]),
        ("王", [BOB]),
        ('"', []),
    ],
)
async def test_part_of_a_name_a_title_or_a_key_finds_it(store: Store, text: str, found: list[str]) -> None:
    await talk(store, chat=ANN)
    await talk(store, chat=BOB)
    await store.sessions.rename(ANN, "The WEATHER")
    await store.chats.note_chat(Address(channel="slack", chat="bob"), Sender(id="U1", name="小王"))

    assert await chats(store, Filter(text=text)) == found


async def test_a_text_that_most_names_have_is_found_in_the_order_of_the_list(store: Store) -> None:
    many = range(FEW + 10)
    line = (
        "INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
        " VALUES (?, 1, 'x', 'x', 'user', 'x', 'x', 1.0)"
    )
    names = [(f"telegram:default:{number}",) for number in many]
    await store.database.write(lambda db: db.executemany(line, names))
    await talk(store, chat=BOB)
    await talk(store, chat="telegram:default:5")
    found = await store.inbox.find(Filter(text="TELEGRAM"), limit=2_500)

    assert found[0].chat == "telegram:default:5"
    assert len(found) == len(many)


async def test_notes_are_kept_as_long_as_what_was_said(home: Path, store: Store) -> None:
    await talk(store)
    for text in ("old", "new"):
        await store.inbox.add_note(ANN, text, by="Olga")
    await store.database.write(
        lambda db: db.execute("UPDATE inbox_notes SET at = at - ? WHERE text = 'old'", (40 * DAY,))
    )
    keeping = Retention(store.database, store.recall, media=home / "media", exports=home / "exports", days=30)
    await keeping.sweep()

    assert [note.text for note in await store.inbox.notes(ANN)] == ["new"]


@pytest.mark.parametrize("wanted", EVERY_KIND, ids=repr)
async def test_a_page_is_found_by_an_index_that_has_its_order(store: Store, wanted: Filter) -> None:
    def plan(db: sqlite3.Connection) -> str:
        rest, values = conditions(wanted)
        steps = []
        for way in ways(wanted):
            given = (*way.values, 1e9, "", *values, 50)
            steps += db.execute(f"EXPLAIN QUERY PLAN {way.statement(rest)}", given).fetchall()
        return "\n".join(step[3] for step in steps)

    steps = await store.database.read(plan)

    assert "TEMP B-TREE" not in steps
    assert "SCAN c" not in steps
    assert "updated_at" in steps


async def test_what_operators_put_is_there_after_a_restart(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await talk(store)
        await store.inbox.take(ANN, "Olga")
        await store.inbox.dock(ANN, GROUP)
        await store.inbox.label(ANN, ["vip", " vip ", "late  bill"])
        await store.inbox.put_canned(Canned(name="hours", text="We open at 9, {name}."))
    async with Store(home, synchronous="NORMAL") as store:
        found = await store.inbox.get(ANN)
        kept = (await store.inbox.taken(), await store.inbox.docked(), await store.inbox.labels())
        canned = await store.inbox.canned()

    assert found is not None
    assert (found.labels, found.docked_to) == (("late bill", "vip"), GROUP)
    assert kept == ({ANN: "Olga"}, {ANN: GROUP}, ["late bill", "vip"])
    assert canned == [Canned(name="hours", text="We open at 9, {name}.")]


async def test_what_is_too_long_is_refused_with_the_limit(store: Store) -> None:
    await talk(store)
    for act in (
        store.inbox.add_note(ANN, "x" * 4_001, by="Olga"),
        store.inbox.label(ANN, ["x" * 41]),
        store.inbox.assign(ANN, "x" * 61),
        store.inbox.label(ANN, [str(number) for number in range(21)]),
        store.inbox.put_canned(Canned(name="x", text="x" * 4_001)),
    ):
        with pytest.raises(InboxError, match="at most"):
            await act


async def test_lines_are_read_from_both_ends(store: Store) -> None:
    for text in ("a", "b", "c"):
        await talk(store, text)

    newest = await store.inbox.lines(ANN, limit=2)
    older = await store.inbox.lines(ANN, before=newest[0].number, limit=2)
    newer = await store.inbox.lines(ANN, after=2, limit=3)

    assert [line.number for line in newest] == [5, 6]
    assert [line.number for line in older] == [3, 4]
    assert [line.number for line in newer] == [3, 4, 5]


async def test_the_tool_calls_of_a_turn_are_shown(store: Store) -> None:
    message = await ask(store)
    call = ToolCall(id="c", function=FunctionCall(name="look", arguments="{}"))
    await store.ledger.tool_started(message.run, 1, call)
    await store.ledger.tool_ended(message.run, 1, call, status="ok", result="seen")
    found = await store.inbox.tools([message.run, RunId("another")])

    assert [(one.name, one.state, one.result) for one in found] == [("look", "ok", "seen")]


async def test_a_search_names_the_conversation_that_something_was_said_in(store: Store) -> None:
    await store.sessions.begin(ANN, "Trip")
    await talk(store, "a red bicycle")
    await talk(store, "a red car", chat=BOB)
    await talk(store, "a red plane", chat=f"{BOB}#12ab")
    found = await store.inbox.search(["red"], 10)

    assert [(hit.chat, hit.title, hit.line.text) for hit in found] == [
        (BOB, None, "a red car"),
        (ANN, "Trip", "a red bicycle"),
    ]


async def test_with_a_session_the_notes_about_it_go_and_with_the_chat_all_that_is_known(store: Store) -> None:
    await talk(store)
    await store.chats.note_chat(Address(channel="telegram", chat="ann"), Sender(id="7", name="Ann"))
    await store.inbox.label(ANN, ["vip"])
    await store.inbox.assign(ANN, "Olga")
    await store.inbox.add_note(ANN, "about the first", by="Olga")
    sessions = store.sessions
    await sessions.begin(ANN)
    await store.inbox.add_note(ANN, "about the second", by="Olga")
    await sessions.delete(ANN, ANN, but=RunId("none"))
    left = [note.text for note in await store.inbox.notes(ANN)]
    await sessions.erase(ANN, but=RunId("none"))
    found = await store.inbox.get(ANN)

    assert left == ["about the second"]
    assert await store.inbox.notes(ANN) == []
    assert found is not None
    assert (found.person, found.subject, found.labels, found.assignee) == ("", "", (), None)
    assert await chats(store, Filter(text="7")) == []


async def test_a_chat_that_is_erased_leaves_no_name_even_if_nobody_looks(store: Store) -> None:
    await talk(store)
    await store.chats.note_chat(Address(channel="telegram", chat="ann"), Sender(id="7", name="Annabel"))
    await store.inbox.catch_up()
    await store.sessions.erase(ANN, but=RunId("none"))
    names = await store.database.read(
        lambda db: db.execute("SELECT names FROM conversation_names").fetchall()
    )

    assert "annabel" not in str(names)
    assert ANN in str(names)


async def test_a_note_is_taken_away_in_its_own_conversation_alone(store: Store) -> None:
    await talk(store, chat=ANN)
    await talk(store, chat=BOB)
    note = await store.inbox.add_note(ANN, "be kind", by="Olga")

    assert not await store.inbox.delete_note(BOB, note.id)
    assert await store.inbox.delete_note(ANN, note.id)
    assert not await store.inbox.delete_note(ANN, note.id)


async def test_conversations_of_before_there_was_an_inbox_are_in_it(home: Path) -> None:
    group, topic = "telegram:default:-100", "telegram:default:-100:5"
    with closing(connect(home / DATABASE, "NORMAL")) as db:
        for number, script in migrations():
            if number < 18:
                db.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
        blob = b'{"channel":"telegram","chat":"-100","is_direct":false}'
        db.execute("INSERT INTO chats VALUES (?, 'telegram', ?, 1)", (group, blob))
        for session in (group, topic, "web:default:main", f"{group}#12"):
            db.execute(
                "INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
                " VALUES (?, 1, ?, ?, 'user', 'Ann', 'hello', 1.0)",
                (session, session, session),
            )
    async with Store(home, synchronous="NORMAL") as store:
        listed = await store.inbox.find(EVERYTHING)
        by_name = await chats(store, Filter(text="ANN"))

    assert {one.person for one in listed} == {"Ann"}
    assert len(by_name) == 3
    assert {one.chat: one.address for one in listed} == {
        group: Address(channel="telegram", chat="-100", is_direct=False),
        topic: Address(channel="telegram", chat="-100", thread="5", is_direct=False),
        "web:default:main": Address(channel="web", chat="main"),
    }
