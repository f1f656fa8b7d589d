"""What a turn has read: who is foreign to it, and what its answer keeps."""

import pytest

from bot.agent.taint import (
    MAX_KEPT,
    Carried,
    Source,
    Taint,
    carried_by,
    decode_carried,
    encode_carried,
    known_taint,
    source_of,
    taint,
    tainted,
)
from bot.messages import Role, Sender, Trigger
from tests.agent.rig import inbound
from tests.test_agent import ANN, BOB

GUEST = Sender(id="zoe", role=Role.GUEST)


@pytest.mark.parametrize(
    ("own", "read", "foreign"),
    [
        ("owner", ("owner",), ()),
        ("owner", ("owner", "member"), ("member",)),
        ("member", ("owner", "member"), ()),
        ("member", ("web", "stranger"), ("web", "stranger")),
        ("stranger", ("stranger", "member"), ("stranger",)),
    ],
)
def test_whoever_stands_below_the_person_is_foreign(
    own: Source, read: tuple[Source, ...], foreign: tuple[Source, ...]
) -> None:
    turn = Taint([(source, "") for source in read], own=own)

    assert turn.foreign == set(foreign)


def test_outside_of_a_turn_nothing_is_known() -> None:
    assert known_taint() is None
    with pytest.raises(RuntimeError):
        taint()
    with tainted(Taint()) as turn:
        assert taint() is turn


def test_the_first_origin_and_the_first_reason_stay() -> None:
    turn = Taint()
    for origin in ("a", "b"):
        turn.add("web", origin)
        turn.restrict(origin)

    assert (turn.origins, turn.restriction) == ({"web": "a"}, "a")


def test_what_a_turn_has_read_comes_back_with_its_answer() -> None:
    before = Taint([("owner", "x"), ("web", "https://a.example")])
    before.is_private = True
    later = Taint()
    kept = decode_carried(encode_carried(before.carried()))
    assert kept is not None
    later.recall([kept], "terminal:ann")

    assert later.origins == {"web": "https://a.example"}
    assert later.is_private
    assert Taint([("owner", "x")]).carried() is None
    assert encode_carried(None) == ""
    assert decode_carried("") is None


def test_what_a_person_said_before_is_not_foreign_to_them() -> None:
    line = carried_by(inbound("hi", sender=BOB))
    assert line is not None
    own, others = Taint(), Taint()
    own.recall([line], line.origins[0][1])
    others.recall([line], "web:ann")

    assert own.foreign == frozenset()
    assert others.foreign == {"member"}


def test_lines_of_the_owner_and_of_the_heartbeat_keep_nothing() -> None:
    heartbeat = inbound("tick", sender=BOB, trigger=Trigger.HEARTBEAT)

    assert carried_by(inbound("hi", sender=ANN)) is None
    assert carried_by(heartbeat) is None
    assert source_of(inbound("hi", sender=GUEST)) == "stranger"


def test_past_a_bound_results_may_not_be_repeated() -> None:
    turn = Taint()
    turn.keep("x" * MAX_KEPT, is_quotable=True, is_private=True)
    turn.keep("https://late.example", is_quotable=True, is_private=True)

    assert len(turn.quotable) == len(turn.private) == 1


def test_a_line_keeps_each_pair() -> None:
    both = Carried(origins=(("web", "a"), ("member", "x:b")), is_private=True)

    assert decode_carried(encode_carried(both)) == both
