"""Every benchmark runs with tiny numbers and gives rows that make sense; how fast it is, no test asks."""

from collections.abc import AsyncIterator

import pytest

from bench.place import Place, open_place
from bench.report import cells, markdown, number
from bench.results import Result, middle, percentile, row
from bench.worker import BENCHMARKS, load


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with open_place("tiny") as opened:
        yield opened


@pytest.mark.parametrize("name", BENCHMARKS)
async def test_a_benchmark_measures_something_in_every_row(name: str, place: Place) -> None:
    rows = await load(name)(place)

    assert rows
    assert all(result.name and result.unit for result in rows)
    assert all(result.value > 0 for result in rows if not may_be_zero(result))
    assert all((result.goal is None) == (result.met is None) for result in rows)


def may_be_zero(result: Result) -> bool:
    """Memory that is not missed, calls that were not refused, words that were not late."""
    return result.unit in ("KiB", "calls") or "own" in result.name or "last word" in result.name


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(1, 201)]

    assert (percentile(values, 50), percentile(values, 99), percentile(values, 100)) == (100, 198, 200)
    assert percentile([7.0], 99) == 7


def test_rounds_are_judged_by_the_one_in_the_middle() -> None:
    assert middle([[1, 2, 3], [90, 91, 92], [2, 3, 4]], 50) == 3


def test_a_row_knows_its_ratio_and_whether_its_goal_is_met() -> None:
    slow, fast = row("a", 4, "ms", at_most=3, limit=2), row("b", 4, "1/s", at_least=3, limit=8)

    assert (slow.goal, slow.met, slow.ratio_to_limit) == ("<= 3", False, 2)
    assert (fast.goal, fast.met, fast.ratio_to_limit) == (">= 3", True, 0.5)


def test_the_markdown_table_has_a_line_a_row() -> None:
    rows = [row("turn", 0.8124, "ms", at_most=1, limit=0.2), row("rate", 123_456.7, "1/s")]

    lines = markdown(rows).splitlines()

    assert lines[-2:] == [
        "| turn | 0.812 ms | <= 1 | 0.2 | 4.06 | yes |",
        "| rate | 123,457 1/s |  |  |  |  |",
    ]
    assert {line.count("|") for line in lines[2:]} == {7}


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (12.34, "12.3"), (99.96, "100"), (1e6, "1,000,000")]
)
def test_a_number_shows_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_row_without_goal_and_limit_leaves_its_cells_empty() -> None:
    assert cells(Result(name="a", value=1, unit="ms")) == ("a", "1 ms", "", "", "", "")
