"""What was made of an object is remembered by which object it is, within bounds."""

from bot.identity_cache import IdentityCache


class Thing:
    """Something that is like all others of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    def __hash__(self) -> int:
        return 1


class Maker:
    """Makes a name for a thing, and remembers for which."""

    def __init__(self) -> None:
        self.made: list[Thing] = []

    def __call__(self, thing: Thing) -> str:
        self.made.append(thing)
        return "made"


def test_a_value_is_made_once_for_each_object_and_not_for_its_like() -> None:
    make, one, like = Maker(), Thing(), Thing()
    cache = IdentityCache(make)

    assert [cache(thing) for thing in (one, like, one, like)] == ["made"] * 4
    assert [id(thing) for thing in make.made] == [id(one), id(like)]


def test_the_oldest_goes_when_there_are_too_many() -> None:
    make, one, two, three = Maker(), Thing(), Thing(), Thing()
    cache = IdentityCache(make, most=2)

    for thing in (one, two, three, two, three, one):
        assert cache(thing) == "made"

    assert [id(thing) for thing in make.made] == [id(thing) for thing in (one, two, three, one)]
