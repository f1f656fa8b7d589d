"""Long code goes beside the answer as files; nothing of it is lost or changed."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.delivery.files import ENDINGS, CodeFiles

CODE = "".join(f"line {number}\n" for number in range(50))
WORDS = st.lists(st.sampled_from(["a", "word", "\n", " ", "a~", "*", "é", "\n\n"]), max_size=20).map("".join)
BODIES = st.lists(st.sampled_from(["x = 1\n", "\n", "``\n", "~\n", "    deep\n"]), max_size=40).map("".join)


def test_a_short_answer_and_a_channel_without_files_stay_as_they_are() -> None:
    text = f"Look:\n```python\n{CODE}```\nThere."

    assert CodeFiles.of(text, None) == CodeFiles(text)
    assert CodeFiles.of(text, len(text)) == CodeFiles(text)


def test_a_long_block_becomes_a_file_that_the_text_names() -> None:
    found = CodeFiles.of(f"Look:\n```python\n{CODE}```\nThere.", 100)

    assert found.text == "Look:\n`code-1.py` (50 lines, as a file below)\nThere."
    assert found.files == (("code-1.py", CODE),)


@pytest.mark.parametrize(
    ("language", "ending"),
    [("c++", "cpp"), ("PYTHON", "py"), ("", "txt"), ("brainfuck", "txt"), ("py3-x", "txt")],
)
def test_the_ending_follows_from_the_language(language: str, ending: str) -> None:
    found = CodeFiles.of(f"```{language}\n{CODE}```", 100)

    assert found.files[0][0] == f"code-1.{ending}"


def test_a_fence_inside_a_longer_fence_is_code() -> None:
    code = f"```\nin\n```\n{CODE}"
    found = CodeFiles.of(f"````md\n{code}````\nend", 100)

    assert found.files == (("code-1.md", code),)
    assert found.text.endswith("\nend")


@given(before=WORDS, code=BODIES, after=WORDS, language=st.sampled_from(["", *ENDINGS]))
def test_what_is_not_long_code_is_never_touched(before: str, code: str, after: str, language: str) -> None:
    text = f"{before}\n```{language}\n{code}```\n{after}"
    found = CodeFiles.of(text, 60)

    if len(code) > 60:
        assert found.files == ((f"code-1.{ENDINGS.get(language, 'txt')}", code),)
        assert found.text.startswith(f"{before}\n`code-1.")
        assert found.text.endswith(f"\n{after}")
    else:
        assert found == CodeFiles(text)


@given(st.lists(BODIES, max_size=6), st.integers(min_value=0, max_value=80))
def test_every_block_is_in_the_text_or_in_a_file(bodies: list[str], long_code: int) -> None:
    text = "\n".join(f"~~~\n{body}~~~" for body in bodies if "~" not in body)
    kept = [body for body in bodies if "~" not in body]
    found = CodeFiles.of(text, long_code)

    taken = [code for _, code in found.files]
    is_over = len(text) > long_code
    assert taken == [body for body in kept if is_over and len(body) > long_code]
    assert found.text.count("~~~") == 2 * (len(kept) - len(taken))
    assert len({name for name, _ in found.files}) == len(taken)


async def test_the_files_lie_on_disk_for_as_long_as_they_are_sent() -> None:
    found = CodeFiles.of(f"```sql\n{CODE}```", 100)
    with found.written() as (attachment,):
        assert attachment.path is not None
        path = Path(attachment.path)
        text = await asyncio.to_thread(path.read_text, "utf-8")

        assert (text, attachment.name, attachment.size) == (CODE, "code-1.sql", len(CODE))
    assert not await asyncio.to_thread(path.exists)


def test_without_files_nothing_is_written() -> None:
    with CodeFiles("text").written() as files:
        assert files == ()
