"""A pattern that is compiled when it is first used is the same as one that is compiled at once."""

import re

import pytest

from bot.lazy_pattern import lazy_pattern


def test_it_finds_what_a_compiled_one_finds() -> None:
    lazy, compiled = lazy_pattern("a(b+)", re.IGNORECASE), re.compile("a(b+)", re.IGNORECASE)
    text = "xABBab"

    for _ in range(2):
        assert [match.span(1) for match in lazy.finditer(text)] == [
            m.span(1) for m in compiled.finditer(text)
        ]
        assert lazy.sub("-", text) == compiled.sub("-", text) == "x--"
    assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)


def test_a_fault_in_it_shows_at_its_first_use() -> None:
    lazy = lazy_pattern("(")

    with pytest.raises(re.error, match="unterminated"):
        lazy.search("a")
