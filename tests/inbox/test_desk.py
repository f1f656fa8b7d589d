"""The desk: what operators put to conversations, whom they block, and whose questions they answer."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.errors import StoreError
from bot.inbox.base import MAX_LABEL, MAX_LABELS, MAX_NOTE, Canned, Desk, Filter, InboxError
from bot.inbox.desk import MAX_REPLY, InboxDesk
from bot.messages import Address, End, SessionKey
from tests.agent.rig import Gate
from tests.inbox.office import ANN, BEN, CHAT, GUEST, KIM, office, said
from tests.simulators.model import call, say
from tests.test_agent import BOB, Talk, talking

GROUP: Final = Address(channel="board", chat="club", is_direct=False)
TERMINAL: Final = SessionKey("terminal:default:main")
ASKING: Final = call("ask_question", '{"question": "Which colour?", "options": ["red", "blue"]}')
WRITING: Final = call("write", '{"path": "a.txt", "content": "one"}')

Act = Callable[[Desk], Awaitable[object]]


def test_the_desk_is_what_pages_expect() -> None:
    _: type[Desk] = InboxDesk


async def test_what_is_put_to_a_conversation_is_seen_and_on_record(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.mark(CHAT, "handled", ANN)
        await bot.desk.assign(CHAT, " Ben ", ANN)
        await bot.desk.label(CHAT, ["refund", " refund ", "late"], ANN)
        note = await bot.desk.add_note(CHAT, "Ask Ben", ANN)
        await bot.desk.mark_read(CHAT)
        one = await bot.desk.conversation(CHAT)
        listed = await bot.desk.conversations(Filter(states=("handled",)))
        is_gone = [await bot.desk.delete_note(CHAT, note.id, BEN) for _ in range(2)]

    assert (one.state, one.assignee, sorted(one.labels), one.unread) == (
        "handled",
        "Ben",
        ["late", "refund"],
        0,
    )
    assert [found.chat for found in listed] == [CHAT]
    assert (note.by, is_gone) == ("Ann", [True, False])
    for act in ("mark", "assign", "label", "note"):
        assert bot.audited(act) == ["web:ann"]
    assert bot.audited("delete note") == ["board:ben"]


async def test_canned_replies_are_kept_and_deleted(home: Path) -> None:
    async with office(home) as bot:
        await bot.desk.put_canned(Canned(name="hi", text="Hello {name}"), ANN)
        kept = await bot.desk.book.canned()
        is_gone = [await bot.desk.delete_canned("hi", ANN) for _ in range(2)]

    assert kept == [Canned(name="hi", text="Hello {name}")]
    assert is_gone == [True, False]


async def test_whoever_looks_on_hears_of_each_act_until_they_look_away(home: Path) -> None:
    heard: list[str] = []
    async with office(home) as bot:
        await bot.says("hello")
        end = bot.desk.watch(lambda: heard.append("first"))
        bot.desk.watch(lambda: heard.append("second"))
        await bot.desk.mark(CHAT, "handled", ANN)
        await bot.desk.mark_read(CHAT)
        end()
        end()
        await bot.desk.stop(CHAT, BEN)

    assert heard == ["first", "second", "first", "second", "second"]


async def test_the_turn_that_runs_is_seen(home: Path) -> None:
    gate = Gate()
    async with office(home, gate.play()) as bot:
        message = said("hello")
        await bot.app.bus.publish(message)
        await gate.reached()
        (one,) = await bot.desk.conversations()
        gate.open()
        await bot.until(lambda: len(bot.ends) == 1)
        after = await bot.desk.conversation(CHAT)

    assert (one.running, after.running) == (message.run, None)


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (lambda desk: desk.reply(CHAT, "  ", ANN), "A reply has 1 to"),
        (lambda desk: desk.reply(CHAT, "x" * (MAX_REPLY + 1), ANN), "A reply has 1 to"),
        (lambda desk: desk.mark(CHAT, "gone", ANN), "is one of open"),
        (lambda desk: desk.assign(CHAT, "", ANN), "A name has 1 to"),
        (lambda desk: desk.label(CHAT, ["x" * (MAX_LABEL + 1)], ANN), "A label has 1 to"),
        (lambda desk: desk.label(CHAT, [str(n) for n in range(MAX_LABELS + 1)], ANN), "at most 20 labels"),
        (lambda desk: desk.add_note(CHAT, "x" * (MAX_NOTE + 1), ANN), "A note has 1 to"),
        (lambda desk: desk.put_canned(Canned(name="", text="x"), ANN), "name of a canned reply has"),
        (lambda desk: desk.mark_read(SessionKey("board:default:nobody")), "no conversation"),
        (lambda desk: desk.reply(SessionKey("board:default:nobody"), "x", ANN), "no conversation"),
        (lambda desk: desk.reply(CHAT, "x", GUEST), "Only owners and admins"),
        (lambda desk: desk.take_over(CHAT, GUEST), "Only owners and admins"),
        (lambda desk: desk.stop(CHAT, GUEST), "Only owners and admins"),
        (lambda desk: desk.block(CHAT, GUEST), "Only owners and admins"),
        (lambda desk: desk.delete_canned("x", GUEST), "Only owners and admins"),
        (lambda desk: desk.answer("abcdef", "1", GUEST), "Only owners and admins"),
        (lambda desk: desk.answer("abcdef", "1", ANN), "not open any more"),
    ],
)
async def test_what_can_not_be_done_is_said(home: Path, act: Act, fault: str) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        with pytest.raises(InboxError, match=fault):
            await act(bot.desk)


async def test_a_name_can_not_pass_for_markup_in_a_reply(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.reply(
            CHAT, "hi", type(ANN)(name="A** [x](http://y)", actor="web:ann", role=ANN.role), as_operator=True
        )
        text = (await bot.lines())[-1].text

    assert text.startswith(r"**A\*\* \[x\]\(http://y\):** hi")


async def test_a_person_is_blocked_in_a_direct_chat_and_a_group_as_a_whole(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.says("hello", address=GROUP)
        await bot.desk.block(CHAT, ANN)
        await bot.desk.block(GROUP.session(), ANN)
        calls = len(bot.backend.turns)
        await bot.says("hello?")
        await bot.says("hello?", address=GROUP)
        blocked = [one.blocked for one in bot.app.doors.access.restrictions()]
        refused = len(bot.backend.turns) - calls
        await bot.desk.block(CHAT, ANN, is_blocked=False)
        answer = await bot.says("hello?")

    assert blocked == [("board:default:kim",), ("board:default:club",)]
    assert refused == 0
    assert answer.text == "echo: hello? "
    assert bot.audited("block") == ["web:ann", "web:ann"]


async def test_who_sits_at_the_bot_itself_can_not_be_blocked(home: Path) -> None:
    terminal = Address(channel="terminal", chat="main")
    async with office(home) as bot:
        await bot.says("hello", KIM, terminal)
        with pytest.raises(InboxError, match="can't be blocked"):
            await bot.desk.block(terminal.session(), ANN)


async def asked(talk: Talk, text: str) -> None:
    """Wait until something was asked."""
    await talk.until(lambda end: text in end.text)


async def test_an_operator_answers_in_the_persons_stead(home: Path) -> None:
    async with talking(home, ASKING, say("Blue it is.")) as talk:
        message = await talk.says("Paint it", BOB)
        await asked(talk, "Which colour?")
        (question,) = talk.app.desk.questions(TERMINAL)
        elsewhere = talk.app.desk.questions(SessionKey("terminal:default:other"))
        await talk.app.desk.answer(question.id, "2", BEN)
        end = await talk.until(lambda end: end.run == message.run)
        told = await talk.until(lambda end: "Ben has answered" in end.text)
        left = talk.app.desk.questions()

    assert (question.text, question.options, question.is_approval) == (
        "Which colour?",
        ("red", "blue"),
        False,
    )
    assert question.chat == TERMINAL
    assert question.ends_at > question.asked_at
    assert talk.results() == ["blue"]
    assert (end.text, told.text) == ("Blue it is.", "Ben has answered: blue")
    assert (list(elsewhere), list(left)) == ([], [])


@pytest.mark.parametrize(("said_so", "is_there"), [("once", True), ("deny", False)])
async def test_an_operator_approves_or_denies(home: Path, said_so: str, is_there: bool) -> None:
    approvals = {"rules": {"write": {"mode": "confirm"}}}
    async with talking(home, WRITING, say("Done."), approvals=approvals) as talk:
        message = await talk.says("Write it down")
        await asked(talk, "May I run")
        (question,) = talk.app.desk.questions()
        with pytest.raises(InboxError, match="it takes one of Allow once, Allow always, Deny"):
            await talk.app.desk.answer(question.id, "perhaps", BEN)
        await talk.app.desk.answer(question.id, said_so, BEN)
        await talk.until(lambda end: end.run == message.run)

    assert question.is_approval
    assert (home / "workspace" / "a.txt").exists() is is_there


async def test_an_answer_that_the_chat_can_not_be_told_of_is_on_record(home: Path) -> None:
    class Mute:
        async def say(self, *said: object, **how: object) -> End:
            raise StoreError("disk full")

    async with talking(home, ASKING, say("Blue it is.")) as talk:
        message = await talk.says("Paint it", BOB)
        await asked(talk, "Which colour?")
        (question,) = talk.app.desk.questions(TERMINAL)
        talk.app.loop.questions.speaker = Mute()
        await talk.app.desk.answer(question.id, "2", BEN)
        await talk.until(lambda end: end.run == message.run)
        record = "".join(file.read_text() for file in (home / "audit").glob("*.jsonl"))

    assert talk.results() == ["blue"]
    assert '"inbox answer"' in record


async def test_a_taken_chat_asks_nothing_more(home: Path) -> None:
    async with talking(home, ASKING) as talk:
        message = await talk.says("Paint it", BOB)
        await asked(talk, "Which colour?")
        await talk.app.desk.take_over(TERMINAL, BEN)
        end = await talk.until(lambda end: end.run == message.run)

        assert end.reason == "killed"
        assert list(talk.app.desk.questions()) == []


async def test_a_plain_turn_asks_the_desk_nothing_of_the_store(home: Path) -> None:
    turns: list[TurnInput] = []

    async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        turns.append(turn)
        yield MessageEvent(content="yes")
        yield DoneEvent()

    async with office(home, play) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.app.store.inbox.take(CHAT, None)  # behind its back: what holds is at hand
        held = await bot.says("hello?")

    assert (held.reason, len(turns)) == ("silent", 1)
