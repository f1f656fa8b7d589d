"""Who is answered: the rules against a simple model, and what is said and written down of a refusal."""

from pathlib import Path
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.agent.control import is_admin
from bot.commands.access import Kind, Verdict
from bot.messages import Address, InboundMessage, Role, Sender
from memory.store import Store
from security.access import AUDIT_EVERY, REFUSAL, Access
from tests.commands.desk import BOSS, Notes, fresh_home, message

Change: TypeAlias = tuple[Kind, str, Verdict | None] | None

IDS = ("a", "b", "c")
SUBJECTS = tuple(f"telegram:{account}:{id_}" for account in ("default", "*", "other") for id_ in IDS)
CHANGE = st.none() | st.tuples(
    st.sampled_from(("user", "chat")), st.sampled_from(SUBJECTS), st.sampled_from(("allow", "block", None))
)


def access_over(store: Store, notes: Notes, clock: list[float] | None = None) -> Access:
    now = clock or [0.0]
    return Access(
        store.rules,
        is_admin=lambda message: is_admin(message, {"telegram:1"}),
        audit=notes,
        clock=lambda: now[0],
    )


class Model:
    """The rules as one would explain them."""

    def __init__(self) -> None:
        self.rules: dict[tuple[Kind, str], Verdict] = {}
        self.closed: set[Kind] = set()

    def change(self, change: Change) -> None:
        if change is None:
            self.closed.clear()
            self.rules = {key: verdict for key, verdict in self.rules.items() if verdict == "block"}
            return
        kind, subject, verdict = change
        if verdict is None:
            self.rules.pop((kind, subject), None)
            return
        self.rules[kind, subject] = verdict
        if verdict == "allow":
            self.closed.add(kind)

    def answers(self, person: str, chat: str) -> bool:
        return self.passes("user", person) and self.passes("chat", chat)

    def passes(self, kind: Kind, id_: str) -> bool:
        said = {self.rules.get((kind, f"telegram:{account}:{id_}")) for account in ("default", "*")}
        return "block" not in said and ("allow" in said or kind not in self.closed)


async def obey(access: Access, change: Change) -> None:
    if change is None:
        await access.reopen(by="telegram:1")
    else:
        kind, subject, verdict = change
        await access.rule(kind, subject, verdict, by="telegram:1")


def person(id_: str, chat: str) -> InboundMessage:
    return message("hello", chat, sender=Sender(id=id_))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(CHANGE, max_size=12))
async def test_whatever_admins_change_the_rules_mean_what_they_say_also_after_a_restart(
    changes: list[Change], tmp_path: Path
) -> None:
    home = fresh_home(tmp_path)
    model = Model()
    everybody = [(id_, chat) for id_ in IDS for chat in IDS]
    wanted = []
    async with Store(home, synchronous="NORMAL") as store:
        access = access_over(store, Notes())
        for change in changes:
            await obey(access, change)
            model.change(change)
            wanted = [model.answers(*one) for one in everybody]
            assert [await access(person(*one)) is None for one in everybody] == wanted
            assert await access(message("hi", "a", sender=BOSS)) is None
    async with Store(home, synchronous="NORMAL") as store:
        access = access_over(store, Notes())

        assert not wanted or [await access(person(*one)) is None for one in everybody] == wanted


async def test_one_who_is_refused_is_told_politely_and_the_log_has_it_once_a_minute(store: Store) -> None:
    notes, clock = Notes(), [0.0]
    access = access_over(store, notes, clock)
    await access.rule("user", "telegram:default:42", "block", by="telegram:1")
    for seconds in (0.0, 1.0, AUDIT_EVERY - 1, AUDIT_EVERY):
        clock[0] = seconds
        refusal = await access(message("let me in"))
        assert refusal is not None
        assert refusal.text == REFUSAL

    assert [(event.actor, event.action, event.status) for event in notes.events] == [
        ("telegram:42", "access", "denied")
    ] * 2
    assert "let me in" not in str(notes.events)


async def test_admins_are_never_shut_out(store: Store) -> None:
    access = access_over(store, Notes())
    for subject in ("telegram:default:1", "telegram:default:7"):
        await access.rule("user", subject, "block", by="telegram:1")
    await access.rule("chat", "telegram:default:main", "block", by="telegram:1")

    assert await access(message("hi", sender=BOSS)) is None
    assert await access(message("hi", sender=Sender(id="7", role=Role.ADMIN))) is None
    assert await access(message("hi", sender=Sender(id="7"))) is not None


async def test_a_rule_about_a_chat_holds_in_its_threads_and_a_thread_can_have_its_own(store: Store) -> None:
    access = access_over(store, Notes())
    address = Address(channel="telegram", chat="g", thread="t", is_direct=False)
    await access.rule("chat", "telegram:default:g", "block", by="x")
    in_blocked = access.is_open(address)
    await access.rule("chat", "telegram:default:g", None, by="x")
    await access.rule("chat", "telegram:default:g:t", "allow", by="x")

    assert not in_blocked
    assert access.is_open(address)
    assert not access.is_open(Address(channel="telegram", chat="g", is_direct=False))


async def test_a_thread_of_a_strangers_group_is_not_taken_for_a_chat_with_its_number(store: Store) -> None:
    access = access_over(store, Notes())
    await access.rule("chat", "telegram:default:42", "allow", by="x")

    assert not access.is_open(Address(channel="telegram", chat="evil", thread="42", is_direct=False))


async def test_the_same_id_on_another_channel_is_somebody_else(store: Store) -> None:
    access = access_over(store, Notes())
    await access.rule("user", "telegram:*:42", "block", by="x")

    assert await access(message("hi", channel="discord")) is None
