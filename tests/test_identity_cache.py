"""What was made of an object is remembered by which object it is, within bounds."""

from bot.identity_cache import IdentityCache


class Thing:
    """Something that says how heavy it is."""

    def __init__(self, weight: int = 1) -> None:
        self.weight = weight


class Maker:
    """Makes a name for a thing, and remembers for which."""

    def __init__(self) -> None:
        self.made: list[Thing] = []

    def __call__(self, thing: Thing) -> str:
        self.made.append(thing)
        return f"{thing.weight} kg"


def test_a_value_is_made_once_for_each_object_and_not_for_its_like() -> None:
    make, one, like = Maker(), Thing(), Thing()
    cache = IdentityCache(make)

    assert [cache(thing) for thing in (one, like, one, like)] == ["1 kg"] * 4
    assert make.made == [one, like]


def test_the_oldest_goes_when_there_are_too_many() -> None:
    make, one, two, three = Maker(), Thing(), Thing(), Thing()
    cache = IdentityCache(make, most=2)

    for thing in (one, two, three, two, three, one):
        assert cache(thing) == "1 kg"

    assert make.made == [one, two, three, one]


def test_objects_count_by_their_weight_and_one_that_is_too_heavy_is_not_kept() -> None:
    make, light, heavy, whole = Maker(), Thing(4), Thing(7), Thing(11)
    cache = IdentityCache(make, most=10, weigh=lambda thing: thing.weight)

    for thing in (light, heavy, heavy, light, whole, whole):
        assert cache(thing) == f"{thing.weight} kg"

    assert make.made == [light, heavy, light, whole, whole]
