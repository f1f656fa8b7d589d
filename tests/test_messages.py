"""What travels on the bus: its ids."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from uuid import RFC_4122, UUID

from bot.messages import AT_ONCE, new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = UUID(new_id())

    assert (made.version, made.variant) == (7, RFC_4122)


def test_ids_sort_by_when_they_were_made() -> None:
    made = [new_id() for _ in range(3 * AT_ONCE)]

    assert made == sorted(made)


def test_no_two_threads_make_the_same_id() -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(chain.from_iterable(threads.map(lambda _: [new_id() for _ in range(AT_ONCE)], range(64))))

    assert len(set(made)) == len(made)


def test_the_end_of_an_id_says_nothing_of_the_next() -> None:
    ends = [int(new_id()[-11:], 16) for _ in range(2_000)]

    assert len(set(ends)) == len(ends)
    assert ends != sorted(ends)
    assert all(800 < sum(end >> bit & 1 for end in ends) < 1_200 for bit in range(44))
